"""Axis lifting in place of a switch: slices that hold copies read at offsets of their own (domain: section 4)."""

from __future__ import annotations

from models.digits import Digit, Free
from models.layout import Stream
from models.mapping import Mapping
from planner.engines.switch_bits import Bit
from planner.engines.switch_content import live_ranges, natural_time
from planner.engines.switch_slots import lowered_input, lowered_output


def lifted_time(stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> Mapping | None:
    """The Time to fetch if a fetch alone is to reach `out_slice`: the input's without the digits that Slice takes.

    None where it cannot: a slice whose digit changes must hold copies now, and the digit must stand in Time, so that
    every destination already holds the region it reads. A stated `out_time` may have its digits in any order.
    """
    if out_slice.size != stream.slice.size:
        return None
    held, out = lowered_input(stream), lowered_output(stream, out_slice, stream.time)
    changed = [(h, b) for h, b in zip(held.slice, out.slice, strict=True) if h != b]
    if not changed or any(not _liftable(h, b, held.time) for h, b in changed):
        return None
    left = natural_time(stream, out_slice)
    if left is None or out_time is None:
        return left
    return out_time if _digits(stream, out_slice, out_time) == _digits(stream, out_slice, left) else None


def _liftable(held: Bit, wanted: Bit, time: tuple[Digit | Free, ...]) -> bool:
    copies = held.base is None and held.kind is None
    return copies and wanted.base is not None and any(_reads(f, wanted) for f in time)


def _reads(factor: Digit | Free, bit: Bit) -> bool:
    if not isinstance(factor, Digit) or factor.base != bit.base:
        return False
    return factor.stride <= bit.stride < factor.stride * factor.size


def _digits(stream: Stream, out_slice: Mapping, time: Mapping) -> object:
    return live_ranges(lowered_output(stream, out_slice, time).time)
