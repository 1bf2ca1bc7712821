"""The valid count generator: settings that count the live elements of every flit (seed 004; domain: section 8).

`valid_size(slice, time step)` is what the packet clipper says if every time filter says valid, else 0. The settings are
those of a flit as it enters the vector engine; a later narrowing splits the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from models.hardware import Hardware
from models.mapping import Mapping
from planner.engines.valid_count_axes import Place, Spread, spreads

TIME_ONLY, SLICE_MAJOR, TIME_MAJOR = "time_only", "slice_major", "time_major"
Settings = dict[str, Any]


class Inexpressible(Exception):  # noqa: N818 - a verdict, not an error of ours
    """The generator has no settings for a placement; the text says why."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the reduced axis holds padding, the settings (None: none needed, or none possible), and why not."""

    padded: bool
    settings: Settings | None = None
    reason: str = ""


def derive(hardware: Hardware, slice_: Mapping, time: Mapping, packet: Mapping, axis: str) -> Verdict:
    """The settings for a stream whose `axis` is reduced.

    Every padded axis in Slice or Time takes a time filter, the reduced one in the packet the clipper. Other axes of the
    packet need nothing: their lanes are not folded into each other.
    """
    found = spreads(slice_, time, packet)
    reduced = found.get(axis)
    padded = reduced is not None and reduced.padded
    try:
        return Verdict(padded, _settings(hardware, found, axis, time))
    except Inexpressible as fault:
        return Verdict(padded, None, str(fault))


def _settings(hardware: Hardware, found: dict[str, Spread], axis: str, time: Mapping) -> Settings | None:
    unit = hardware.vector
    filters = []
    clipper: Settings = {"entries": [], "axis_size": unit.ways_wide, "span": unit.ways_wide}
    clipped = False
    for name in sorted(found, key=lambda n: n != axis):
        spread = found[name]
        if not spread.padded or (name != axis and spread.packet):
            continue
        if spread.tangled:
            raise Inexpressible(f"the digits of {name} and their padding cannot be told apart from other factors")
        if spread.packet:
            clipped, clipper = True, _clipper(spread, name, time)
        if spread.slices or not spread.packet:
            filters += _filter(spread, name, time)
    if len(filters) > unit.vcg_time_filters:
        raise Inexpressible(f"{len(filters)} padded axes need a time filter each, there are {unit.vcg_time_filters}")
    for setting in (*filters, clipper):
        if len(setting["entries"]) > unit.vcg_filter_entries:
            raise Inexpressible(
                f"a sequencer of {len(setting['entries'])} entries, there are {unit.vcg_filter_entries}"
            )
    return {"filters": filters, "clipper": clipper} if filters or clipped else None


def _clipper(spread: Spread, name: str, time: Mapping) -> Settings:
    """Clamps size - index to 0 .. span, the same for all slices."""
    if not spread.lonely or len(spread.packet) > 1:
        raise Inexpressible(f"the packet holds {name} together with another factor")
    if spread.packet[0].stride != 1:
        raise Inexpressible(f"the packet holds a major digit of {name}, its live elements are no prefix")
    if spread.slices and spread.size % spread.span:
        raise Inexpressible(
            f"{name} stands in Slice and Packet, and its size {spread.size} is no multiple of the {spread.span}"
            " elements of a flit: the clipper does not see the slice"
        )
    return {"entries": _entries(spread, time, 1), "axis_size": spread.size, "span": spread.span}


def _filter(spread: Spread, name: str, time: Mapping) -> list[Settings]:
    """The time filter of an axis; none where only its packet has padding."""
    if spread.reach < spread.size:
        return []
    if not spread.slices:
        return [_made(spread, time, 1, 0, 0, spread.size, TIME_ONLY)]
    _check_slices(spread, name)
    inside = sum(p.reach for p in spread.times) + spread.span - 1
    if min(p.stride for p in spread.slices) > inside:
        return [_slice_major(spread, time)]
    return _time_major(spread, name, time)


def _check_slices(spread: Spread, name: str) -> None:
    """Digits in descending stride order, with sizes and strides of powers of two: masked ids compare as indices do."""
    below = 0
    for place in reversed(spread.slices):
        if place.size & (place.size - 1) or place.stride & (place.stride - 1) or place.low & (place.low - 1):
            raise Inexpressible(
                f"{name} has a digit of size {place.size} and stride {place.stride} in Slice, {place.low} slices apart:"
                " all three must be powers of two"
            )
        if place.stride <= below:
            raise Inexpressible(f"the digits of {name} in Slice do not stand in descending order of stride")
        below += place.reach


def _slice_major(spread: Spread, time: Mapping) -> Settings:
    """Slices below the boundary are full, the boundary slice has size - boundary steps, those above are empty."""
    code, boundary = _code(spread.slices, spread.size)
    return _made(spread, time, 1, _mask(spread.slices), code, spread.size - boundary, SLICE_MAJOR)


def _time_major(spread: Spread, name: str, time: Mapping) -> list[Settings]:
    """Slices from the boundary on lack the last step; the others are full."""
    unit = spread.span
    for place in reversed(spread.slices):
        if place.stride != unit:
            raise Inexpressible(f"a digit of {name} in Slice stands between two in Time")
        unit *= place.size
    total = unit
    for place in sorted(spread.times, key=lambda p: p.stride):
        if place.stride != total:
            raise Inexpressible(f"a digit of {name} in Slice stands between two in Time")
        total *= place.size
    over = total - spread.size
    if over > unit:
        raise Inexpressible(f"{name} is padded by {over}, more than the {unit} of its digits in Slice and Packet")
    code, _ = _code(spread.slices, unit - over)
    steps = prod(p.size for p in spread.times)
    return [_made(spread, time, unit, _mask(spread.slices), code, steps - 1, TIME_MAJOR)]


def _code(slices: list[Place], wanted: int) -> tuple[int, int]:
    """The masked slice id and the index of the largest value of the Slice digits that is not above `wanted`."""
    code = reached = 0
    for place in slices:
        digit = min(place.size - 1, (wanted - reached) // place.stride)
        code, reached = code + digit * place.low, reached + digit * place.stride
    return code, reached


def _mask(slices: list[Place]) -> int:
    return sum((p.size - 1) * p.low for p in slices)


def _made(
    spread: Spread, time: Mapping, unit: int, slice_mask: int, slice_thres: int, time_thres: int, mode: str
) -> Settings:
    return {
        "entries": _entries(spread, time, unit),
        "slice_mask": slice_mask,
        "slice_thres": slice_thres,
        "time_thres": time_thres,
        "mode": mode,
    }


def _entries(spread: Spread, time: Mapping, unit: int) -> list[str]:
    """How a sequencer rebuilds the index from the time step: `size:stride`, outermost first, 0 for other axes."""
    if not spread.times:
        return []
    out: list[tuple[int, int]] = []
    outer = time.size
    for place in sorted(spread.times, key=lambda p: -p.low):
        out += [(outer // (place.low * place.size), 0), (place.size, place.stride // unit)]
        outer = place.low
    return [f"{size}:{stride}" for size, stride in _merged([*out, (outer, 0)])]


def _merged(entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for size, stride in entries:
        if size == 1:
            continue
        if out and out[-1][1] == size * stride:
            out[-1] = (out[-1][0] * size, stride)
        else:
            out.append((size, stride))
    return out
