"""The passes of rows in one layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.hardware import Hardware
from models.kernel import (
    Cast,
    Collect,
    Commit,
    Fetch,
    FetchCast,
    FetchTableLookup,
    PassOp,
    ReshapeOp,
    Step,
    ToVrf,
    Transpose,
    Vector,
)
from models.vector_ops import VectorOp
from planner.engines.shapes import elements_in
from planner.program.operations import RowPass, Rows, Value, VectorStep
from planner.search.fragment import Fragment, Need
from planner.search.parts import Parts, fill, joined, size_of, take_minor, without, written
from planner.search.rows import RowLayout
from planner.search.spec import DmPlace, bytes_of, padded_text

WRITE_BYTES = 8
"""DM is written in whole multiples of this (domain: section 4)."""


def fragment(node: Rows, layout: RowLayout, hardware: Hardware) -> tuple[Fragment, DmPlace] | None:
    """The passes of a node in a layout, and where the result lies; None where it gives no whole packets or writes."""
    build = _Builder(_split(node, layout), layout, hardware)
    try:
        passes = tuple(build.run())
        gives = build.place_of(node.out)
    except _NoLayoutError:
        return None
    needs = tuple(
        Need(v.name, v.dtype, build.place_of(v).place(), build.dm(v.name)) for v in node.reads if v.name in build.used
    )
    made = Fragment(
        f"rows over {written(layout.slice)}{', packed' if layout.packed else ''}",
        needs,
        passes,
        node.out.name,
        node.out.dtype,
        gives.place(),
        build.dm(node.out.name),
        tuple(build.views),
    )
    return made, gives


def _split(node: Rows, layout: RowLayout) -> Rows:
    """What follows a fold over the ring is a pass of its own, unless the ring stands before the chain."""
    if not layout.split or layout.early:
        return node
    passes: list[RowPass] = []
    values = dict(node.values)
    for one in node.passes:
        if one.reduced != layout.split[0].axis or not one.behind:
            passes.append(one)
            continue
        total = Value(f"{one.out.name}_fold", "f32", one.out.axes)
        values[total.name] = total
        passes.append(replace(one, behind=(), out=total))
        passes.append(RowPass(total, (), None, "", one.behind, one.out))
    return replace(node, passes=tuple(passes), values=values)


class _NoLayoutError(Exception):
    """A packet or a write of this layout would not be whole."""


@dataclass(slots=True)
class _Builder:
    node: Rows
    layout: RowLayout
    hardware: Hardware
    views: list[ReshapeOp] = field(default_factory=list)

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
        return self._single(by.source) or self._inside(by)

    def place_of(self, value: Value) -> DmPlace:
        end = fill(WRITE_BYTES // bytes_of(value.dtype)) if self._single(value) else ()
        return DmPlace(self.layout.cluster, self._slice_of(value), (*self.layout.held(value), *end))

    # Slices ---------------------------------------------------------------------------------------------

    @property
    def folded(self) -> str | None:
        """The reduced axis whose digits stand in Slice."""
        return self.layout.split[0].axis if self.layout.split else None

    @property
    def _ends_folded(self) -> bool:
        """Whether the result lacks the folded axis: it lies in the first slice of each group, else in all of them."""
        return self.folded is not None and self.folded not in self.node.out.axes

    def _behind_fold(self, one: RowPass) -> bool:
        return self._ends_folded and self.folded not in one.source.axes

    def _slice_of(self, value: Value) -> Parts:
        """A tensor's Slice: that of the passes that read it, or of the one that makes it."""
        made = self._made().get(value.name)
        if made is not None:
            apart = self._behind_fold(made) or self._folds(made)
        else:
            readers = {self._behind_fold(p) for p in self.node.passes if value.name in (p.source.name, *p.operands)}
            if len(readers) > 1:
                raise _NoLayoutError
            apart = True in readers
        if not apart or not self._ends_folded:
            return self.layout.slice
        return (*self.layout.outside, *fill(size_of(self.layout.split)))

    def _folds(self, one: RowPass) -> bool:
        return one.reduced is not None and one.reduced == self.folded

    def _ring(self, one: RowPass, time: Parts) -> VectorOp:
        """The fold over the ring: the sum comes to the first slice of each group, or to all that go on with it."""
        ratio = size_of(self.layout.split)
        left = [*([written(self.layout.outside)] if self.layout.outside else [])]
        left.append(f"1 # {ratio}" if self._ends_folded else str(ratio))
        return VectorOp(name="inter_slice_reduce", op=one.reduction, slice=", ".join(left), time=written(time))

    def _named(self, one: RowPass, name: str, element: str) -> str:
        """The name under which a pass writes: a fold that all slices go on with is seen as split like the rest."""
        if not self._folds(one) or self._ends_folded:
            return name
        cluster, slice_ = written(self.layout.cluster), written(self.layout.slice)
        self.views.append(
            ReshapeOp(name=name, of=f"{name}_ring", chip="1", cluster=cluster, slice=slice_, element=element)
        )
        return f"{name}_ring"

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
        ring = self._folds(one)
        if any(s.operand is None and not s.unary for s in one.before):
            ops = [o for v in ops for o in ((VectorOp(name="stash"), v) if v.operand == "stash" else (v,))]
        if ring and self.layout.early:
            ops = [self._ring(one, time), *ops]
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
        ops += [*divisions, VectorOp(name="widen_pad", value=wide), *clips]
        if ring and not self.layout.early:
            ops.append(self._ring(one, left))
        steps.append(Vector(ops=tuple(ops)))
        steps += self._stored(one, left, wide) if to_dm else [self._registered(one, left, wide)]
        return PassOp(name=f"rows_{one.out.name}", read=self.dm(one.source.name), steps=tuple(steps))

    def _inside(self, one: RowPass) -> bool:
        return one.reduced is not None and one.reduced == one.source.axes[-1]

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
        return ToVrf(write=self._named(one, self.vrf(one.out.name), element), element=element)

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
        element = self.place_of(out).place().element
        steps.append(Commit(write=self._named(one, self.dm(out.name), element), element=element))
        return steps
