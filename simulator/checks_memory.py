"""Places in memory: bounds, overlaps, lifetimes, sizes (domain: sections 2 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from models.cells import LIVE
from models.dtypes import DTYPES
from models.mapping import axis_names
from models.plan import MemoryEntry
from simulator.facts import Access, Broken, Facts, places_meet

_LEVELS = ("chip", "cluster", "slice", "lane", "element")
_HALVES = {"full": (0, 2), "first_half": (0, 1), "second_half": (1, 2)}


def _owners(facts: Facts, *files: str) -> list[MemoryEntry]:
    return [e for e in facts.plan.memory if e.file in files and not e.shares]


def life(facts: Facts, entry: MemoryEntry) -> tuple[int, int]:
    """From the start of the first writer to the end of the last user, as the operations stand."""
    writers = facts.writers.get(entry.tensor, [])
    users = [*writers, *facts.readers.get(entry.tensor, [])]
    if not writers:
        return entry.start, entry.end
    return min(a.op.start for a in writers), max(a.op.end for a in users)


def _together(facts: Facts, *files: str) -> Iterator[tuple[MemoryEntry, MemoryEntry]]:
    """Pairs that share a place while both are alive, by the operations or by what the plan states."""
    spans = {}
    for entry in _owners(facts, *files):
        start, end = life(facts, entry)
        spans[entry.tensor] = (min(start, entry.start), max(end, entry.end))
    entries = sorted(_owners(facts, *files), key=lambda e: spans[e.tensor])
    alive: list[MemoryEntry] = []
    for entry in entries:
        alive = [e for e in alive if spans[e.tensor][1] > spans[entry.tensor][0]]
        yield from ((e, entry) for e in alive if e.file == entry.file and places_meet(e, entry))
        alive.append(entry)


def region_overlap(facts: Facts) -> Iterator[Broken]:
    """TRF rows; a tensor in mode full keeps both halves from all others."""
    for one, other in _together(facts, "trf"):
        whole = "full" in (one.region, other.region)
        shared = "the TRF, which one of them has in full," if whole else "TRF rows"
        message = f"`{one.tensor}` and `{other.tensor}` share {shared} while both are alive"
        yield Broken(message, "", f"rows {_rows(one)} and {_rows(other)}", "disjoint rows or lives")


def address_overlap(facts: Facts) -> Iterator[Broken]:
    """Bytes of data memory and of the VRF."""
    for one, other in _together(facts, "dm", "vrf"):
        message = f"`{one.tensor}` and `{other.tensor}` share bytes while both are alive"
        yield Broken(message, "", f"bytes {_bytes(one)} and {_bytes(other)}", "disjoint bytes or lives")


def _rows(entry: MemoryEntry) -> str:
    return f"{entry.row} to {(entry.row or 0) + (entry.rows or 0) - 1}"


def _bytes(entry: MemoryEntry) -> str:
    return f"{entry.address} to {(entry.address or 0) + entry.bytes - 1}"


def region_out_of_bounds(facts: Facts) -> Iterator[Broken]:
    """A TRF tensor lies in its address mode, and its writer chose that mode."""
    rows = facts.plan.hardware.trf.rows_per_bank
    for entry in _owners(facts, "trf"):
        if entry.region not in _HALVES:
            yield Broken(f"`{entry.tensor}` has no address mode", "", entry.region, ", ".join(_HALVES))
            continue
        low, high = (half * rows // 2 for half in _HALVES[entry.region])
        first, after = entry.row or 0, (entry.row or 0) + (entry.rows or 0)
        if first < low or after > high:
            message = f"`{entry.tensor}` leaves the rows of {entry.region}"
            yield Broken(message, "", f"rows {_rows(entry)}", f"within {low} to {high - 1}")
        yield from _region_decided(facts, entry)


def _region_decided(facts: Facts, entry: MemoryEntry) -> Iterator[Broken]:
    for access in facts.writers.get(entry.tensor, []):
        decided = access.op.decisions.get("region")
        if decided is not None and decided.chosen != entry.region:
            message = f"`{access.op.name}` decided for another address mode than `{entry.tensor}` has"
            yield Broken(message, access.op.name, entry.region, decided.chosen)


def _beyond(facts: Facts, file: str, limit: int) -> Iterator[Broken]:
    for entry in _owners(facts, file):
        end = (entry.address or 0) + entry.bytes
        if entry.address is None or entry.address < 0 or end > limit:
            yield Broken(
                f"`{entry.tensor}` lies outside the {limit} bytes of a slice",
                "",
                f"bytes {_bytes(entry)}",
                f"0 to {limit - 1}",
            )


def vrf_capacity(facts: Facts) -> Iterator[Broken]:
    """Within a slice's VRF."""
    yield from _beyond(facts, "vrf", facts.plan.hardware.vrf.bytes_per_slice)


def dm_capacity(facts: Facts) -> Iterator[Broken]:
    """Within a slice's data memory."""
    yield from _beyond(facts, "dm", facts.plan.hardware.dm.bytes_per_slice)


def address_alignment(facts: Facts) -> Iterator[Broken]:
    """Addresses are aligned."""
    hardware = facts.plan.hardware
    for file, unit in (("dm", hardware.dm.alignment_bytes), ("vrf", hardware.vrf.alignment_bytes)):
        for entry in _owners(facts, file):
            if (entry.address or 0) % unit:
                yield Broken(f"`{entry.tensor}` is not aligned", "", entry.address, f"a multiple of {unit}")


