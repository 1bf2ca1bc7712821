"""The mapping algebra on factors: its cost grows with the number of factors, never with that of cells.

Normal form, simplification and equivalence live here; carving (`split`, `divide`, `common_refinement`) in
`models.division` and the sequencer's question (`contiguous_walk`) in `models.walks` are offered here too.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from models import cells as _cells
from models.digits import Digit, Factor, Factors, Free, Padded, as_terms, open_factors, pull, size_of
from models.division import common_refinement, digits, divide, split
from models.lowering import lower
from models.mapping import Axis, Mapping, text
from models.tidy import chain, tidy
from models.walks import contiguous_walk

MOST_CELLS = 2**20
"""Up to so many cells an equivalence may be decided by enumeration."""
_PROBES = 16
_MOST_COUNTED = 2**63 - 1
"""Positions are counted in int64."""


@lru_cache(maxsize=4096)
def normal(e: Mapping, beside: tuple[Mapping, ...] = ()) -> Factors:
    """The canonical factors of a mapping, outermost first; their sizes multiply to the size of `e`.

    Digits that never reach padding are digits of what is padded, those of a pair are digits of its parts
    where they do not straddle a border, neighbours of one base are merged and factors of size 1 are left out.
    A factor that is read together with other mappings of a tensor may reach padding only in the total: pass
    those mappings as `beside`, and the result holds in their company.
    """
    return pull(lower([open_factors(e), *(open_factors(b) for b in beside)])[0])


def from_factors(factors: Factors) -> Mapping:
    """An expression with the cells of these factors; no factor at all is `1`."""
    return chain(as_terms(factors))


@lru_cache(maxsize=4096)
def simplify(e: Mapping) -> Mapping:
    """The shortest of the equivalent expressions that the factors give."""
    return min(from_factors(normal(e)), tidy(e), e, key=lambda m: len(text(m)))


def equivalent(a: Mapping, b: Mapping) -> bool | None:
    """Whether two mappings have the same cell at every position.

    True and False are proven. None: not decided, more than 2^20 cells with factors that differ, but no
    difference at any of the positions that were tried, or more than 2^63 cells.
    """
    if a.size != b.size:
        return False
    if tidy(a) == tidy(b) or normal(a) == normal(b):
        return True
    if _plain(normal(a)) and _plain(normal(b)):
        return False
    if a.size > _MOST_COUNTED:
        return None
    if _differ_at(a, b, _probes(a, b)):
        return False
    if a.size > MOST_CELLS:
        return None
    return not _differ_at(a, b, np.arange(a.size, dtype=np.int64))


def _plain(factors: Factors) -> bool:
    """Whether every position is live and names an index per axis that is linear in the factors.

    Such lists have the same cells only if they are equal: the first position after each border shows where the
    border is, since neighbours that read on were merged, and the steps within show axis and stride.
    """
    reach: dict[Mapping, int] = {}
    for factor in factors:
        if isinstance(factor, Padded):
            return False
        if isinstance(factor, Digit):
            reach[factor.base] = reach.get(factor.base, 0) + factor.stride * (factor.size - 1)
    return all(isinstance(base, Axis) and total < base.size for base, total in reach.items())


def clear_caches() -> None:
    """Forgets every remembered result, for measurements."""
    for cached in (normal, simplify, tidy):
        cached.cache_clear()


def _differ_at(a: Mapping, b: Mapping, at: _cells.Ints) -> bool:
    return not bool(_cells.cells(a, at).same_as(_cells.cells(b, at)).all())


def _probes(a: Mapping, b: Mapping) -> _cells.Ints:
    """Positions at which mappings that differ mostly do: both sides of every border, and a few others."""
    steps = sorted(_borders(normal(a), 1) | _borders(normal(b), 1) | {1, a.size})
    found = {p for s in steps for p in (s - 1, s, s + 1, a.size - s, a.size - s - 1)}
    found |= {p - 1 + q for p, q in pairwise(steps)}
    # multiples of the golden section of 2^63 spread evenly and are the same in every run
    found |= {(i * 5_700_357_409_661_599_241) % a.size for i in range(_PROBES)}
    return np.array(sorted(p for p in found if 0 <= p < a.size), dtype=np.int64)


def _borders(factors: Factors, below: int) -> set[int]:
    out: set[int] = set()
    for factor in reversed(factors):
        out |= {below, below * (factor.size // 2)}
        if isinstance(factor, Padded):
            out |= _borders(factor.inner, below) | {below * size_of(factor.inner)}
        below *= factor.size
        out.add(below)
    return out


__all__ = [
    "Digit",
    "Factor",
    "Factors",
    "Free",
    "Padded",
    "clear_caches",
    "common_refinement",
    "contiguous_walk",
    "digits",
    "divide",
    "equivalent",
    "from_factors",
    "normal",
    "simplify",
    "split",
]
