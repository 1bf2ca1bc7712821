"""Fetch and its sequencer once more: placement, what a walk reads, widths of reads (domain: sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells
from models.dtypes import DTYPES
from models.mapping import axis_names, terms
from models.plan import MemoryEntry
from simulator.bench import spatial
from simulator.checks_cells import (
    BOTTOM,
    ZERO,
    Found,
    alike,
    digits,
    flit_elements,
    places_at,
    read_positions,
    travelling_bits,
    unheld,
)
from simulator.engines.walks import entry_walk, factors, merged, run_elements
from simulator.facts import Facts, Place
from simulator.layouts import Layouts
from simulator.linear import digit_of, evaluate
from simulator.memories import walk_offsets
from simulator.values import Bits

Ints = NDArray[np.int64]


def zero_point_without_contraction(facts: Facts) -> Found:
    """A staged i5 or i9 stream multiplies behind the collect, or nothing can take it."""
    for place in places_at(facts, "fetch_zero_point_sub"):
        after = [s.step for s in place.stages[place.at + 1 :] if s.step not in ("switch", "collect")]
        if after[:1] != ["contract_outer"]:
            message = "a zero-point subtraction is for a contraction alone"
            yield place.broken(message, after[0] if after else "nothing", "contract_outer")


def _walked(facts: Facts) -> Found:
    sequencer = facts.plan.hardware.sequencer
    for place in places_at(facts, "fetch", "commit"):
        settings = place.stage.settings
        entries = merged((*entry_walk(settings, "time"), *entry_walk(settings, "packet")))
        needed = [factors(size, sequencer.max_entry_size) for size, _ in entries]
        if None in needed:
            largest = max(size for size, _ in entries)
            message = f"an entry of `{place.stage.step}` cannot be split into factors that fit"
            yield place.broken(message, largest, f"at most {sequencer.max_entry_size}", "sequencer_entry_size")
        count = sum(len(n or (1,)) for n in needed)
        if count > sequencer.entries:
            message = f"`{place.stage.step}` needs too many sequencer entries"
            yield place.broken(message, count, f"at most {sequencer.entries}", "sequencer_entries")


def sequencer_entries(facts: Facts) -> Found:
    """Entries of an access, large ones split."""
    return (b for b in _walked(facts) if b.rule == "sequencer_entries")


def sequencer_entry_size(facts: Facts) -> Found:
    """Steps of an entry."""
    return (b for b in _walked(facts) if b.rule == "sequencer_entry_size")


def innermost_stride(facts: Facts) -> Found:
    """Neighbouring elements of a packet lie side by side, or are one element repeated."""
    for place in places_at(facts, "fetch", "commit"):
        packet = [entry for entry in entry_walk(place.stage.settings, "packet") if entry[0] > 1]
        if packet and packet[-1][1] not in (0, 1):
            message = f"the innermost stride of `{place.stage.step}` is neither 0 nor 1"
            yield place.broken(message, packet[-1][1], "0 or 1")


def packet_alignment(facts: Facts) -> Found:
    """Packets that enter Switch or Collect."""
    unit = facts.plan.hardware.fetch.packet_alignment_bytes
    for place in places_at(facts, "switch", "collect"):
        if place.before is not None and place.before.step != "switch":
            bits = travelling_bits(place.before.dtype) * place.size(place.before.packet)
            if bits % (8 * unit):
                message = f"the packet is no multiple of {unit} bytes"
                yield place.broken(message, f"{bits / 8} bytes", f"a multiple of {unit}")


# What a walk touches --------------------------------------------------------------------------------------


def touched(place: Place) -> Ints:
    """Elements of a slice's buffer that a fetch or commit touches, [Time, Packet], from the tile's start on."""
    settings = place.stage.settings
    time, packet = entry_walk(settings, "time"), entry_walk(settings, "packet")
    base = place.run.base_elements(settings.get("base"))
    return (walk_offsets((*time, *packet)) + base).reshape(prod(n for n, _ in time), -1)


def buffers(place: Place) -> list[tuple[str, MemoryEntry]]:
    """The buffers in data memory that a fetch reads or a commit writes."""
    names = place.stage.settings.get("reads") or [place.stage.settings.get("write")]
    found = [(str(name), place.run.entry(str(name))) for name in names]
    return [(name, entry) for name, entry in found if entry is not None]


def kinds_of(place: Place, entry: MemoryEntry) -> NDArray[np.int8]:
    """Kinds of a buffer's positions, [units or 1, elements]."""
    identity = place.layouts.identity(spatial(entry), (entry.element,))
    return np.broadcast_to(identity.kind, (identity.kind.shape[0], place.size(entry.element)))


