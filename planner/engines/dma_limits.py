"""What limits leave of digits: how many values each has, and which limits still tie several of them together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from planner.engines.dma_forms import Form, Limit, Undecided, Var
from planner.engines.dma_queue import Ints

Counts = dict[Var, int]
MOST_CELLS = 2**20


def tighten(counts: Counts, limits: Sequence[Limit]) -> tuple[Counts, list[Limit]]:
    """Values that each digit keeps, and the limits on two or more digits that remain.

    A limit that the digits below a border cannot cross is one on the digits above it; every limit shortens digits
    that alone would pass it.
    """
    counts, left = dict(counts), list(limits)
    while True:
        before = dict(counts)
        left = [n for n in (_reduced(limit, counts) for limit in left) if n is not None]
        for limit in left:
            for var, coef in limit.form.items():
                counts[var] = min(counts[var], -(-limit.below // coef))
        if counts == before:
            return counts, left


def _reduced(limit: Limit, counts: Counts) -> Limit | None:
    """The limit without digits that cannot matter; None when every position keeps it."""
    form = {v: c for v, c in limit.form.items() if counts[v] > 1}
    below = limit.below
    if sum(c * (counts[v] - 1) for v, c in form.items()) < below:
        return None
    for border in sorted(form.values(), reverse=True):
        low = sum(c * (counts[v] - 1) for v, c in form.items() if c < border)
        high = {v: c for v, c in form.items() if c >= border}
        if low < border and below % border == 0 and all(c % border == 0 for c in high.values()):
            return Limit({v: c // border for v, c in high.items()}, below // border)
    return Limit(form, below)


def implied(counts: Counts, given: Sequence[Limit], wanted: Limit) -> bool:
    """Whether every position that keeps the given limits keeps the wanted one.

    Raises:
        Undecided: neither the forms decide it nor an enumeration of up to 2^20 positions.

    """
    limit = _reduced(wanted, counts)
    if limit is None or any(g.form == limit.form and g.below <= limit.below for g in given):
        return True
    near = [g for g in given if g.form.keys() & limit.form.keys()]
    tied = list({v: None for part in (limit, *near) for v in part.form})
    if prod(counts[v] for v in tied) > MOST_CELLS:
        raise Undecided(f"a limit of {limit.below} over {len(tied)} digits")
    grids = dict(zip(tied, np.ogrid[tuple(slice(0, counts[v]) for v in tied)], strict=True))
    broken = _total(limit.form, grids) >= limit.below
    for g in near:
        broken = broken & (_total(g.form, grids) < g.below)
    return not bool(np.any(broken))


def _total(form: Form, grids: dict[Var, Ints]) -> Ints:
    return np.asarray(sum(coef * grids[var] for var, coef in form.items()))
