"""Collect, register stores, casts and commits once more, their mappings by enumeration (domain: sections 4 and 6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.dtypes import DTYPES
from models.plan import MemoryEntry
from simulator.checks_cells import (
    ZERO,
    Found,
    alike,
    broken_promise,
    flit_elements,
    followed,
    grouped,
    places_at,
    travelling_bits,
    unheld,
)
from simulator.checks_fetch import buffers, stream_kinds, touched, unmoved
from simulator.engines.walks import entry_walk, run_elements
from simulator.facts import Broken, Facts, Place

_TRF_TYPES = ("i4", "i5", "i8", "i9", "f8e4m3", "f8e5m2", "bf16")
_VRF_TYPES = ("i32", "f32")


def _collected(place: Place) -> tuple[str, str]:
    """Time and packet that a collect gives."""
    assert place.before is not None
    per_flit = flit_elements(place, place.before.dtype)
    flits = -(-place.size(place.before.packet) // per_flit)
    padded = f"[{grouped(place.before.packet)} # {flits * per_flit}]"
    time = f"{grouped(place.before.time)}, {padded} / {per_flit}" if flits > 1 else place.before.time
    return time, f"{padded} % {per_flit}"


def collect_time_mismatch(facts: Facts) -> Found:
    """[Time, flits of a packet]."""
    for place in followed(facts, "collect"):
        time, _ = _collected(place)
        if not alike(place.layouts, place.stage.time, time):
            yield place.broken("Time after collect is another one", place.stage.time, time)


def collect_packet_mismatch(facts: Facts) -> Found:
    """The inner flit of the padded packet."""
    for place in followed(facts, "collect"):
        _, packet = _collected(place)
        if place.size(place.stage.packet) == place.size(packet) and not alike(
            place.layouts, place.stage.packet, packet
        ):
            yield place.broken("the packet after collect is another one", place.stage.packet, packet)


def output_not_one_flit(facts: Facts) -> Found:
    """32 bytes leave a collect."""
    for place in followed(facts, "collect"):
        bits = place.size(place.stage.packet) * travelling_bits(place.stage.dtype)
        if bits != 8 * place.flit_bytes:
            yield place.broken(
                "the packet after collect is not one flit", f"{bits / 8} bytes", f"{place.flit_bytes} bytes"
            )


# Register files -------------------------------------------------------------------------------------------


def _lanes(place: Place) -> int:
    return place.size(str(place.stage.settings.get("lane") or "1"))


def lane_size(facts: Facts) -> Found:
    """1, 2, 4 or 8 lanes."""
    most = facts.plan.hardware.geometry.lanes_per_slice
    legal = [1 << n for n in range(most.bit_length())]
    for place in places_at(facts, "to_trf"):
        if _lanes(place) not in legal or int(place.stage.settings.get("lanes", _lanes(place))) not in legal:
            yield place.broken("Lane has another size", place.stage.settings.get("lanes"), ", ".join(map(str, legal)))


def lane_mismatch(facts: Facts) -> Found:
    """Lane is the outer part of Time."""
    for place in places_at(facts, "to_trf"):
        lane, time, lanes = str(place.stage.settings["lane"]), place.stage.time, _lanes(place)
        steps = place.size(time)
        wanted = f"{grouped(time)} / {steps // lanes}"
        if steps % lanes or not alike(place.layouts, lane, wanted):
            yield place.broken("Lane is not the outer part of Time", lane, wanted)


def element_mismatch(facts: Facts) -> Found:
    """[Time % FlitsPerLane, Packet] in the TRF, [Time, Packet] in the VRF."""
    for place in places_at(facts, "to_trf", "to_vrf"):
        element, wanted = str(place.stage.settings["element"]), _stored(place)
        if wanted is not None and not alike(place.layouts, element, wanted):
            yield place.broken("Element is not what leaves Time and Packet", element, wanted)


def _stored(place: Place) -> str | None:
    """The element that a store makes; None where the lanes do not divide Time."""
    time, lanes, steps = place.stage.time, _lanes(place), place.size(place.stage.time)
    if place.stage.step == "to_trf" and steps % lanes:
        return None
    inner = f"{grouped(time)} % {steps // lanes}" if place.stage.step == "to_trf" else time
    return f"{inner}, {grouped(place.stage.packet)}"


def register_padding_kind(facts: Facts) -> Found:
    """Zeros are promised where the stream has them."""
    for place in places_at(facts, "to_trf", "to_vrf"):
        element, wanted = str(place.stage.settings["element"]), _stored(place)
        if wanted is not None and broken_promise(place.layouts, element, wanted):
            yield place.broken("the register promises zeros that the stream lacks", element, wanted)


def stored_types(step: str, legal: tuple[str, ...]) -> Callable[[Facts], Found]:
    """Types that a register file holds."""

    def check(facts: Facts) -> Found:
        for place in places_at(facts, step):
            if place.stage.dtype not in legal:
                yield place.broken(f"`{step}` stores no {place.stage.dtype}", place.stage.dtype, ", ".join(legal))

    return check


def exceeds_capacity(facts: Facts) -> Found:
    """A tensor fits its memory, whatever else is there."""
    hardware = facts.plan.hardware
    room = {"vrf": hardware.vrf.bytes_per_slice, "dm": hardware.dm.bytes_per_slice}
    for entry in facts.plan.memory:
        if entry.file == "trf":
            rows = rows_taken(facts, entry)
            most = hardware.trf.rows_per_bank // (1 if entry.region in ("full", None) else 2)
            needs, unit = rows, "rows"
        else:
            needs = DTYPES[entry.dtype].size_bytes(facts.bench.layouts.size(entry.element))
            most, unit = room[entry.file], "bytes"
        if needs > most:
            writer = next((a.op.name for a in facts.writers.get(entry.tensor, ())), "")
            message = f"`{entry.tensor}` does not fit the {entry.file.upper()} of a slice"
            yield Broken(message, writer, f"{needs} {unit}", f"at most {most}")


def rows_taken(facts: Facts, entry: MemoryEntry) -> int:
    """Physical rows per bank: flits alternate banks, and fewer lanes see the rows of their neighbours."""
    geometry, trf = facts.plan.hardware.geometry, facts.plan.hardware.trf
    layouts = facts.bench.layouts
    flits = -(-layouts.size(entry.element) * travelling_bits(entry.dtype) // (8 * geometry.flit_bytes))
    logical = -(-flits // trf.banks)
    return -(-logical * layouts.size(entry.lane) // geometry.lanes_per_slice)


def short_not_contiguous(facts: Facts) -> Found:
    """A short store reads one gapless run and passes fetch and collect alone."""
    for place in places_at(facts, "to_trf", "to_vrf"):
        if place.stage.settings.get("via") != "short":
            continue
        others = [s.step for s in place.stages[:-1] if s.step not in ("fetch", "collect")]
        fetch = place.stages[0].settings
        walk = (*entry_walk(fetch, "time"), *entry_walk(fetch, "packet"))
        steps = int(np.prod([size for size, _ in walk], dtype=np.int64))
        if others or run_elements(walk) != steps:
            yield place.broken(
                "a short store wants a contiguous access and nothing else", others or walk, "fetch, collect"
            )


# Cast and commit ------------------------------------------------------------------------------------------


def cast_packet_mismatch(facts: Facts) -> Found:
    """The packet padded to one flit."""
    for place in followed(facts, "cast"):
        assert place.before is not None
        elements = flit_elements(place, place.stage.dtype)
        wanted = f"{grouped(place.before.packet)} # {max(elements, place.size(place.before.packet))}"
        if not alike(place.layouts, place.stage.packet, wanted):
            yield place.broken("the packet after a cast is another one", place.stage.packet, wanted)


def commit_trim_mismatch(facts: Facts) -> Found:
    """The leading elements of a flit, as many as the trim has bytes."""
    for place in followed(facts, "commit"):
        assert place.before is not None
        kept, given = place.size(place.stage.packet), place.size(place.before.packet)
        wanted = f"{grouped(place.before.packet)} = {min(kept, given)}"
        if kept > given or not alike(place.layouts, place.stage.packet, wanted):
            yield place.broken("a trim keeps the leading elements", place.stage.packet, wanted)
        trim, bits = int(place.stage.settings["trim_bytes"]), kept * DTYPES[place.before.dtype].bits
        if trim * 8 != bits:
            yield place.broken("the trimmed packet has another width than the trim", trim, bits / 8)


def commit_slice_mismatch(facts: Facts) -> Found:
    """A commit writes the Slice that the stream has, and so does the buffer's."""
    for place in followed(facts, "commit"):
        assert place.before is not None
        entry = place.entry("write")
        held = {"stream": place.before.slice} | ({"buffer": entry.slice} if entry else {})
        for what, slices in held.items():
            if not alike(place.layouts, place.stage.slice, slices):
                yield place.broken(f"the commit writes another Slice than the {what} has", place.stage.slice, slices)


