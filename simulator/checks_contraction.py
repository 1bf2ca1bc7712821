"""Contractions once more: operands, packets, broadcasts, the TRF's walk, what is summed (domain: section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.mapping import terms
from models.plan import MemoryEntry, Stage
from simulator.checks_cells import (
    Found,
    alike,
    digits,
    followed,
    grouped,
    live_positions,
    read_positions,
    travelling_bits,
    unheld,
)
from simulator.engines.contraction import time_groups
from simulator.engines.walks import entry_walk, merged, run_elements
from simulator.facts import Facts, Place
from simulator.memories import Walk, walk_offsets

_FAMILY = {"i4": "i5", "i5": "i5", "i8": "i9", "i9": "i9", "f8e4m3": "f8e4m3", "f8e5m2": "f8e5m2", "bf16": "bf16"}
_LEVELS = ("chip", "cluster", "slice")
_SEQUENTIAL = "sequential"

Operand = tuple[Place, Stage, MemoryEntry]


def _outer(facts: Facts) -> Iterator[Operand]:
    """Every contract_outer with the stage before it and its TRF operand."""
    for place in followed(facts, "contract_outer"):
        entry = place.entry("with")
        if entry is not None and place.before is not None:
            yield place, place.before, entry


def multiplier_operands(facts: Facts) -> Found:
    """Stream and TRF tensor are of one family."""
    for place, before, entry in _outer(facts):
        if _FAMILY.get(before.dtype) is None or _FAMILY.get(before.dtype) != _FAMILY.get(entry.dtype):
            yield place.broken("these types do not multiply", f"{before.dtype} x {entry.dtype}", "one family")


def operand_split(facts: Facts) -> Found:
    """Register operands are split over the units as the stream is."""
    held = [(place, before, entry) for place, before, entry in _outer(facts)]
    for place in followed(facts, "vector"):
        operands = [place.run.entry(n) for n in register_names(place)]
        held += [(place, place.before, e) for e in operands if e is not None and place.before is not None]
    for place, before, entry in held:
        for level in _LEVELS:
            stream, own = getattr(before, level), getattr(entry, level)
            if not alike(place.layouts, own, stream):
                yield place.broken(f"`{entry.tensor}` is split over another {level} than the stream", own, stream)


def register_names(place: Place) -> list[str]:
    """Tensors of the VRF that a vector op reads."""
    settings = place.stage.settings
    guards = settings.get("guards") or ()
    found = [settings.get("operand"), *(settings.get("operands") or ()), *(g.get("rf") for g in guards)]
    return [str(name) for name in found if isinstance(name, str) and name != "stash"]


# The packet and Time of the outer product -----------------------------------------------------------------


def _pack(place: Place, before: Stage) -> int:
    """Flits in a packet; 0 where they do not fit."""
    given, packet = place.size(before.packet), place.size(place.stage.packet)
    return 0 if packet % given else packet // given


def contract_packet_flits(facts: Facts) -> Found:
    """One flit or two, before the outer product and before the tree."""
    most, flit = facts.plan.hardware.contraction.max_packet_flits, facts.plan.hardware.geometry.flit_bytes
    for place in followed(facts, "contract_outer"):
        assert place.before is not None
        flits = place.size(place.stage.packet) * travelling_bits(place.before.dtype) / (8 * flit)
        if flits not in range(1, most + 1):
            yield place.broken("the packet has no whole flit or too many", flits, f"1 to {most}")


def flit_mismatch(facts: Facts) -> Found:
    """The inner flit is the stream's packet."""
    for place, before, _ in _outer(facts):
        pack = _pack(place, before)
        inner = f"{grouped(place.stage.packet)} % {place.size(before.packet)}"
        if not pack or not alike(place.layouts, inner, before.packet):
            yield place.broken("the inner flit is not the stream's packet", place.stage.packet, before.packet)


def packed_time_mismatch(facts: Facts) -> Found:
    """The second flit comes from the innermost factor of Time."""
    for place, before, _ in _outer(facts):
        pack, steps = _pack(place, before), place.size(before.time)
        if pack < 2:
            continue
        second, wanted = (
            f"{grouped(place.stage.packet)} / {place.size(before.packet)}",
            f"{grouped(before.time)} % {pack}",
        )
        if steps % pack or not alike(place.layouts, second, wanted):
            yield place.broken("the second flit is not the innermost factor of Time", place.stage.packet, before.time)


