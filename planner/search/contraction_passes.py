"""The passes of a tiling: the held operand into the TRF, the stream past it, the result into DM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.hardware import Hardware
from models.kernel import (
    Cast,
    Collect,
    Commit,
    ContractLane,
    ContractOuter,
    ContractPacket,
    ContractTime,
    Fetch,
    PassOp,
    Step,
    Switch,
    SwitchConfig,
    ToTrf,
    Transpose,
    Vector,
)
from models.vector_ops import VectorOp
from planner.engines.contraction_outer import accumulator_of
from planner.engines.shapes import elements_in
from planner.search.contraction import BATCH, HELD, STREAMED, SUMMED, Tiling, filled, innermost, placed
from planner.search.fragment import Fragment, Need
from planner.search.parts import Parts, fill, joined, size_of, take_major, take_minor, without, written
from planner.search.spec import Contraction, DmPlace, Named, padded_text
from planner.search.turns import turn

MOST_WRITE_BYTES = 8
"""DM is written in whole multiples of this (domain: section 4)."""


@dataclass(frozen=True, slots=True)
class Spread:
    """An operand that every slice of a group needs whole, loaded in parts: `moved` comes to Time over the ring.

    `before` is the Slice in which it is loaded, `inside` counts its positions inside of `moved`. No spread: `moved` is
    empty and `before` the working Slice.
    """

    moved: Parts
    before: Parts
    inside: int = 1

    @property
    def ring(self) -> SwitchConfig:
        """The configuration that brings `moved` to Time: no other has a smaller ring."""
        return SwitchConfig(kind="Broadcast1", slice1=size_of(self.moved), slice0=self.inside)


def spreads(tiling: Tiling, operand: Named, hardware: Hardware) -> Iterator[Spread]:
    """Loading an operand whole in every slice, or a part in each of n slices of a group that shares it."""
    working = filled(tiling, hardware.geometry.slices_per_cluster)
    if working is None:
        return
    yield from (s for s in _spreads(tiling, operand, working, hardware) if _can_turn(tiling, operand, s, hardware))


def _spreads(tiling: Tiling, operand: Named, working: Parts, hardware: Hardware) -> Iterator[Spread]:
    yield Spread((), working)
    other = STREAMED if operand is tiling.held else HELD
    group, used = dict(tiling.slices).get(other, ()), size_of(tiling.working)
    movable = without(tiling.axis_tile(operand.axes), _packet_digits(tiling, operand))
    n = 2
    while n <= size_of(group):
        kept, moved = take_minor(group, n), take_major(movable, n)
        if kept is not None and moved is not None and n <= size_of(movable):
            before = tuple((c, (*kept[0], *moved[0]) if c == other else parts) for c, parts in tiling.slices)
            spot = placed(tiling, before, fill(hardware.geometry.slices_per_cluster // used))
            yield Spread(moved[0], spot, size_of(spot[spot.index(moved[0][-1]) + 1 :]))
        n *= 2


def _can_turn(tiling: Tiling, operand: Named, spread: Spread, hardware: Hardware) -> bool:
    return operand.lies is None or turn(hardware, operand.dtype, orders(tiling, operand, spread), ("", "")) is not None


def orders(tiling: Tiling, operand: Named, spread: Spread) -> tuple[Parts, Parts]:
    """A slice's digits of an operand as they are loaded and as they are read."""
    loaded, read = (without(tiling.axis_tile(a), spread.moved) for a in (operand.loaded_axes, operand.axes))
    return joined(loaded), joined(read)


def _packet_digits(tiling: Tiling, operand: Named) -> Parts:
    if operand is tiling.held:
        return (*tiling.lane, *tiling.depth)
    return (*tiling.columns, *tiling.depth)


def place_of(tiling: Tiling, operand: Named, spread: Spread) -> DmPlace:
    """Where an operand is loaded to: its own digits in the order in which they lie in HBM."""
    element = without(tiling.axis_tile(operand.loaded_axes), spread.moved)
    return DmPlace(tiling.cluster[1], spread.before, element)


def results(spec: Contraction, tiling: Tiling, hardware: Hardware) -> Iterator[tuple[str, DmPlace]]:
    """Where the result lies, by each way to fold the lanes; nothing where the tiling is no kernel."""
    working = filled(tiling, hardware.geometry.slices_per_cluster)
    if working is None or not _can_hold(tiling, spec):
        return
    for mode in ("interleaved", "sequential") if tiling.columns else ("interleaved",):
        gives = _Builder(spec, tiling, hardware, working, mode).result()
        if gives is not None:
            yield mode, gives