def commit_not_addressable(facts: Facts) -> Found:
    """Time and Packet name digits that the destination holds."""
    for place in places_at(facts, "commit"):
        for name, entry in buffers(place):
            if unheld(place.layouts, (entry.element,), (place.stage.time, place.stage.packet)):
                message = f"Time and Packet name cells that `{name}` does not hold"
                yield place.broken(message, f"{place.stage.time}, {place.stage.packet}", entry.element)


def commit_padding_kind(facts: Facts) -> Found:
    """Zeros are promised where the stream has them."""
    for place in places_at(facts, "commit"):
        offsets = touched(place)
        for name, entry in buffers(place):
            zeros = np.asarray(place.layouts.inner(entry.element).kind == ZERO)
            kinds = stream_kinds(place, offsets.shape)
            if not zeros.any() or kinds.shape != offsets.shape or offsets.max() >= len(zeros):
                continue
            if (zeros[offsets] & (kinds != ZERO)).any():
                yield place.broken(f"`{name}` promises zeros that the stream lacks", entry.element, place.stage.packet)


def commit_stride(facts: Facts) -> Found:
    """Writes begin 8 bytes apart, and hold multiples of 8 bytes where a packet is written in parts."""
    unit = facts.plan.hardware.dm.alignment_bytes
    for place in places_at(facts, "commit"):
        bits = DTYPES[place.stage.dtype].bits
        packet = [e for e in entry_walk(place.stage.settings, "packet") if e[0] > 1]
        parts = [e for e in packet if e[1] != 1] if packet else []
        for size, stride in (*entry_walk(place.stage.settings, "time"), *parts):
            if size > 1 and stride * bits % (8 * unit):
                message = f"a stride is no multiple of {unit} bytes"
                yield place.broken(message, f"{stride * bits / 8} bytes", f"a multiple of {unit}")