def lifetime_mismatch(facts: Facts) -> Iterator[Broken]:
    """Alive from the start of the first writer to the end of the last user.

    A life that ends, or begins, earlier because its operation was moved into slack is no fault of the plan.
    """
    for entry in facts.plan.memory:
        owner = facts.bench.entries.get(facts.root(entry.tensor), entry)
        writers = facts.writers.get(owner.tensor, [])
        users = [*writers, *facts.readers.get(owner.tensor, [])]
        if not writers:
            continue
        first = min(writers, key=lambda a: a.op.start)
        last = max(users, key=lambda a: a.op.end)
        yield from _compared(facts, entry, "starts", entry.start, first, first.op.start)
        yield from _compared(facts, entry, "ends", entry.end, last, last.op.end)


def _compared(
    facts: Facts, entry: MemoryEntry, what: str, stated: int, access: Access, actual: int
) -> Iterator[Broken]:
    moved = actual - stated
    if moved == 0 or (0 < moved <= facts.slack(access.op)):
        return
    message = f"the life of `{entry.tensor}` {what} with `{access.op.name}`"
    yield Broken(message, access.op.name, stated, actual)


def size_mismatch(facts: Facts) -> Iterator[Broken]:
    """Bytes and rows are what the mapping takes, and a relabelled tensor lies where its origin lies."""
    hardware = facts.plan.hardware
    unit = {"dm": hardware.dm.alignment_bytes, "vrf": hardware.vrf.alignment_bytes, "trf": 1}
    for entry in facts.plan.memory:
        size = DTYPES[entry.dtype].size_bytes(facts.bench.layouts.size(entry.element))
        wanted = -(-size // unit[entry.file]) * unit[entry.file]
        if entry.bytes != wanted:
            yield Broken(f"`{entry.tensor}` takes another number of bytes per slice", "", entry.bytes, wanted)
        if entry.file == "trf" and entry.rows != (rows := _rows_taken(facts, entry)):
            yield Broken(f"`{entry.tensor}` takes another number of rows per bank", "", entry.rows, rows)
        origin = facts.bench.entries.get(entry.shares)
        if origin is not None and _place(origin) != _place(entry):
            message = f"`{entry.tensor}` relabels `{origin.tensor}` and lies elsewhere"
            yield Broken(message, "", _place(entry), _place(origin))


def _relabelled(facts: Facts) -> Iterator[tuple[MemoryEntry, str, str, str]]:
    """(instance, level, mapping, mapping of its origin) of every relabelled tensor."""
    for entry in facts.plan.memory:
        origin = facts.bench.entries.get(entry.shares)
        for level in _LEVELS if origin is not None else ():
            yield entry, level, getattr(entry, level) or "1", getattr(origin, level) or "1"


def reshape_size_mismatch(facts: Facts) -> Iterator[Broken]:
    """A relabelled tensor keeps its size per level."""
    for entry, level, new, old in _relabelled(facts):
        found, wanted = facts.bench.layouts.size(new), facts.bench.layouts.size(old)
        if found != wanted:
            yield Broken(f"`{entry.tensor}` has another size in {level} than its origin", "", found, wanted)


def reshape_cells_differ(facts: Facts) -> Iterator[Broken]:
    """Position by position a relabelled tensor has the same cell; what the origin lacks may get a name."""
    layouts = facts.bench.layouts
    held: dict[str, set[str]] = {}
    for entry, _, _, old in _relabelled(facts):
        held.setdefault(entry.tensor, set()).update(axis_names(layouts.mapping(old)))
    for entry, level, new, old in _relabelled(facts):
        here, there = layouts.inner(old), layouts.inner(new)
        if here.kind.shape != there.kind.shape:
            continue
        live, zero = np.asarray(here.kind == LIVE), np.int64(0)
        axes = (here.index.keys() | there.index.keys()) & held[entry.tensor]
        moved = [((here.index.get(a, zero) != there.index.get(a, zero)) & live).any() for a in axes]
        if any(moved) or not np.array_equal(live, np.asarray(there.kind == LIVE)):
            yield Broken(f"`{entry.tensor}` claims other cells in {level} than its origin holds", "", new, old)


def _place(entry: MemoryEntry) -> tuple[object, ...]:
    return entry.file, entry.address, entry.row


def _rows_taken(facts: Facts, entry: MemoryEntry) -> int:
    """Physical rows per bank: flits alternate banks, and fewer lanes see the rows of their neighbours."""
    geometry, trf = facts.plan.hardware.geometry, facts.plan.hardware.trf
    bits = {"i5": 4, "i9": 8}.get(entry.dtype, DTYPES[entry.dtype].bits)
    flits = -(-facts.bench.layouts.size(entry.element) * bits // (8 * geometry.flit_bytes))
    logical = -(-flits // trf.banks)
    return -(-logical * facts.bench.layouts.size(entry.lane) // geometry.lanes_per_slice)


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "region_overlap": region_overlap,
    "region_out_of_bounds": region_out_of_bounds,
    "vrf_capacity": vrf_capacity,
    "dm_capacity": dm_capacity,
    "address_overlap": address_overlap,
    "address_alignment": address_alignment,
    "lifetime_mismatch": lifetime_mismatch,
    "size_mismatch": size_mismatch,
    "reshape_size_mismatch": reshape_size_mismatch,
    "reshape_cells_differ": reshape_cells_differ,
}