def live_view(place: Place, name: str, entry: MemoryEntry) -> tuple[Bits, Bits]:
    """Positions where some unit holds a cell, and those of them in the tile that the operation takes."""
    live = kinds_of(place, entry) == LIVE
    tile = place.run.tile_place(name)
    if tile is None:
        held = live.any(axis=0)
        return held, held
    digit, start = digit_of(tile.tile), evaluate(tile.start, place.op.iteration)
    identity = place.layouts.identity(spatial(entry), (entry.element,))
    at = digit.value(identity.total(digit.axis))
    inside = (at >= start) & (at < start + tile.length)
    return live.any(axis=0), np.asarray((live & inside).any(axis=0))


def starts(place: Place) -> Ints:
    """Where the units of a lifted fetch start in their buffers, in elements."""
    lift = place.stage.settings.get("lift") or {}
    return walk_offsets(tuple((int(size), int(stride)) for level in lift.values() for size, stride in level))


def unmoved(facts: Facts, step: str) -> Found:
    """Live cells of the view that a fetch leaves unread or a commit unwritten; a step of padding moves none."""
    for place in places_at(facts, step):
        offsets = touched(place)
        live = stream_kinds(place, offsets.shape) == LIVE
        offsets = offsets[live] if live.shape == offsets.shape else offsets.ravel()
        if "lift" in place.stage.settings:
            offsets = np.unique(offsets[:, None] + starts(place))
        for name, entry in buffers(place):
            left = live_view(place, name, entry)[1] & ~read_positions(offsets, place.size(entry.element))
            if left.any():
                message = f"`{step}` leaves {int(left.sum())} live elements of `{name}` out"
                yield place.broken(message, f"first at {int(left.argmax())}", "every live element of the view")


def fetch_not_addressable(facts: Facts) -> Found:
    """Time and Packet name digits that the buffer holds, or axes that it lacks."""
    for place in places_at(facts, "fetch"):
        for name, entry in buffers(place)[:1]:
            if unheld(place.layouts, (entry.element,), (place.stage.time, place.stage.packet)):
                message = f"Time and Packet name cells that `{name}` does not hold"
                yield place.broken(message, f"{place.stage.time}, {place.stage.packet}", entry.element)


def live_cell_unread(facts: Facts) -> Found:
    """A fetch reads its whole view."""
    return unmoved(facts, "fetch")


def tile_overrun(facts: Facts) -> Found:
    """A stream of a tile stays inside of it."""
    for place in places_at(facts, "fetch", "commit"):
        tiled = [(name, e) for name, e in buffers(place) if place.run.tile_place(name) is not None]
        offsets = touched(place) if tiled else np.zeros((0, 0), dtype=np.int64)
        for name, entry in tiled:
            live = stream_kinds(place, offsets.shape) == LIVE
            if live.shape != offsets.shape:
                continue
            held, view = live_view(place, name, entry)
            at = offsets[live]
            outside = (held & ~view)[at[at < len(held)]]
            if outside.any():
                message = f"`{place.stage.step}` leaves the tile of `{name}`"
                yield place.broken(message, f"{int(outside.sum())} elements outside", "elements of the tile")