def fragment(
    spec: Contraction, tiling: Tiling, mode: str, spread: tuple[Spread, Spread], hardware: Hardware
) -> Fragment:
    """The kernel's passes for a tiling that has a result; `spread` of the held operand and of the stream."""
    working = filled(tiling, hardware.geometry.slices_per_cluster) or ()
    names = {o.name: f"{o.name}_{spec.name}" for o in (tiling.held, tiling.stream)}
    needs = tuple(
        Need(o.name, o.dtype, place_of(tiling, o, s).place(), names[o.name])
        for o, s in zip((tiling.held, tiling.stream), spread, strict=True)
    )
    build = _Builder(spec, tiling, hardware, working, mode)
    gives = build.result()
    if gives is None:
        raise ValueError(f"{spec.name}: this tiling leaves no whole writes")
    passes: list[PassOp] = []
    for operand, way, make in zip((tiling.held, tiling.stream), spread, (build.store, build.matrix), strict=True):
        source = names[operand.name]
        if operand.lies is not None:
            turned = f"{source}_turned"
            found = turn(hardware, operand.dtype, orders(tiling, operand, way), (source, turned))
            passes, source = passes if found is None else [*passes, found], turned
        passes.append(make(way, source))
    label = f"{tiling.held.name} in the TRF, {written(working)}, {size_of(tiling.lane)} lanes, {mode}"
    return Fragment(label, needs, tuple(passes), spec.out.name, spec.out.dtype, gives.place(), build.buffer)


def _can_hold(tiling: Tiling, spec: Contraction) -> bool:
    """Summed digits in the packet are read as they lie: they must be innermost in the held operand too."""
    return not tiling.depth or tiling.held.axes[-1] in spec.summed()


