"""Broadcast slots of the output Slice: what may stand in a place that a moved digit leaves (domain: section 5)."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from models.faults import Finding
from models.layout import Stream
from models.mapping import Mapping, Padding, axis_names, text
from planner.engines.switch_bits import Bit, Lowered, lowered, new_padded_axis
from planner.engines.switch_routing import NEW, PADDED

Ranges = dict[Mapping, list[tuple[int, int]]]


def lowered_input(stream: Stream) -> Lowered:
    """The stream's mappings, resolved together."""
    return lowered(stream.slice, stream.time, stream.packet, stream.chip, stream.cluster)


def lowered_output(stream: Stream, out_slice: Mapping, out_time: Mapping) -> Lowered:
    """The same for what leaves the ring."""
    return lowered(out_slice, out_time, stream.packet, stream.chip, stream.cluster)


def held_names(stream: Stream) -> frozenset[str]:
    """Axes that the input holds anywhere."""
    return frozenset().union(
        *(axis_names(e) for e in (stream.chip, stream.cluster, stream.slice, stream.time, stream.packet))
    )


def slot_source(bit: Bit) -> int:
    """What an output bit that no input bit feeds listens to."""
    return PADDED if bit.kind is not None else NEW


@lru_cache(maxsize=1024)
def slot_findings(out_slice: Mapping, slots: tuple[Bit, ...], stream: Stream) -> tuple[Finding, ...]:
    """Checks the bits in broadcast slots: new, used once, not padded, and no promise of zeros.

    What would be legal in their place is the caller's to say.
    """
    out = [*_carried(slots, stream), *_twice(slots)]
    padded = new_padded_axis(out_slice, held_names(stream))
    if padded is not None:
        out.append(
            Finding(
                "broadcast_padded",
                f"the broadcast axis in `{text(padded)}` is padded, so its padded slices have no route",
                text(padded),
                f"`{text(padded.inner)}` without padding, or `1 # {padded.n}`",
            )
        )
    if any(bit.kind is Padding.ZERO for bit in slots):
        out.append(
            Finding(
                "slot_promises_zeros",
                "a broadcast slot promises zeros, but its padded slices listen to nothing",
                text(out_slice),
                "`1 # n`",
            )
        )
    return tuple(out)


def _carried(slots: tuple[Bit, ...], stream: Stream) -> list[Finding]:
    if all(bit.base is None for bit in slots):
        return []
    occupied = lowered_input(stream).occupied()
    places = {
        "Slice": stream.slice, "Time": stream.time, "Packet": stream.packet,
        "Chip": stream.chip, "Cluster": stream.cluster,
    }  # fmt: skip
    out: list[Finding] = []
    seen: set[Mapping] = set()
    for bit in slots:
        if bit.base is None or bit.base in seen or not _overlaps(bit, occupied):
            continue
        seen.add(bit.base)
        names = axis_names(bit.base)
        where = next((f"{n} `{text(e)}`" for n, e in places.items() if names & axis_names(e)), "input")
        out.append(
            Finding(
                "broadcast_not_new",
                f"`{text(bit.base)}` cannot fill a slice position: the input carries it in its {where}",
                text(bit.base),
                "a new axis, a number or `1 # n`",
            )
        )
    return out


def _overlaps(bit: Bit, occupied: Ranges) -> bool:
    assert bit.base is not None
    if bit.base in occupied:
        return any(low < 2 * bit.stride and bit.stride < high for low, high in occupied[bit.base])
    names = axis_names(bit.base)
    return any(names & axis_names(base) for base in occupied)


def _twice(slots: tuple[Bit, ...]) -> list[Finding]:
    by_base: dict[Mapping, list[int]] = {}
    for bit in slots:
        if bit.base is not None:
            by_base.setdefault(bit.base, []).append(bit.stride)
    return [
        used_twice(base)
        for base, strides in by_base.items()
        if any(high < 2 * low for low, high in pairwise(sorted(strides)))
    ]


def used_twice(base: Mapping) -> Finding:
    """The finding for a digit that fills two slice positions."""
    return Finding(
        "broadcast_used_more_than_once",
        f"a digit of `{text(base)}` stands at two places of the output Slice",
        text(base),
        "each digit once",
    )
