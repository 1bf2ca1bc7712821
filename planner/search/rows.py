"""Layouts of passes over rows: rows go to Cluster and Slice, a reduced axis inside of them or into no slice but one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.hardware import Hardware
from planner.program.operations import Rows, Value
from planner.search.parts import Part, Parts, fill, joined, size_of, take_major, whole_axis


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where rows lie: the Cluster and Slice of every tensor, and what a slice holds of each axis.

    `split` are the digits of a reduced axis in Slice, innermost there: the ring folds them, `early` before the chain of
    a pass and not behind it.
    """

    cluster: Parts
    slice: Parts
    tile: dict[str, Parts]
    packed: bool = False
    split: Parts = ()
    early: bool = False

    def held(self, value: Value) -> Parts:
        """A slice's digits of a tensor, in its own order."""
        return joined(p for a in value.axes for p in self.tile[a])

    @property
    def outside(self) -> Parts:
        """Slice without the digits that the ring folds."""
        return self.slice[: len(self.slice) - len(self.split)]


def layouts(node: Rows, sizes: dict[str, int], hardware: Hardware) -> Iterator[RowLayout]:
    """Every share of the rows and of one reduced axis for the units."""
    unit = _units(node, hardware)
    whole = {a: whole_axis(a, sizes[a], -(-sizes[a] // unit.get(a, 1)) * unit.get(a, 1)) for a in _axes(node)}
    reduced = {p.reduced for p in node.passes if p.reduced is not None}
    free = tuple(a for a in node.out.axes if a not in reduced)
    slices, clusters = hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip
    for both in (1, clusters) if free else (1,):
        share = 1
        while share <= (slices if free else 1):
            yield from _shared(whole, free, both, share, hardware)
            for axis in sorted(reduced):
                for split, tile in _splits(whole[axis], unit.get(axis, 1), slices // share):
                    if axis in node.out.axes and tile.whole != tile.declared:
                        # What the ring brings to all slices is relabelled to this axis, which holds no padding then.
                        continue
                    for layout in _shared(whole | {axis: tile}, free, both, share, hardware, split):
                        yield layout
                        if _may_fold_early(node, axis):
                            yield replace(layout, early=True)
            share *= 2


def _axes(node: Rows) -> list[str]:
    return list(dict.fromkeys(a for p in node.passes for a in p.source.axes))


def _units(node: Rows, hardware: Hardware) -> dict[str, int]:
    """How many neighbours of an axis a slice needs whole, by axis: those of a packet."""
    made = {p.out.name for p in node.passes}
    inner = {p.source.axes[-1] for p in node.passes if p.source.axes}
    read = [node.values[n].axes[-1:] for p in node.passes for n in p.operands if n not in made]
    return dict.fromkeys(inner, hardware.vector.ways_narrow) | dict.fromkeys(
        (a for end in read for a in end), hardware.vector.ways_wide
    )


def _may_fold_early(node: Rows, axis: str) -> bool:
    """Whether whole streams may be folded before their chain: nothing is done to single values before the sum."""
    return any(p.reduced == axis and p.behind for p in node.passes) and all(
        not p.before for p in node.passes if p.reduced == axis
    )


def _splits(whole: Part, unit: int, most: int) -> Iterator[tuple[Parts, Part]]:
    """Digits of a reduced axis for 2, 4, ... slices, and what is left in each.

    Padding is told from data by the valid counts, which know shares of a power of two; more slices than hold data are
    left out.
    """
    share = 2
    while share <= most:
        rest, odd = divmod(whole.declared, share)
        if odd or rest % unit:
            rest = max(unit, 1 << (-(-whole.declared // share) - 1).bit_length())
        padded = whole_axis(whole.axis or "", whole.declared, rest * share)
        if 2 * -(-whole.declared // rest) > share and padded.size > rest:
            outer, inner = padded.cut(rest)
            yield (outer,), inner
        share *= 2


def _shared(
    whole: dict[str, Part],
    free: tuple[str, ...],
    both: int,
    share: int,
    hardware: Hardware,
    split: Parts = (),
) -> Iterator[RowLayout]:
    rows = tuple(whole[a] for a in free)
    if len(rows) == 1 and both * share >= 2 * rows[0].declared and both * share > 1:
        return
    if len(rows) == 1 and rows[0].size % (both * share):
        rows = (whole_axis(free[0], rows[0].declared, -(-rows[0].size // (both * share)) * both * share),)
    major = take_major(rows, both * share)
    halves = None if major is None else take_major(major[0], both)
    if major is None or halves is None:
        return
    slices, clusters = hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip
    cluster = halves[0] if both > 1 else fill(clusters)
    tile = {a: tuple(p for p in major[1] if p.axis == a) if a in free else (whole[a],) for a in whole}
    rest = slices // share // size_of(split)
    for first in (True, False) if rest > 1 and share > 1 else (True,):
        slice_ = (*fill(rest), *halves[1]) if first else (*halves[1], *fill(rest))
        for packed in (False, True):
            yield RowLayout(cluster, (*slice_, *split), tile, packed, split)