@dataclass(frozen=True, slots=True)
class _Builder:
    spec: Contraction
    tiling: Tiling
    hardware: Hardware
    working: Parts
    mode: str

    @property
    def buffer(self) -> str:
        return f"{self.spec.out.name}_{self.spec.name}_dm"

    @property
    def trf(self) -> str:
        return f"{self.tiling.held.name}_{self.spec.name}_trf"

    # The held operand -----------------------------------------------------------------------------------

    def store(self, spread: Spread, source: str) -> PassOp:
        tiling = self.tiling
        order = without(tiling.axis_tile(tiling.held.axes), (*tiling.lane, *spread.moved))
        packet = self._held_packet(order)
        rest = without(order, packet)
        time = (*tiling.lane, *rest)
        steps: list[Step] = [Fetch(time=written(time), packet=written(packet))]
        if spread.moved:
            steps.append(Switch(slice=written(self.working), time=written((*time, *spread.moved)), config=spread.ring))
        element = written((*rest, *spread.moved, *packet))
        steps += [Collect(), ToTrf(write=self.trf, lane=written(tiling.lane), element=element)]
        return PassOp(name=f"hold_{tiling.held.name}_{self.spec.name}", read=source, steps=tuple(steps))

    def _held_packet(self, order: Parts) -> Parts:
        wanted = set(self.spec.summed()) if self.tiling.depth else {order[-1].axis} if order else set()
        n = 0
        while n < len(order) and order[-1 - n].axis in wanted:
            n += 1
        return joined(order[len(order) - n :])

    # The stream -----------------------------------------------------------------------------------------

    def matrix(self, spread: Spread, source: str) -> PassOp:
        tiling = self.tiling
        outer, summed, inner = self._times(spread)
        packet = (*tiling.columns, *tiling.depth)
        fetched = without((*outer, *summed), spread.moved)
        steps: list[Step] = [Fetch(time=written(fetched), packet=self._at_least(packet, MOST_WRITE_BYTES))]
        streamed = (*fetched, *spread.moved)
        if spread.moved:
            steps.append(Switch(slice=written(self.working), time=written(streamed), config=spread.ring))
        contracted = self._at_least(packet, self.hardware.geometry.flit_bytes)
        names = {a for p in tiling.summed for a in (p.axis,)}
        left = tuple(p for p in (*streamed, *inner) if p.axis not in names)
        steps += [
            Collect(),
            ContractOuter.model_validate(
                {"with": self.trf, "time": written((*streamed, *inner)), "packet": contracted}
            ),
            ContractPacket(packet=written(tiling.columns)),
            ContractTime(time=written(left)),
            ContractLane(mode="interleaved" if self.mode == "interleaved" else "sequential"),
        ]
        return PassOp(
            name=f"contract_{self.spec.name}",
            read=source,
            steps=(*steps, *self._folded(left), *self._cast(), *self._transposed(left), self._commit()),
        )

    def _times(self, spread: Spread) -> tuple[Parts, Parts, Parts]:
        """Time as [outer, summed, broadcast]: held rows outside of the sum where there are not enough slots."""
        tiling = self.tiling
        rows = without(tiling.tile[HELD], tiling.lane)
        streamed = without(tiling.tile[STREAMED], tiling.columns)
        summed = without(tiling.summed, tiling.depth)
        moved_rows = size_of(p for p in spread.moved if p.axis not in {s.axis for s in tiling.summed})
        unit = self.hardware.contraction
        slots = unit.interleaved_slots // size_of(tiling.columns)
        if self.mode == "sequential":
            slots = unit.sequential_slots // size_of(tiling.lane)
        most = max(1, slots // moved_rows) if summed else size_of(rows)
        size = max((n for n in range(1, most + 1) if take_minor(rows, n) is not None), default=1) if rows else 1
        high, low = take_minor(rows, size) or ((), rows)
        return (*tiling.tile[BATCH], *streamed, *high), summed, low

    def _at_least(self, packet: Parts, size_bytes: int) -> str:
        elements = elements_in(self.tiling.stream.dtype, size_bytes)
        held = size_of(packet)
        return written(packet) if held % elements == 0 else padded_text(packet, -(-held // elements) * elements)

    # The result -----------------------------------------------------------------------------------------

    @property
    def after(self) -> Parts:
        """Slice behind the pass: where summed digits stood, the first slice of each group has the sum."""
        groups = tuple(g for g in self.tiling.slices if g[0] != SUMMED)
        empty = fill(self.hardware.geometry.slices_per_cluster // size_of(self.tiling.working))
        return (*placed(self.tiling, groups, empty), *fill(size_of(self.tiling.folded)))

    def _folded(self, left: Parts) -> list[Step]:
        tiling = self.tiling
        if not tiling.folded:
            return []
        behind = tiling.columns
        if self.mode == "sequential":
            behind = (*tiling.lane, *without(tiling.columns, self._live()))
        time = written((*left, *behind))
        return [Vector(ops=(VectorOp(name="inter_slice_reduce", op="Add", slice=written(self.after), time=time),))]

    def _cast(self) -> list[Step]:
        same = accumulator_of(self.tiling.stream.dtype) == self.spec.out.dtype
        return [] if same else [Cast(dtype=self.spec.out.dtype)]

    def _transposed(self, left: Parts) -> list[Step]:
        tiling = self.tiling
        inner = innermost(self.spec, tiling) if tiling.packed > 1 else None
        if inner is None:
            return []
        digit = replace(inner, size=tiling.packed)
        flit = elements_in(self.spec.out.dtype, self.hardware.geometry.flit_bytes)
        return [Transpose(time=written(without(joined(left), [digit])), packet=padded_text((digit,), flit))]

    def result(self) -> DmPlace | None:
        """Where the result lies, in its own order; None where a packet is more than one value and no whole write."""
        tiling, least = self.tiling, MOST_WRITE_BYTES // self.spec.out.bytes_per_element
        order = joined(tiling.axis_tile(self.spec.out.axes))
        live = self._live()
        if tiling.packed > 1:
            return DmPlace(tiling.cluster[1], self.after, order)
        if live and size_of(live) % least:
            return None
        end = live or fill(least)
        return DmPlace(tiling.cluster[1], self.after, order if _ends_in(order, end) else (*without(order, live), *end))

    def _live(self) -> Parts:
        tiling = self.tiling
        if self.mode == "sequential":
            columns = self.hardware.contraction.out_columns
            minor = take_minor(tiling.columns, min(columns, size_of(tiling.columns)))
            return () if minor is None else minor[1]
        return tiling.lane

    def _commit(self) -> Commit:
        gives = self.result()
        return Commit(write=self.buffer, element="1" if gives is None else gives.place().element)


def _ends_in(order: Parts, digits: Parts) -> bool:
    minor = take_minor(order, size_of(digits))
    return minor is not None and joined(minor[1]) == joined(digits)
