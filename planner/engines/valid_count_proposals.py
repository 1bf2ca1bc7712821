"""Other placements of a reduced axis for which the valid count generator has settings (domain: section 8).

The digits of the axis keep their counts in Slice, Time and Packet; what changes is which of them are the major ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from models.hardware import Hardware
from models.mapping import ONE, Axis, Mapping, Modulo, Pad, Stride, axis_names, nodes, pair, terms, text
from planner.engines.valid_count import derive
from planner.engines.valid_count_axes import spreads

Placement = tuple[Mapping, Mapping, Mapping]


def proposal(hardware: Hardware, slice_: Mapping, time: Mapping, packet: Mapping, axis: str) -> str:
    """The first placement that can be set, as text; empty where none of them can."""
    for placed in placements(slice_, time, packet, axis):
        verdict = derive(hardware, *placed, axis)
        if verdict.settings is not None or not verdict.padded:
            names = zip(("Slice", "Time", "Packet"), placed, strict=True)
            return ", ".join(f"{name} `{text(e)}`" for name, e in names)
    return ""


def placements(slice_: Mapping, time: Mapping, packet: Mapping, axis: str) -> Iterator[Placement]:
    """Major digits in Slice, then in Time; then the same with the packet's share moved to Time; then all in Time."""
    found = spreads(slice_, time, packet).get(axis)
    own = next((n for e in (slice_, time, packet) for n in nodes(e) if isinstance(n, Axis) and n.name == axis), None)
    if found is None or own is None:
        return
    slices, steps, span = (prod(p.size for p in places) for places in (found.slices, found.times, found.packet))
    size = slices * steps * span
    if size < own.size:
        return  # a part of the axis stands elsewhere
    whole = Pad(own, size) if size > own.size else own
    alone = _without(packet, axis, ONE) if found.packet else packet
    alone = alone if alone.size == packet.size else Pad(alone, packet.size)
    for lanes in dict.fromkeys((span, 1) if found.lonely else (1,)):
        inner = steps * span // lanes
        held = whole if lanes == size else Modulo(whole, lanes)
        lane = held if held.size == packet.size else Pad(held, packet.size)
        for over, under in ((lanes * inner, lanes), (lanes, lanes * slices)):
            moved = (
                _without(slice_, axis, _digit(whole, over, slices)),
                _without(time, axis, _digit(whole, under, inner)),
            )
            yield *moved, lane if lanes > 1 else alone
    yield _without(slice_, axis, Pad(ONE, slices) if slices > 1 else ONE), _without(time, axis, whole), alone


def _digit(whole: Mapping, stride: int, size: int) -> Mapping:
    if size == 1:
        return ONE
    out: Mapping = whole if stride == 1 else Stride(whole, stride)
    return out if out.size == size else Modulo(out, size)


def _without(e: Mapping, axis: str, digit: Mapping) -> Mapping:
    """The mapping with one digit, innermost, for all of its terms that read the axis."""
    left = [t for t in terms(e) if axis not in axis_names(t) and t.size > 1]
    return pair(*left, *(() if digit.size == 1 else (digit,)))