def _outer_time(place: Place, before: Stage) -> tuple[str, int] | None:
    """Time of the packed stream and how often each step is repeated; None where the sizes do not fit."""
    pack, steps, out = _pack(place, before), place.size(before.time), place.size(place.stage.time)
    if not pack or steps % pack or out % (steps // pack):
        return None
    return (f"{grouped(before.time)} / {pack}" if pack > 1 else before.time), out // (steps // pack)


def contract_time_out(facts: Facts) -> Found:
    """The stream's Time, broadcasts innermost."""
    for place, before, _ in _outer(facts):
        outer = _outer_time(place, before)
        if outer is None:
            yield place.broken("Time does not repeat the stream's steps", place.stage.time, before.time)
            continue
        time, repeats = outer
        if not alike(place.layouts, f"{grouped(place.stage.time)} / {repeats}", time):
            yield place.broken("Time is not the stream's with broadcasts innermost", place.stage.time, time)


def contract_broadcast(facts: Facts) -> Found:
    """Time repeats for axes that the TRF holds and the stream lacks, or for nobody in particular."""
    for place, before, entry in _outer(facts):
        outer = _outer_time(place, before)
        if outer is None:
            continue
        layouts, below, inner = place.layouts, 1, []
        for term in reversed(terms(layouts.mapping(place.stage.time))):
            if below < outer[1]:
                inner.append(term)
            below *= term.size
        held, stream = digits(layouts, entry.lane, entry.element), digits(layouts, before.time, before.packet)
        for digit in (d for term in inner for d in digits(layouts, str(term))):
            if not digit.meets(held) or digit.meets(stream):
                yield place.broken("Time is repeated for an axis that the TRF does not add", digit.text, entry.element)


# The TRF's sequencer --------------------------------------------------------------------------------------


def _walk(place: Place) -> tuple[Walk, Walk]:
    return entry_walk(place.stage.settings, "trf_time"), entry_walk(place.stage.settings, "trf_packet")


def trf_not_addressable(facts: Facts) -> Found:
    """Every cell that Time and Packet name on the operand's own axes is one that it holds."""
    for place, _, entry in _outer(facts):
        asked = (entry.lane, place.stage.time, place.stage.packet)
        if unheld(place.layouts, (entry.lane, entry.element), asked):
            message = f"Time and Packet name cells that `{entry.tensor}` does not hold"
            yield place.broken(message, f"{place.stage.time}, {place.stage.packet}", entry.element)


def trf_packet_not_readable(facts: Facts) -> Found:
    """One read, and beyond it a broadcast."""
    for place, _, _entry in _outer(facts):
        packet = merged(_walk(place)[1])
        rest = packet[:-1] if packet and packet[-1][1] == 1 else packet
        if any(stride for _, stride in rest):
            yield place.broken("the packet is more than one TRF read and a broadcast", packet, "neighbours, repeated")


def trf_wide_alignment(facts: Facts) -> Found:
    """Reads over 32 bytes step by 64."""
    trf = facts.plan.hardware.trf
    for place, _, entry in _outer(facts):
        time, packet = _walk(place)
        bits = travelling_bits(entry.dtype)
        if run_elements(packet) * bits <= 8 * trf.narrow_read_bytes or not any(s for _, s in packet):
            continue
        odd = [s for n, s in time if n > 1 and s * bits % (8 * trf.wide_read_bytes)]
        if odd:
            yield place.broken("a wide TRF read is not aligned", f"{odd[0] * bits // 8} bytes", trf.wide_read_bytes)


def trf_cell_unread(facts: Facts) -> Found:
    """The whole operand is read."""
    for place, _, entry in _outer(facts):
        time, packet = _walk(place)
        seen = read_positions(walk_offsets((*time, *packet)), place.size(entry.element))
        left = live_positions(place.layouts, entry.element)
        left = left[~seen[left]]
        if len(left):
            message = f"{len(left)} live elements of a lane of `{entry.tensor}` are not read"
            yield place.broken(message, f"first at {int(left[0])}", "every live element")


def lane_in_stream(facts: Facts) -> Found:
    """Lanes hold what the stream lacks."""
    for place, before, entry in _outer(facts):
        both = [
            d.text
            for d in digits(place.layouts, entry.lane)
            if d.meets(digits(place.layouts, before.time, before.packet))
        ]
        if both:
            yield place.broken("a digit of the lanes stands in the stream", ", ".join(both), "digits it lacks")


# What is summed -------------------------------------------------------------------------------------------


def contract_packet_power(facts: Facts) -> Found:
    """A power of two of columns."""
    for place in followed(facts, "contract_packet"):
        columns = place.size(place.stage.packet)
        if columns & (columns - 1):
            yield place.broken("the columns of a packet are no power of two", columns, "a power of two")


def contract_packet_columns(facts: Facts) -> Found:
    """At most as many columns as the accumulator has."""
    most = facts.plan.hardware.contraction.accumulator_columns
    for place in followed(facts, "contract_packet"):
        if (columns := place.size(place.stage.packet)) > most:
            yield place.broken("too many columns are left of a packet", columns, f"at most {most}")


def contract_packet_mismatch(facts: Facts) -> Found:
    """Packet / 2^d, padding alone beyond its columns."""
    for place in followed(facts, "contract_packet"):
        assert place.before is not None
        before, columns = place.before.packet, place.size(place.stage.packet)
        if not any(_is_tree(place, before, columns, depth) for depth in _depths(place, columns)):
            yield place.broken("what is left of a packet is not the packet over a tree", place.stage.packet, before)


def _depths(place: Place, columns: int) -> list[int]:
    assert place.before is not None
    stated = place.stage.settings.get("tree_depth")
    given = place.size(place.before.packet)
    legal = [d for d in range(given.bit_length()) if given % (1 << d) == 0 and given >> d >= columns]
    return legal if stated is None else [d for d in legal if d == int(stated)]


def _is_tree(place: Place, packet: str, columns: int, depth: int) -> bool:
    """Whether the stage's packet is the leading part of packet / 2^depth, with nothing live behind it."""
    reduced = f"{grouped(packet)} / {1 << depth}"
    live = live_positions(place.layouts, packet)
    inside = len(live) == 0 or int(live[-1]) < columns << depth
    return inside and alike(place.layouts, place.stage.packet, f"[{reduced}] = {columns}")


def contract_time_mismatch(facts: Facts) -> Found:
    """The factors that survive keep their order, and nothing new comes in."""
    for place in followed(facts, "contract_time"):
        assert place.before is not None
        group, live = time_groups(place.run, place.before.time, place.stage.time)
        fed, first = np.unique(group[group >= 0], return_index=True)
        whole = np.isin(np.flatnonzero(live), fed).all()
        if not whole or (np.diff(first) < 0).any() or not _survives(place, group):
            yield place.broken(
                "Time is not the Time before without summed factors", place.stage.time, place.before.time
            )


def _survives(place: Place, group: NDArray[np.int64]) -> bool:
    """Whether every step of the input gives the cell of the output step that it falls on, on the output's axes."""
    assert place.before is not None
    before, after = place.layouts.inner(place.before.time), place.layouts.inner(place.stage.time)
    first = np.unique(group, return_index=True)
    for axis in after.index:
        if axis not in before.index:
            return False
        steps = first[1][first[0] >= 0]
        mine = np.broadcast_to(after.index[axis], after.kind.shape)[group[steps]]
        if (mine != np.broadcast_to(before.index[axis], before.kind.shape)[steps])[
            after.kind[group[steps]] == LIVE
        ].any():
            return False
    return True


def _folded(place: Place) -> tuple[str, str] | None:
    """Time and packet behind the lane folder."""
    outer = next((s for s in place.stages if s.step == "contract_outer"), None)
    entry = None if outer is None else place.run.entry(str(outer.settings["with"]))
    if entry is None or place.before is None:
        return None
    most, before, lane = place.hardware.contraction.out_columns, place.before, grouped(entry.lane)
    if place.stage.settings["mode"] != _SEQUENTIAL:
        lanes = max(most, place.size(entry.lane))
        return f"{grouped(before.time)}, {grouped(before.packet)}", f"{lane} # {lanes}"
    wide = -(-place.size(before.packet) // most) * most
    padded = f"[{grouped(before.packet)} # {wide}]"
    return f"{grouped(before.time)}, {lane}, {padded} / {most}", f"{padded} % {most}"


def contract_lane_time(facts: Facts) -> Found:
    """[Time, Packet], or [Time, Lane, PadPacket / 8]."""
    for place in followed(facts, "contract_lane"):
        wanted = _folded(place)
        if wanted is not None and not alike(place.layouts, place.stage.time, wanted[0]):
            yield place.broken("Time behind the lane folder is another one", place.stage.time, wanted[0])


def contract_lane_packet(facts: Facts) -> Found:
    """Lane # 8, or PadPacket % 8."""
    for place in followed(facts, "contract_lane"):
        wanted = _folded(place)
        if wanted is not None and not alike(place.layouts, place.stage.packet, wanted[1]):
            yield place.broken("the packet behind the lane folder is another one", place.stage.packet, wanted[1])


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "multiplier_operands": multiplier_operands,
    "operand_split": operand_split,
    "contract_packet_flits": contract_packet_flits,
    "flit_mismatch": flit_mismatch,
    "packed_time_mismatch": packed_time_mismatch,
    "contract_time_out": contract_time_out,
    "contract_broadcast": contract_broadcast,
    "trf_not_addressable": trf_not_addressable,
    "trf_packet_not_readable": trf_packet_not_readable,
    "trf_wide_alignment": trf_wide_alignment,
    "trf_cell_unread": trf_cell_unread,
    "lane_in_stream": lane_in_stream,
    "contract_packet_power": contract_packet_power,
    "contract_packet_columns": contract_packet_columns,
    "contract_packet_mismatch": contract_packet_mismatch,
    "contract_time_mismatch": contract_time_mismatch,
    "contract_lane_time": contract_lane_time,
    "contract_lane_packet": contract_lane_packet,
}
