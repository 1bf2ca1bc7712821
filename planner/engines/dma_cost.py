"""What a transfer takes: loads by the request queue, stores by full pieces and partial writes, copies by the book.

The law is docs/dma.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.hardware import DMA, Hardware
from planner.engines.dma_queue import TENTHS, Ints, issue_order, queue_end_tenths
from planner.engines.dma_runs import Part, Runs, Table, elements_per_unit, repeated, table


@dataclass(frozen=True, slots=True)
class Pieces:
    """Requests as parallel arrays: the unit, its rank among the units, the place among those of the unit, the byte
    address, the length.
    """

    unit: Ints
    rank: Ints
    place: Ints
    address: Ints
    length: Ints

    def keep(self, mask: np.ndarray) -> Pieces:
        """The pieces where the mask is true, ranked and placed anew."""
        return _numbered(self.unit[mask], self.address[mask], self.length[mask])


@dataclass(frozen=True, slots=True)
class Queue:
    """The end of a queue in tenths of a cycle, how many requests were simulated for it, and in what way."""

    tenths: int
    simulated: int
    how: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles, rounded to nearest, and the derived numbers by the names of the plan's settings."""

    cycles: int
    settings: dict[str, Any]


def _numbered(unit: Ints, address: Ints, length: Ints) -> Pieces:
    heads = np.flatnonzero(np.diff(unit, prepend=-1))
    sizes = np.diff(np.append(heads, unit.size))
    rank = np.repeat(np.arange(heads.size), sizes)
    return Pieces(unit, rank, np.arange(unit.size) - np.repeat(heads, sizes), address, length)


