"""The runs of a walk: stretches that lie contiguously in HBM, per slice in DM order, as digits and as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from planner.engines.dma_access import Access, Row
from planner.engines.dma_forms import Limit, Undecided
from planner.engines.dma_queue import Ints

MOST_RUNS = 2**20
"""More runs than this are looked at one repetition of the walk's outermost digits at a time, where that is exact."""

MOST_ENUMERATED = 2**24
"""More runs than this are not looked at one by one: a transfer that needs it is not decided."""


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


@dataclass(frozen=True, slots=True)
class Part:
    """The first `kept` of `of` equal repetitions of a walk; none touches an HBM block that another one touches."""

    found: Table
    of: int = 1
    kept: int = 1

    @property
    def whole(self) -> bool:
        """Nothing was left out."""
        return self.of == self.kept

    def scaled(self, number: int) -> int:
        """What the whole walk has of something of which the part has so many."""
        return number * self.of // self.kept


def find_runs(walk: Access, both: bool = False) -> Runs:
    """Grows the run from the innermost digit; with `both` it must be contiguous on the walked side too."""
    length, tails = 1, len(walk.elements)
    open_ties: dict[int, tuple[int, int, int]] = {}
    for row in reversed(walk.elements):
        walked_on = not row.unit and (row.here == length if both else row.here > 0)
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


def table(runs: Runs) -> Table:
    """The runs of every unit, empty ones left out, neighbours in HBM joined."""
    unit, start, length, _ = _cells(runs)
    return _joined(unit, start, length)


def _cells(runs: Runs) -> tuple[Ints, Ints, Ints, Ints]:
    """Unit, start, live length and unit of the other side of every run as the digits name them.

    Raises:
        Undecided: more than MOST_ENUMERATED runs.

    """
    count = runs.count
    if count * runs.unit_count > MOST_ENUMERATED:
        raise Undecided(f"it has {count * runs.unit_count:,} runs of {runs.length} elements that do not repeat")
    units = digits_of(runs.units, np.arange(runs.unit_count, dtype=np.int64))
    outer = digits_of(runs.outer, np.arange(count, dtype=np.int64))

    def spread(weights: dict[Row, int]) -> Ints:
        per_unit = _sum((d * weights[r] for r, d in units.items()), runs.unit_count)[:, None]
        return per_unit + _sum((d * weights[r] for r, d in outer.items() if weights[r]), count)

    rows = (*runs.units, *runs.outer)
    unit = _sum((d * r.here for r, d in units.items()), runs.unit_count)[:, None]
    start = spread({r: r.there for r in rows})
    length = np.full(start.shape, runs.length, dtype=np.int64)
    for limit in runs.limits:
        left = limit.below - spread({r: limit.form.get(r.var, 0) for r in rows})
        tie = next((t for t in runs.ties if t.limit is limit), None)
        live = np.where(left > 0, runs.length, 0) if tie is None else -(-left // tie.coef) * tie.step
        length = np.clip(live, 0, length)
    other = spread({r: r.unit for r in rows}) if any(r.unit for r in rows) else np.zeros_like(unit)
    return tuple(np.broadcast_to(a, start.shape).ravel() for a in (unit, start, length, other))  # type: ignore[return-value]


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


def elements_per_unit(runs: Runs, other: bool = False) -> tuple[Ints, Ints]:
    """Index and live elements of every unit that takes part; with `other`, of the other side's units."""
    names = {v for limit in runs.limits for v in limit.form}
    telling = tuple(r for r in runs.outer if r.var in names or (other and r.unit))
    times = runs.count // prod(r.count for r in telling)
    unit, _, length, there = _cells(replace(runs, outer=telling))
    live = length > 0
    units, where = np.unique((there if other else unit)[live], return_inverse=True)
    sums = np.zeros(units.size, dtype=np.int64)
    np.add.at(sums, where, length[live])
    return units, sums * times


def repeated(runs: Runs, block: int) -> Part:
    """The runs of a walk, or of its first repetitions where it is long and repeats itself exactly.

    The outermost digits repeat what the inner ones do when no limit reads them, they move by whole blocks of `block`
    elements into blocks of their own, and no run goes on over the seam between two repetitions.
    """
    rest = runs.count * runs.unit_count
    heads = 0
    while rest > MOST_RUNS and heads < len(runs.outer) and _moves_apart(runs, heads, block):
        rest //= runs.outer[heads].count
        heads += 1
    if not heads or _joins(runs, heads):
        return Part(table(runs))
    last = runs.outer[heads - 1]
    kept = min(last.count, max(1, MOST_RUNS // rest))
    outer = (replace(last, count=kept), *runs.outer[heads:])
    return Part(table(replace(runs, outer=outer)), prod(r.count for r in runs.outer[:heads]), kept)


def _moves_apart(runs: Runs, index: int, block: int) -> bool:
    row = runs.outer[index]
    if row.there == 0 or row.there % block or any(row.var in limit.form for limit in runs.limits):
        return False
    others = [r for r in (*runs.outer, *runs.units) if r is not row]
    low = [r for r in others if r.there % (row.there * row.count)]
    reach = runs.length + sum((r.count - 1) * r.there for r in low)
    return -(-reach // block) * block <= row.there


def _joins(runs: Runs, heads: int) -> bool:
    """Whether a run goes on over the end of a repetition of one of the first digits."""
    once = table(replace(runs, outer=runs.outer[heads:]))
    if not once.unit.size:
        return True
    first = np.flatnonzero(np.diff(once.unit, prepend=-1))
    last = np.append(first[1:], once.unit.size) - 1
    gap = once.start[first] - once.start[last] - once.length[last]
    rows = runs.outer[:heads]
    steps = [r.there - sum((q.count - 1) * q.there for q in rows[i + 1 :]) for i, r in enumerate(rows)]
    return any(bool((gap + step == 0).any()) for step in steps)
