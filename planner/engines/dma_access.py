"""How a transfer walks its two sides: digits of one side with the place of each on the other.

The walked side is the DM side of a load or a store and the destination of a copy, in the order of its positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from models.layout import TensorLayout
from models.mapping import Mapping, axis_names
from planner.engines.dma_forms import Cuts, Form, Limit, Need, Side, Tiling, Undecided, Var, reach, read_side
from planner.engines.dma_limits import Counts, implied, tighten

MAX_ROUNDS = 64
UNIT_LEVELS = ("chip", "cluster", "slice")


@dataclass(frozen=True, slots=True)
class Row:
    """A digit of the walk: `count` live values, `here` positions apart on the walked side's level, `there` on the
    other side's element, `unit` apart in the other side's slice index. `var` keys the limits.
    """

    var: Var
    count: int
    here: int
    there: int
    unit: int = 0


@dataclass(slots=True)
class Access:
    """The walk: digits over units and over elements (outermost first), and the limits that tie digits together.

    `shared`: some units meet the same cells of the other side. `missing`, `dropped` and `unwritten` name what stands
    against the transfer: an axis each, or the positions that a limit cuts off.
    """

    units: list[Row] = field(default_factory=list)
    elements: list[Row] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    shared: bool = False
    missing: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ends:
    """Both sides of a transfer with their tiles; `writes_there`: the other side is the destination (a store)."""

    here: TensorLayout
    there: TensorLayout
    writes_there: bool
    slices_per_cluster: int
    here_tile: Tiling | None = None
    there_tile: Tiling | None = None


def levels(layout: TensorLayout) -> dict[str, Mapping]:
    """The levels that place a cell, outermost first: HBM has no cluster and slice."""
    out = {"chip": layout.chip}
    if layout.memory != "hbm":
        out |= {"cluster": layout.cluster, "slice": layout.slice}
    return out | {"element": layout.element}


def access(ends: Ends) -> Access:
    """Matches both sides digit by digit; the cost is in digits.

    Raises:
        Undecided: the sides cut an axis at borders of which neither divides the other.

    """
    here_cuts: Cuts = {}
    there_cuts: Cuts = {}
    for _ in range(MAX_ROUNDS):
        try:
            here, there = _sides(ends, here_cuts, there_cuts)
            return _Matcher(ends, here, there).access()
        except _NeedThere as need:
            there_cuts.setdefault(need.level, set()).add(need.weight)
        except Need as need:
            here_cuts.setdefault(need.level, set()).add(need.weight)
    raise Undecided(f"no common digits after {MAX_ROUNDS} cuts")


class _NeedThere(Need):
    def __init__(self, need: Need) -> None:
        self.level, self.weight = need.level, need.weight


def _sides(ends: Ends, here_cuts: Cuts, there_cuts: Cuts) -> tuple[Side, Side]:
    """Both sides, with the padded expressions that both have taken whole: their padding travels along."""
    opaque: frozenset[Mapping] = frozenset()
    while True:
        here = read_side(levels(ends.here), here_cuts, opaque, ends.here_tile, walked=True)
        try:
            there = read_side(levels(ends.there), there_cuts, opaque, ends.there_tile, walked=False)
        except Need as need:
            raise _NeedThere(need) from None
        both = frozenset(p for p in here.pads & there.pads if _stands_alone(p, here) and _stands_alone(p, there))
        if not both - opaque:
            return here, there
        opaque |= both


def _stands_alone(pad: Mapping, side: Side) -> bool:
    """Whether no other digit of the side reads the axes of this padded expression past its own."""
    others = [p for p in side.pads if p != pad and not _inside(p, pad) and not _inside(pad, p)]
    return not any(axis_names(p) & axis_names(pad) for p in others)


def _inside(inner: Mapping, outer: Mapping) -> bool:
    return str(inner) in str(outer)


class _Matcher:
    def __init__(self, ends: Ends, here: Side, there: Side) -> None:
        self.ends, self.here, self.there = ends, here, there
        self.out = Access()
        self.weights: dict[Var, dict[str, int]] = {v: {} for v in here.vars}
        self.gaps: list[tuple[Var, str]] = []
        self.forms: dict[Var, Form] = {}
        self.fenced: dict[Var, None] = {}  # digits of the other side that end before their axis does

    def access(self) -> Access:
        for leaf, form in self.here.leaves.items():
            if leaf in self.there.leaves:
                self.match(leaf, form, self.there.leaves[leaf])
        counts = {v: v.size for v in (*self.here.vars, *self.there.vars)}
        mapped = [m for m in map(self.mapped, self.there.limits) if m is not None]
        mapped += [Limit(self.forms[v], v.size) for v in self.fenced if reach(self.forms[v]) >= v.size]
        here_counts, here_left = tighten(counts, self.here.limits)
        there_counts, _ = tighten(counts, self.there.limits)
        counts, self.out.limits = tighten(counts, [*self.here.limits, *self.there.limits, *mapped])
        self.find_faults(here_counts, here_left, there_counts, mapped)
        self.rows(counts, there_counts)
        return self.out

    def match(self, leaf: Mapping, form: Form, target: Form) -> None:
        """Places every digit of an axis on the other side."""
        digits = sorted(target.items(), key=lambda item: item[1])
        for var, coef in form.items():
            under = [(v, c) for v, c in digits if c <= coef]
            if not under:
                lowest = digits[0][1] if digits else 0
                if lowest and coef * (var.size - 1) >= lowest and lowest % coef == 0:
                    raise Need(var, lowest // coef)
                self.gaps.append((var, str(leaf)))
                continue
            other, unit = under[-1]
            self.place(leaf, (var, coef), (other, unit), top=other is digits[-1][0])

    def place(self, leaf: Mapping, digit: tuple[Var, int], other: tuple[Var, int], top: bool) -> None:
        (var, coef), (there, unit) = digit, other
        end = unit * there.size
        unlimited = top and end >= leaf.size
        if coef % unit:
            raise Undecided(f"{leaf} is cut at {coef} on one side and at {unit} on the other")
        if not unlimited and coef >= end:
            self.gaps.append((var, str(leaf)))
            return
        if not unlimited and coef * (var.size - 1) >= end:
            if end % coef:
                raise Undecided(f"{leaf} is cut at {end} on one side and at {coef} on the other")
            raise Need(var, end // coef)
        steps = coef // unit
        self.weights[var][there.level] = self.weights[var].get(there.level, 0) + there.weight * steps
        self.forms.setdefault(there, {})[var] = steps
        if not unlimited:
            self.fenced[there] = None

    def mapped(self, limit: Limit) -> Limit | None:
        """A limit of the other side in digits of the walked one; one on free digits stays what it is."""
        form: Form = {}
        for other, coef in limit.form.items():
            for var, steps in self.forms.get(other, {}).items():
                form[var] = form.get(var, 0) + coef * steps
        return Limit(form, limit.below) if form else None

    def find_faults(
        self, here_counts: Counts, here_left: list[Limit], there_counts: Counts, mapped: list[Limit]
    ) -> None:
        absent = [leaf for leaf in self._source().leaves if leaf not in self._destination().leaves]
        tile = self.ends.there_tile if not self.ends.writes_there else self.ends.here_tile
        tiled = {tile.axis.name} if tile is not None else set()
        self.out.dropped += [str(a) for a in absent if a.size > 1 and not axis_names(a) <= tiled]
        gaps = sorted({leaf for var, leaf in self.gaps if here_counts[var] > 1})
        if not self.ends.writes_there:
            self.out.missing += gaps
            self.out.missing += [_said(m) for m in mapped if not implied(here_counts, here_left, m)]
            return
        self.out.dropped += gaps
        self.out.unwritten += list(self.uncovered(here_counts, there_counts))
        counts, left = tighten(here_counts, [*mapped, *self._ranges()])
        self.out.unwritten += [_said(n) for n in here_left if self._on_axes(n) and not implied(counts, left, n)]

    def _source(self) -> Side:
        return self.here if self.ends.writes_there else self.there

    def _destination(self) -> Side:
        return self.there if self.ends.writes_there else self.here

    def _ranges(self) -> Iterator[Limit]:
        """What the destination's digits can say, in digits of the walked side."""
        for leaf, form in self.there.leaves.items():
            if leaf in self.here.leaves:
                yield Limit(self.here.leaves[leaf], leaf.size)
            yield from (Limit(self.forms[v], v.size) for v in form if v in self.forms)

    def _on_axes(self, limit: Limit) -> bool:
        return any(self.weights[v] for v in limit.form)

    def uncovered(self, here_counts: Counts, counts: Counts) -> Iterator[str]:
        """Axes of the destination with digits that no digit of the walked side supplies."""
        for leaf, form in self.there.leaves.items():
            if leaf not in self.here.leaves:
                continue
            for var, unit in form.items():
                covered = 1
                for digit, steps in sorted(self.forms.get(var, {}).items(), key=lambda item: item[1]):
                    if steps > covered:
                        break
                    covered = max(covered, steps * here_counts[digit])
                if covered < min(counts[var], -(-leaf.size // unit)):
                    yield str(leaf)

    def rows(self, counts: Counts, there_counts: Counts) -> None:
        """The digits in walking order; free digits of a destination are walked outermost."""
        known = {v for form in self.there.leaves.values() for v in form}
        unmatched = {v for leaf, f in self.there.leaves.items() if leaf not in self.here.leaves for v in f}
        for var in sorted(self.there.vars, key=lambda v: -v.weight):
            free = var not in known or var in unmatched
            if self.ends.writes_there and free and var.level == "element" and there_counts[var] > 1:
                self.out.elements.append(Row(var, there_counts[var], 0, var.weight))
        gaps = {var for var, _ in self.gaps}
        for var in self.here.vars:
            there = self.weights[var]
            count = 1 if var in gaps and self.ends.writes_there else counts[var]
            if count == 1 or var.level == "chip":
                continue
            unit = there.get("cluster", 0) * self.ends.slices_per_cluster + there.get("slice", 0)
            here = var.weight * (self.ends.slices_per_cluster if var.level == "cluster" else 1)
            row = Row(var, count, here, there.get("element", 0), unit)
            (self.out.units if var.level in UNIT_LEVELS else self.out.elements).append(row)
            self.out.shared |= var.level in UNIT_LEVELS and not there
        free_count = sum(1 for r in self.out.elements if r.var.level == "element" and r.here == 0)
        self.out.elements[free_count:] = sorted(self.out.elements[free_count:], key=lambda r: -r.here)
        self.out.units.sort(key=lambda r: -r.here)


def _said(limit: Limit) -> str:
    total = sum(c * (v.size - 1) for v, c in limit.form.items())
    return f"positions {limit.below} to {total}"