def live_cell_unwritten(facts: Facts) -> Found:
    """A commit writes its whole view."""
    return unmoved(facts, "commit")


def cell_written_twice(facts: Facts) -> Found:
    """No element is named twice by the walk."""
    for place in places_at(facts, "commit"):
        offsets = touched(place).ravel()
        count = int(np.count_nonzero(np.bincount(offsets) > 1)) if offsets.max() < 1 << 24 else 0
        if count:
            yield place.broken("the walk writes one place more than once", count, 0)


def commit_past_end(facts: Facts) -> Found:
    """The whole trimmed packet lies inside of the buffer."""
    for place in places_at(facts, "commit"):
        offsets = touched(place)
        beyond = max(0, place.size(place.stage.packet) - offsets.shape[1])
        for name, entry in buffers(place):
            last, size = int(offsets.max()) + beyond, place.size(entry.element)
            if last >= size:
                yield place.broken(f"the commit writes past the end of `{name}`", last, f"below {size}")


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "collect_time_mismatch": collect_time_mismatch,
    "collect_packet_mismatch": collect_packet_mismatch,
    "output_not_one_flit": output_not_one_flit,
    "lane_size": lane_size,
    "lane_mismatch": lane_mismatch,
    "element_mismatch": element_mismatch,
    "register_padding_kind": register_padding_kind,
    "trf_dtype": stored_types("to_trf", _TRF_TYPES),
    "vrf_dtype": stored_types("to_vrf", _VRF_TYPES),
    "exceeds_capacity": exceeds_capacity,
    "short_not_contiguous": short_not_contiguous,
    "cast_packet_mismatch": cast_packet_mismatch,
    "commit_trim_mismatch": commit_trim_mismatch,
    "commit_slice_mismatch": commit_slice_mismatch,
    "commit_not_addressable": commit_not_addressable,
    "commit_padding_kind": commit_padding_kind,
    "commit_stride": commit_stride,
    "live_cell_unwritten": live_cell_unwritten,
    "cell_written_twice": cell_written_twice,
    "commit_past_end": commit_past_end,
}