def stream_kinds(place: Place, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Kinds of the stream's positions [Time, Packet], cut to what a walk covers."""
    kinds = place.layouts.inner(place.stage.time, place.stage.packet).kind
    kinds = np.broadcast_to(kinds, (place.size(place.stage.time), place.size(place.stage.packet)))
    return kinds[: shape[0], : shape[1]]


def bottom_padding_touched(facts: Facts) -> Found:
    """Neither a fetch nor a commit goes where `#{!}` stands."""
    for place in places_at(facts, "fetch", "commit"):
        for name, entry in buffers(place):
            bottom = np.asarray(place.layouts.inner(entry.element).kind == BOTTOM)
            if bottom.any() and (bottom & read_positions(touched(place).ravel(), len(bottom))).any():
                yield place.broken(f"`{place.stage.step}` touches bottom padding of `{name}`", name, "no `#{!}`")


def fetch_padding_kind(facts: Facts) -> Found:
    """Zeros are promised where the buffer holds them."""
    for place in places_at(facts, "fetch"):
        offsets = touched(place)
        zeros = stream_kinds(place, offsets.shape) == ZERO
        if not zeros.any() or zeros.shape != offsets.shape:
            continue
        for name, entry in buffers(place):
            kinds = np.asarray(place.layouts.inner(entry.element).kind)
            inside = np.minimum(offsets[zeros], kinds.size - 1)
            if (offsets[zeros] >= kinds.size).any() or (kinds[inside] != ZERO).any():
                yield place.broken(f"the stream promises zeros that `{name}` does not hold", place.stage.packet)


# Placement ------------------------------------------------------------------------------------------------


def fetch_placement(facts: Facts) -> Found:
    """Chip, Cluster and Slice stay, but for broadcast slots that digits of the buffer's element replace."""
    for place in places_at(facts, "fetch"):
        for name, entry in buffers(place)[:1]:
            for level in ("chip", "cluster", "slice"):
                held, stated = getattr(entry, level), getattr(place.stage, level)
                if not alike(place.layouts, held, stated) and not _lifted(place.layouts, held, stated, entry.element):
                    message = f"the fetch moves `{name}` to another {level}"
                    yield place.broken(message, stated, f"{held}, broadcast slots lifted")


def _lifted(layouts: Layouts, held: str, stated: str, element: str) -> bool:
    """Whether digits that the element holds stand in broadcast slots of the level, all else as it was."""
    if layouts.size(held) != layouts.size(stated):
        return False
    slots = _slots(layouts, held)
    here, there = layouts.inner(held), layouts.inner(stated)
    if not np.array_equal(np.asarray(here.kind), np.asarray(there.kind)):
        return False
    if any(_moved(here, there, axis, slots) for axis in here.index.keys() | there.index.keys()):
        return False
    new = [d for d in digits(layouts, stated) if not d.meets(digits(layouts, held))]
    return all(d.meets(digits(layouts, element)) for d in new)


def _slots(layouts: Layouts, held: str) -> Ints:
    """The part of every position that counts broadcast slots, as one number."""
    expr = layouts.mapping(held)
    at, below, out = np.arange(expr.size, dtype=np.int64), expr.size, np.zeros(expr.size, dtype=np.int64)
    for term in terms(expr):
        below //= term.size
        if not axis_names(term):
            out = out * term.size + at // below % term.size
    return out


def _moved(here: Cells, there: Cells, axis: str, slots: Ints) -> bool:
    """Whether an axis changes by anything but what the slots alone decide."""
    zero = np.int64(0)
    change = np.broadcast_to(there.index.get(axis, zero) - here.index.get(axis, zero), slots.shape)
    first = np.zeros(int(slots.max()) + 1, dtype=np.int64)
    first[slots[::-1]] = change[::-1]
    return bool((change != first[slots]).any() or first[0] != 0)


def interleave(facts: Facts) -> Found:
    """Two tensors of one mapping, by an axis of size 2 in Time."""
    for place in places_at(facts, "fetch"):
        found, axis = buffers(place), place.stage.settings.get("interleave")
        if len(place.stage.settings["reads"]) < 2 and axis is None:
            continue
        inside = place.layouts.axes.get(str(axis)) == 2 and str(axis) in axis_names(
            place.layouts.mapping(place.stage.time)
        )
        if len(found) != 2 or not inside:
            yield place.broken("an interleave alternates two tensors by an axis of size 2 in Time", axis, "two tensors")
        elif not _one_mapping(place, found[0][1], found[1][1]):
            yield place.broken(
                "the tensors of an interleave have other mappings", found[1][1].element, found[0][1].element
            )


def _one_mapping(place: Place, one: MemoryEntry, other: MemoryEntry) -> bool:
    levels = ("chip", "cluster", "slice", "element")
    same = all(alike(place.layouts, getattr(one, level), getattr(other, level)) for level in levels)
    return same and one.dtype == other.dtype


# Reads ----------------------------------------------------------------------------------------------------


def read_size(facts: Facts) -> Found:
    """Whole bytes on Main, 8 bytes on Sub."""
    for place in places_at(facts, "fetch"):
        settings = place.stage.settings
        time, packet = entry_walk(settings, "time"), entry_walk(settings, "packet")
        unit = 1 if place.main else place.hardware.fetch.read_bytes_sub
        for name, entry in buffers(place)[:1]:
            access = int(np.gcd(prod(n for n, _ in packet), run_elements((*time, *packet)))) * DTYPES[entry.dtype].bits
            if access % (8 * unit):
                message = f"a contiguous run of `{name}` is no multiple of {unit} bytes"
                yield place.broken(message, f"{access / 8} bytes", f"a multiple of {unit}")


def fetch_cast_over_flit(facts: Facts) -> Found:
    """What a fetch cast makes of one read."""
    for place in places_at(facts, "fetch"):
        after = [s for s in place.stages[place.at + 1 :] if s.step in ("fetch_table_lookup", "fetch_cast")]
        if not after:
            continue
        elements = int(place.stage.settings["read_bytes"]) * 8 // DTYPES[place.stage.dtype].bits
        most = flit_elements(place, after[-1].dtype)
        if elements > most:
            message = f"a read of {elements} elements becomes more than a flit of {after[-1].dtype}"
            yield place.broken(message, elements, f"at most {most}")


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "zero_point_without_contraction": zero_point_without_contraction,
    "sequencer_entries": sequencer_entries,
    "sequencer_entry_size": sequencer_entry_size,
    "innermost_stride": innermost_stride,
    "packet_alignment": packet_alignment,
    "fetch_not_addressable": fetch_not_addressable,
    "live_cell_unread": live_cell_unread,
    "tile_overrun": tile_overrun,
    "bottom_padding_touched": bottom_padding_touched,
    "fetch_padding_kind": fetch_padding_kind,
    "fetch_placement": fetch_placement,
    "interleave": interleave,
    "read_size": read_size,
    "fetch_cast_over_flit": fetch_cast_over_flit,
}