def to_bytes(found: Table, bits: int) -> Table:
    """The same runs in bytes."""
    return Table(found.unit, found.start * bits // 8, found.length * bits // 8)


def cut(found: Table, size: int, from_start: bool) -> Table:
    """Cuts runs every `size` bytes, from their own start or at the borders of HBM blocks."""
    phase = 0 if from_start else found.start % size
    counts = -(-(phase + found.length) // size)
    at = np.repeat(np.arange(counts.size), counts)
    step = np.arange(at.size) - np.repeat(np.cumsum(counts) - counts, counts)
    begin = np.maximum(found.start[at], (found.start - phase)[at] + step * size)
    end = np.minimum((found.start + found.length)[at], (found.start - phase)[at] + (step + 1) * size)
    return Table(found.unit[at], begin, end - begin)


def pieces_of(found: Table, dma: DMA, store: bool) -> Pieces:
    """Requests in DM order per slice; a store cuts from the run's own start first."""
    block = dma.access_bytes
    parts = cut(cut(found, block, from_start=True) if store else found, block, from_start=False)
    return _numbered(parts.unit, parts.start, parts.length)


def queue(pieces: Pieces, part: Part, dma: DMA) -> Queue | None:
    """The end of the queue over the pieces of a whole walk; None when the part of it holds too few of them."""
    if not pieces.unit.size:
        return Queue(0, 0, "no request")
    fullest = part.scaled(int(np.bincount(pieces.rank, weights=pieces.length).max()))
    if fullest > dma.packet_bytes and _distinct_blocks(pieces, dma):
        return _packets(np.unique(pieces.unit), fullest, dma)
    if part.scaled(pieces.unit.size) > dma.queue_requests:
        return _carried_on(pieces, part, dma)
    return Queue(_end(pieces, dma), pieces.unit.size, "queue of all requests") if part.whole else None


def _distinct_blocks(pieces: Pieces, dma: DMA) -> bool:
    if not np.all(pieces.length == dma.access_bytes):
        return False
    return bool(np.unique(pieces.address).size == pieces.address.size)


def _packets(units: Ints, fullest: int, dma: DMA) -> Queue:
    """One packet of each slice, back to back, scaled to the fullest slice."""
    size = dma.packet_bytes
    one = pieces_of(Table(units, np.arange(units.size) * size, np.full(units.size, size)), dma, store=False)
    how = f"queue of one packet of {size} bytes of each slice, back to back, scaled to {fullest} bytes"
    return Queue(_nearest(_end(one, dma) * fullest, size), one.unit.size, how)


def _carried_on(pieces: Pieces, part: Part, dma: DMA) -> Queue | None:
    """The first requests of every slice, half as many, and the same rate for all that follow."""
    counts = np.bincount(pieces.rank)
    most = max(2 * dma.burst_requests, 2 ** ((dma.queue_requests // counts.size) | 1).bit_length() // 2)
    if not part.whole and int(counts.min()) < most:
        return None
    early, half = pieces.keep(pieces.place < most), pieces.keep(pieces.place < most // 2)
    end, further = _end(early, dma), max(0, part.scaled(int(counts.max())) - most)
    how = f"queue of the first {most} requests of each slice, carried on"
    return Queue(end + _nearest(further * (end - _end(half, dma)), most // 2), early.unit.size, how)


def _end(pieces: Pieces, dma: DMA) -> int:
    order = issue_order(pieces.rank, pieces.place, dma)
    engines = pieces.unit[order] // dma.slices_per_engine
    return queue_end_tenths(engines, pieces.address[order], pieces.length[order], dma)


def _nearest(value: int, by: int) -> int:
    return (2 * value + by) // (2 * by)


def _cycles(tenths: int) -> int:
    return _nearest(tenths, TENTHS)


def _group_cycles(units: Ints, dma: DMA) -> int:
    return dma.group_cycles if np.unique(units // dma.slices_per_engine).size > 1 else 0


def _shape(units: Ints, sizes: Ints, bits: int, hardware: Hardware) -> dict[str, Any]:
    dma = hardware.dma
    total = int(sizes.sum()) * bits // 8
    return {
        "slices": int(units.size),
        "engines": int(np.unique(units // dma.slices_per_engine).size),
        "bytes": total,
        "bytes_per_slice": int(sizes.max(initial=0)) * bits // 8,
    }


def _requests(runs: Runs, bits: int, dma: DMA, store: bool) -> tuple[Part, Pieces, Queue]:
    """The requests of a walk, of a part of it where that tells the whole, and their queue (full ones of a store)."""
    for part in _parts(runs, dma.access_bytes * 8 // bits):
        pieces = pieces_of(to_bytes(part.found, bits), dma, store)
        found = queue(pieces.keep(pieces.length == dma.access_bytes) if store else pieces, part, dma)
        if found is not None:
            return part, pieces, found
    raise AssertionError("a whole walk has a queue")


def _parts(runs: Runs, block: int) -> Iterator[Part]:
    first = repeated(runs, block)
    yield first
    if not first.whole:
        yield Part(table(runs))


def load_cost(runs: Runs, bits: int, hardware: Hardware) -> Cost:
    """Cycles of a load (cycles page, DMA loads)."""
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    part, pieces, waited = _requests(runs, bits, dma, store=False)
    requests = part.scaled(pieces.unit.size)
    full = part.scaled(int(np.count_nonzero(pieces.length == dma.access_bytes)))
    settings = _shape(units, sizes, bits, hardware) | _queue_settings(waited) | _runs_settings(part, bits)
    settings |= {"requests": requests, "full_blocks": full, "partial_writes": 0}
    if units.size == 1:
        tenths = dma.single_slice_base_cycles * TENTHS + dma.single_slice_request_tenths * requests
        settings |= {"queue_cycles": 0.0, "estimate": "one slice: a base and a share per request"}
        return Cost(_cycles(tenths), settings)
    groups = _group_cycles(units, dma)
    settings["group_cycles"] = groups
    return Cost(_cycles((dma.load_base_cycles + groups) * TENTHS + waited.tenths), settings)


def _queue_settings(waited: Queue) -> dict[str, Any]:
    return {
        "simulated_requests": waited.simulated,
        "queue_cycles": waited.tenths / TENTHS,
        "estimate": waited.how,
    }


def _runs_settings(part: Part, bits: int) -> dict[str, Any]:
    """The longest run of a slice in HBM; no run of the walk goes on where a part of it ends."""
    return {"run_bytes": int(to_bytes(part.found, bits).length.max(initial=0))}


@dataclass(frozen=True, slots=True)
class PartialWrites:
    """Law R: its largest sum over an engine in tenths of a cycle, and what it was made of."""

    tenths: int
    writes: int
    blocks: int
    most_per_block: int


def partial_writes(pieces: Pieces, part: Part, dma: DMA) -> PartialWrites:
    """Partial writes of a store: n of them into one block cost n x min(n, cap), weighted (cycles page, R)."""
    block = dma.access_bytes
    partial = pieces.keep(pieces.length < block)
    if not partial.unit.size:
        return PartialWrites(0, 0, 0, 0)
    blocks, where = np.unique(partial.address // block, return_inverse=True)
    n = np.bincount(where)
    tiny = np.bincount(where, weights=partial.length < dma.partial_tiny_bytes)
    weight = np.where(tiny > 1, dma.partial_tiny_weight_tenths, dma.partial_weight_tenths)
    price = weight * n * np.minimum(n, dma.partial_cap_writes)
    engine = partial.unit // dma.slices_per_engine
    pairs = np.unique(engine * blocks.size + where)
    worst = int(np.bincount(pairs // blocks.size, weights=price[pairs % blocks.size]).max())
    return PartialWrites(part.scaled(worst), part.scaled(int(n.sum())), part.scaled(blocks.size), int(n.max()))


def store_cost(runs: Runs, bits: int, hardware: Hardware) -> Cost:
    """Cycles of a store (cycles page, DMA stores)."""
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    part, pieces, waited = _requests(runs, bits, dma, store=True)
    partial = partial_writes(pieces, part, dma)
    groups = _group_cycles(units, dma)
    base = dma.store_base_cycles + groups + (dma.partial_base_cycles if partial.writes else 0)
    requests = part.scaled(pieces.unit.size)
    settings = _shape(units, sizes, bits, hardware) | _queue_settings(waited) | _runs_settings(part, bits)
    settings |= {
        "requests": requests,
        "full_blocks": requests - partial.writes,
        "partial_writes": partial.writes,
        "partial_blocks": partial.blocks,
        "most_partial_writes_per_block": partial.most_per_block,
        "partial_cycles": partial.tenths / TENTHS,
        "group_cycles": groups,
    }
    return Cost(_cycles(base * TENTHS + waited.tenths + partial.tenths), settings)


def copy_cost(runs: Runs, bits: int, source_units: bool, hardware: Hardware) -> Cost:
    """Cycles of a copy by the book, uncalibrated: the reads and then the writes of the engines that move most.

    Reads count at the engine of the slice that is read, writes at that of the slice that is written. A copy between
    HBM addresses has no slices and runs on one engine, as in the book's example.
    """
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    written = _fullest(units, sizes, dma)
    read = _fullest(*elements_per_unit(runs, other=True), dma) if source_units else written
    reads, writes = (-(-elements * bits // 8 // dma.access_bytes) for elements in (read, written))
    settings = _shape(units, sizes, bits, hardware)
    settings |= {"requests": reads + writes, "full_blocks": writes, "partial_writes": 0, "queue_cycles": 0.0}
    settings["estimate"] = "by the book, uncalibrated"
    return Cost(dma.copy_base_cycles + reads + writes, settings)


def _fullest(units: Ints, sizes: Ints, dma: DMA) -> int:
    """The elements of the engine whose units have most."""
    return int(np.bincount(units // dma.slices_per_engine, weights=sizes).max(initial=0))
