"""The runs of a walk: stretches that lie contiguously in HBM, per slice in DM order, as digits and as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from planner.engines.dma_access import Access, Row
from planner.engines.dma_forms import Limit
from planner.engines.dma_queue import Ints

MOST_RUNS = 2**18
"""So many runs are looked at at once; a larger transfer is looked at in part and scaled."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A limit that shortens a run: digit `step` elements into the run counts `coef` on the limit's total."""

    limit: Limit
    coef: int
    step: int


@dataclass(frozen=True, slots=True)
class Runs:
    """`length` elements per run before its ties, the digits around it outermost first, and those over units."""

    length: int
    ties: tuple[Tie, ...]
    outer: tuple[Row, ...]
    units: tuple[Row, ...]
    limits: tuple[Limit, ...]

    @property
    def count(self) -> int:
        """Runs per unit."""
        return prod(r.count for r in self.outer)

    @property
    def unit_count(self) -> int:
        """Units walked, those that turn out empty included."""
        return prod(r.count for r in self.units)


@dataclass(frozen=True, slots=True)
class Table:
    """Runs as parallel arrays in walking order: the unit's index, the start on the other side, the length; elements."""

    unit: Ints
    start: Ints
    length: Ints


def find_runs(walk: Access, both: bool = False) -> Runs:
    """Grows the run from the innermost digit; with `both` it must be contiguous on the walked side too."""
    length, tails = 1, len(walk.elements)
    open_ties: dict[int, tuple[int, int, int]] = {}
    for row in reversed(walk.elements):
        walked_on = row.here == length if both else row.here > 0
        if not walked_on or row.there != length or not _tied(row, length, walk.limits, open_ties):
            break
        length *= row.count
        tails -= 1
    ties = tuple(Tie(walk.limits[i], coef, step) for i, (coef, step, _) in open_ties.items())
    return Runs(length, ties, tuple(walk.elements[:tails]), tuple(walk.units), tuple(walk.limits))


def _tied(row: Row, length: int, limits: Sequence[Limit], ties: dict[int, tuple[int, int, int]]) -> bool:
    """Whether a run that takes in this digit still has its live elements in front, under every limit."""
    new = dict(ties)
    for i, limit in enumerate(limits):
        coef = limit.form.get(row.var)
        if coef is None:
            if i in ties:
                return False
            continue
        first, step, _ = ties.get(i, (coef, length, 0))
        if coef * step != first * length:
            return False
        new[i] = (first, step, length * row.count)
    ties.update(new)
    return True


def digits_of(rows: Sequence[Row], index: Ints) -> dict[Row, Ints]:
    """The value of each digit at positions of their product, outermost first."""
    out: dict[Row, Ints] = {}
    for row in reversed(rows):
        out[row] = index % row.count
        index = index // row.count
    return out


def table(runs: Runs, first: int | None = None) -> Table:
    """The first runs of every unit (all without `first`), empty ones left out, neighbours in HBM joined."""
    count = runs.count if first is None else min(first, runs.count)
    units = digits_of(runs.units, np.arange(runs.unit_count, dtype=np.int64))
    outer = digits_of(runs.outer, np.arange(count, dtype=np.int64))
    unit = _sum((d * r.here for r, d in units.items()), runs.unit_count)[:, None]
    start = _sum((d * r.there for r, d in units.items()), runs.unit_count)[:, None] + _sum(
        (d * r.there for r, d in outer.items()), count
    )
    length = np.full(start.shape, runs.length, dtype=np.int64)
    for limit in runs.limits:
        total = _sum((d * limit.form.get(r.var, 0) for r, d in units.items()), runs.unit_count)[:, None] + _sum(
            (d * limit.form.get(r.var, 0) for r, d in outer.items()), count
        )
        left = limit.below - total
        tie = next((t for t in runs.ties if t.limit is limit), None)
        live = np.where(left > 0, runs.length, 0) if tie is None else -(-left // tie.coef) * tie.step
        length = np.clip(live, 0, length)
    return _joined(np.broadcast_to(unit, start.shape).ravel(), start.ravel(), length.ravel())


def _sum(parts: Iterable[Ints], size: int) -> Ints:
    out = np.zeros(size, dtype=np.int64)
    for part in parts:
        out = out + part
    return out


def _joined(unit: Ints, start: Ints, length: Ints) -> Table:
    live = length > 0
    unit, start, length = unit[live], start[live], length[live]
    if not unit.size:
        return Table(unit, start, length)
    new = np.ones(unit.size, dtype=bool)
    new[1:] = (unit[1:] != unit[:-1]) | (start[1:] != start[:-1] + length[:-1])
    heads = np.flatnonzero(new)
    return Table(unit[heads], start[heads], np.add.reduceat(length, heads))


def elements_per_unit(runs: Runs) -> tuple[Ints, Ints]:
    """Index and live elements of every unit that takes part."""
    names = {v for limit in runs.limits for v in limit.form}
    tied = tuple(r for r in runs.outer if r.var in names)
    times = runs.count // prod(r.count for r in tied)
    part = replace(runs, outer=tied)
    first = max(1, MOST_RUNS // max(1, runs.unit_count))
    found = table(part, first)
    units, where = np.unique(found.unit, return_inverse=True)
    sums = np.zeros(units.size, dtype=np.int64)
    np.add.at(sums, where, found.length)
    return units, sums * times * part.count // min(first, part.count)


def thinned(runs: Runs, step_elements: int, most: int) -> tuple[Runs, int, int]:
    """Fewer runs that still fill whole blocks of `step_elements`: outer digits between blocks are shortened.

    Gives the runs and the fraction (of, kept) by which to scale.
    """
    names = {v for limit in runs.limits for v in limit.form}
    outer, of, kept = list(runs.outer), 1, 1
    for i, row in sorted(enumerate(outer), key=lambda item: -item[1].count):
        total = prod(r.count for r in outer) * runs.unit_count
        if total <= most or row.var in names or row.there % step_elements:
            continue
        count = min(row.count, max(2, row.count * most // total))  # one alone would let its neighbours join
        outer[i] = replace(row, count=count)
        of, kept = of * row.count, kept * count
    return replace(runs, outer=tuple(outer)), of, kept
