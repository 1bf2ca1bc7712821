"""Passes over rows in one layout: rows go to Cluster and Slice, a reduced axis stays whole inside its slice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.hardware import Hardware
from models.kernel import (
    Cast,
    Collect,
    Commit,
    Fetch,
    FetchCast,
    FetchTableLookup,
    PassOp,
    Step,
    ToVrf,
    Transpose,
    Vector,
)
from models.vector_ops import VectorOp
from planner.engines.shapes import elements_in
from planner.program.operations import RowPass, Rows, Value, VectorStep
from planner.search.fragment import Fragment, Need
from planner.search.parts import (
    Part,
    Parts,
    fill,
    joined,
    size_of,
    take_major,
    take_minor,
    whole_axis,
    without,
    written,
)
from planner.search.spec import DmPlace, bytes_of, padded_text

WRITE_BYTES = 8
"""DM is written in whole multiples of this (domain: section 4)."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where rows lie: the Cluster and Slice of every tensor, and what a slice holds of each axis."""

    cluster: Parts
    slice: Parts
    tile: dict[str, Parts]
    packed: bool = False

    def held(self, value: Value) -> Parts:
        """A slice's digits of a tensor, in its own order."""
        return joined(p for a in value.axes for p in self.tile[a])


def layouts(node: Rows, sizes: dict[str, int], hardware: Hardware) -> Iterator[RowLayout]:
    """Every share of the rows for the units; the axes that a pass reduces are shared by none."""
    ways = hardware.vector.ways_narrow
    reduced = {p.reduced for p in node.passes}
    axes = {a for p in node.passes for a in p.source.axes}
    free = tuple(a for a in node.out.axes if a not in reduced)
    inner = {p.source.axes[-1] for p in node.passes if p.source.axes}
    made = {p.out.name for p in node.passes}
    read = {node.values[n].axes[-1:] for p in node.passes for n in p.operands if n not in made}
    unit = dict.fromkeys(inner, ways) | dict.fromkeys((a for end in read for a in end), hardware.vector.ways_wide)
    whole = {a: whole_axis(a, sizes[a], -(-sizes[a] // unit.get(a, 1)) * unit.get(a, 1)) for a in axes}
    slices, clusters = hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip
    for both in (1, clusters) if free else (1,):
        share = 1
        while share <= (slices if free else 1):
            yield from _shared(whole, free, both, share, hardware)
            share *= 2


def _shared(
    whole: dict[str, Part], free: tuple[str, ...], both: int, share: int, hardware: Hardware
) -> Iterator[RowLayout]:
    rows = tuple(whole[a] for a in free)
    if len(rows) == 1 and rows[0].size % (both * share):
        rows = (whole_axis(free[0], rows[0].declared, -(-rows[0].size // (both * share)) * both * share),)
    major = take_major(rows, both * share)
    halves = None if major is None else take_major(major[0], both)
    if major is None or halves is None:
        return
    slices, clusters = hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip
    cluster = halves[0] if both > 1 else fill(clusters)
    tile = {a: tuple(p for p in major[1] if p.axis == a) if a in free else (whole[a],) for a in whole}
    rest = slices // share
    for first in (True, False) if 1 < rest < slices else (True,):
        slice_ = (*fill(rest), *halves[1]) if first else (*halves[1], *fill(rest))
        for packed in (False, True):
            yield RowLayout(cluster, slice_, tile, packed)


def fragment(node: Rows, layout: RowLayout, hardware: Hardware) -> tuple[Fragment, DmPlace] | None:
    """The passes of a node in a layout, and where the result lies; None where it gives no whole packets or writes."""
    build = _Builder(node, layout, hardware)
    try:
        passes = tuple(build.run())
    except _NoLayoutError:
        return None
    gives = build.place_of(node.out)
    needs = tuple(
        Need(v.name, v.dtype, build.place_of(v).place(), build.dm(v.name)) for v in node.reads if v.name in build.used
    )
    label = f"rows over {written(layout.slice)}{', packed' if layout.packed else ''}"
    return Fragment(label, needs, passes, node.out.name, node.out.dtype, gives.place(), build.dm(node.out.name)), gives


class _NoLayoutError(Exception):
    """A packet or a write of this layout would not be whole."""


@dataclass(slots=True)
class _Builder:
    node: Rows
    layout: RowLayout
    hardware: Hardware

    @property
    def used(self) -> frozenset[str]:
        return frozenset(n for p in self.node.passes for n in (p.source.name, *p.operands))

    def dm(self, name: str) -> str:
        return f"{name}_dm" if name in self._made() else f"{name}_{self.node.out.name}"

    def vrf(self, name: str) -> str:
        return f"{name}_{self.node.out.name}_vrf"

    def _made(self) -> dict[str, RowPass]:
        return {p.out.name: p for p in self.node.passes}

    def _single(self, value: Value) -> bool:
        """Whether each value of a tensor fills a write of its own: behind a reduction of the packet."""
        by = self._made().get(value.name)
        if by is None or (self.layout.packed and value == self.node.out):
            return False
        return self._single(by.source) or by.reduced == by.source.axes[-1]

    def place_of(self, value: Value) -> DmPlace:
        end = fill(WRITE_BYTES // bytes_of(value.dtype)) if self._single(value) else ()
        return DmPlace(self.layout.cluster, self.layout.slice, (*self.layout.held(value), *end))

    def run(self) -> Iterator[PassOp]:
        staged: set[str] = set()
        made = self._made()
        streamed = {p.source.name for p in self.node.passes} | {self.node.out.name}
        for one in self.node.passes:
            for name in one.operands:
                in_dm = name not in made or name in streamed
                if in_dm and name not in staged:
                    yield self._stage(self.node.values[name] if name not in made else made[name].out)
                    staged.add(name)
            yield self._pass(one, to_dm=one.out.name in streamed)

    # Operands -------------------------------------------------------------------------------------------

    def _stage(self, value: Value) -> PassOp:
        """A tensor from DM into the VRF."""
        held, single = self.layout.held(value), self._single(value)
        wide = self.hardware.vector.ways_wide
        end = fill(WRITE_BYTES // bytes_of(value.dtype)) if single else ()
        minor = (held, end) if single else take_minor(held, wide)
        if minor is None:
            raise _NoLayoutError
        time, packet = minor
        steps: list[Step] = [Fetch(time=written(time), packet=written(packet)), *self._widened(value), Collect()]
        element = ", ".join([*([written(time)] if time else []), padded_text(packet, wide)])
        steps.append(ToVrf(write=self.vrf(value.name), element=element))
        return PassOp(name=f"stage_{value.name}_{self.node.out.name}", read=self.dm(value.name), steps=tuple(steps))

    def _widened(self, value: Value) -> list[Step]:
        return [] if value.dtype == "f32" else [FetchCast(dtype="f32")]

    # Streams --------------------------------------------------------------------------------------------

    def _moved(self, one: RowPass) -> PassOp:
        """A pass without the vector engine: other types by a table, or Time and packet changed over."""
        held, out = self.layout.held(one.source), one.out
        commit = Commit(write=self.dm(out.name), element=self.place_of(out).place().element)
        if one.moves == "lookup":
            flit = elements_in(out.dtype, self.hardware.geometry.flit_bytes)
            minor = next((m for n in (flit, flit // 2, flit // 4) if (m := take_minor(held, n)) is not None), None)
            if minor is None:
                raise _NoLayoutError
            fetch = Fetch(time=written(minor[0]), packet=written(minor[1]))
            steps: list[Step] = [fetch, FetchTableLookup(dtype=out.dtype), Collect(), commit]
        else:
            steps = [*self._transposed(held, out), commit]
        return PassOp(name=f"rows_{out.name}", read=self.dm(one.source.name), steps=tuple(steps))

    def _transposed(self, held: Parts, out: Value) -> list[Step]:
        """Neighbours of the result's innermost axis stand in Time until the transpose engine packs them."""
        columns = take_minor(held, self.hardware.contraction.out_columns)
        group = take_minor(self.layout.held(out), WRITE_BYTES // bytes_of(out.dtype))
        if columns is None or group is None or {p.axis for p in columns[1]} & {p.axis for p in group[1]}:
            raise _NoLayoutError
        rest = without(columns[0], group[1])
        flit = elements_in(out.dtype, self.hardware.geometry.flit_bytes)
        return [
            Fetch(time=written((*rest, *group[1])), packet=written(columns[1])),
            Collect(),
            Transpose(time=written((*rest, *columns[1])), packet=padded_text(group[1], flit)),
        ]

    def _pass(self, one: RowPass, *, to_dm: bool) -> PassOp:
        if one.moves:
            return self._moved(one)
        time, packet, narrow = self._stream(one)
        steps: list[Step] = [Fetch(time=written(time), packet=written(packet)), *self._widened(one.source), Collect()]
        left, ends, ops = time, narrow, [VectorOp(name="narrow_trim", value=narrow), *map(self._op, one.before)]
        if any(s.operand is None and not s.unary for s in one.before):
            ops = [o for v in ops for o in ((VectorOp(name="stash"), v) if v.operand == "stash" else (v,))]
        if one.reduced is not None:
            left = tuple(p for p in time if p.axis != one.reduced)
            ends = f"1 # {self.hardware.vector.ways_narrow}" if self._inside(one) else narrow
            reduce = VectorOp(
                name="intra_slice_reduce", axis=one.reduced, op=one.reduction, time=written(left), packet=ends
            )
            ops.append(reduce)
        wide = f"{ends} # {self.hardware.vector.ways_wide}" if not ends.startswith("1 #") else "1 # 8"
        divisions = [self._op(s) for s in one.behind if s.key == "fp_div"]
        clips = [self._op(s) for s in one.behind if s.key != "fp_div"]
        steps.append(Vector(ops=(*ops, *divisions, VectorOp(name="widen_pad", value=wide), *clips)))
        steps += self._stored(one, left, wide) if to_dm else [self._registered(one, left, wide)]
        return PassOp(name=f"rows_{one.out.name}", read=self.dm(one.source.name), steps=tuple(steps))

    def _inside(self, one: RowPass) -> bool:
        return one.reduced == one.source.axes[-1]

    def _stream(self, one: RowPass) -> tuple[Parts, Parts, str]:
        """Time, with the reduced axis innermost, the packet, and its text four wide."""
        ways, held = self.hardware.vector.ways_narrow, self.layout.held(one.source)
        if self._single(one.source):
            return held, fill(WRITE_BYTES // bytes_of(one.source.dtype)), f"1 # {ways}"
        minor = take_minor(held, ways)
        if minor is None:
            raise _NoLayoutError
        time = tuple(p for p in minor[0] if p.axis != one.reduced) + tuple(p for p in minor[0] if p.axis == one.reduced)
        return time, minor[1], written(minor[1])

    def _op(self, step: VectorStep) -> VectorOp:
        if step.unary:
            return VectorOp(name=step.key, value=step.op)
        operand = "stash" if step.operand is None else step.operand
        operand = self.vrf(operand) if isinstance(operand, str) and operand != "stash" else operand
        return VectorOp(name=step.key, op=step.op, operand=operand, mode=step.mode)

    def _registered(self, one: RowPass, left: Parts, wide: str) -> Step:
        element = ", ".join([*([written(left)] if left else []), wide])
        return ToVrf(write=self.vrf(one.out.name), element=element)

    def _stored(self, one: RowPass, left: Parts, wide: str) -> list[Step]:
        del wide
        out = one.out
        steps: list[Step] = [] if out.dtype == "f32" else [Cast(dtype=out.dtype)]
        single = self._inside(one) or self._single(one.source)
        if single and self.layout.packed and out == self.node.out:
            group, held = WRITE_BYTES // bytes_of(out.dtype), joined(left)
            minor = take_minor(held, group) if held and size_of(held) % group == 0 else None
            if minor is None or len(minor[1]) != 1:
                raise _NoLayoutError
            flit = elements_in(out.dtype, self.hardware.geometry.flit_bytes)
            steps.append(Transpose(time=written(without(held, minor[1])), packet=padded_text(minor[1], flit)))
        elif self.layout.packed and out == self.node.out:
            raise _NoLayoutError
        steps.append(Commit(write=self.dm(out.name), element=self.place_of(out).place().element))
        return steps
