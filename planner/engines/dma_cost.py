"""What a transfer takes: loads by the request queue, stores by full pieces and partial writes, copies by the book."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from models.hardware import DMA, Hardware
from planner.engines.dma_queue import TENTHS, Ints, issue_order, queue_end_tenths
from planner.engines.dma_runs import MOST_RUNS, Runs, Table, digits_of, elements_per_unit, table, thinned

MOST_REQUESTS = 16_384
"""Requests that are simulated; the queue of a larger transfer is scaled (a limit of this planner, not of the chip)."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Requests as parallel arrays: the unit, its rank among the units, the byte address, the length, the offset
    in the slice's bytes.
    """

    unit: Ints
    rank: Ints
    address: Ints
    length: Ints
    offset: Ints

    def keep(self, mask: np.ndarray) -> Pieces:
        """The pieces where the mask is true."""
        return Pieces(*(getattr(self, n)[mask] for n in ("unit", "rank", "address", "length", "offset")))


@dataclass(frozen=True, slots=True)
class Sample:
    """Pieces of the first bytes of each slice, and how many bytes of the fullest slice they stand for.

    `back_to_back`: the packets of the slices are laid one after the other, whatever the distance of the slices.
    """

    pieces: Pieces
    whole_bytes: int
    taken_bytes: int
    back_to_back: bool = False

    @property
    def exact(self) -> bool:
        """Nothing was left out."""
        return self.whole_bytes == self.taken_bytes

    def laid(self, dma: DMA) -> Sample:
        """The same with the packets back to back."""
        pieces = self.pieces
        address = pieces.rank * dma.packet_bytes + pieces.offset
        return replace(self, pieces=replace(pieces, address=address), back_to_back=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles, rounded to nearest, and the derived numbers by the names of the plan's settings."""

    cycles: int
    settings: dict[str, Any]


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
    units, rank = np.unique(parts.unit, return_inverse=True)
    before = np.cumsum(parts.length) - parts.length
    heads = np.searchsorted(parts.unit, units)
    offset = before - before[heads][rank] if units.size else before
    return Pieces(parts.unit, rank.astype(np.int64), parts.start, parts.length, offset)


def clipped(found: Table, budget: int) -> Table:
    """The first `budget` bytes of every unit."""
    if not found.unit.size:
        return found
    before = np.cumsum(found.length) - found.length
    units, rank = np.unique(found.unit, return_inverse=True)
    offset = before - before[np.searchsorted(found.unit, units)][rank]
    length = np.clip(budget - offset, 0, found.length)
    live = length > 0
    return Table(found.unit[live], found.start[live], length[live])


def sample(runs: Runs, bits: int, dma: DMA, shared: bool, store: bool) -> Sample:
    """The requests that are simulated: whole slices, one packet of each when larger, never over MOST_REQUESTS.

    Packets are laid back to back when slices hold different bytes in whole blocks. Shorter pieces keep their real
    addresses: laid together they would all meet at one channel, or be joined to requests that are never made.
    """
    units, sizes = elements_per_unit(runs)
    whole = int(sizes.max(initial=0)) * bits // 8
    most = max(dma.burst_requests, MOST_REQUESTS // max(1, units.size))
    packets = whole > dma.packet_bytes and not shared
    budget = min(whole, most * dma.access_bytes, dma.packet_bytes if packets else whole)
    first = clipped(to_bytes(table(runs, most), bits), budget)
    contiguous = first.unit.size == np.unique(first.unit).size
    if packets and contiguous and not store:
        first = replace(first, start=np.arange(first.unit.size) * dma.packet_bytes)
    pieces = pieces_of(first, dma, store)
    pieces = pieces.keep(_ranks(pieces.rank) < most)
    taken = int(np.bincount(pieces.rank, weights=pieces.length).max(initial=0)) if pieces.unit.size else 0
    if store:
        pieces = pieces.keep(pieces.length == dma.access_bytes)
    found = Sample(pieces, whole, taken)
    return found.laid(dma) if packets and (contiguous or _whole_blocks(pieces, dma)) else found


def _whole_blocks(pieces: Pieces, dma: DMA) -> bool:
    return bool(np.all(pieces.length == dma.access_bytes))


def _ranks(groups: Ints) -> Ints:
    """The place of each entry among the equal, neighbouring entries of a sorted array."""
    heads = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if groups.size else groups
    return np.arange(groups.size) - np.repeat(heads, np.diff(np.r_[heads, groups.size]))


def queue_tenths(taken: Sample, dma: DMA) -> int:
    """The end of the queue over the sampled pieces, scaled to the whole slices."""
    pieces = taken.pieces
    order = issue_order(pieces.rank, _ranks(pieces.rank), dma)
    chosen = pieces.keep(order)
    engines = chosen.unit // dma.slices_per_engine
    end = queue_end_tenths(engines, chosen.address, chosen.length, dma)
    return end if taken.exact else _scaled(end, taken.whole_bytes, taken.taken_bytes)


def _scaled(value: int, of: int, kept: int) -> int:
    return (2 * value * of + kept) // (2 * kept)


def _cycles(tenths: int) -> int:
    return (tenths + TENTHS // 2) // TENTHS


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


def load_cost(runs: Runs, bits: int, shared: bool, hardware: Hardware) -> Cost:
    """Cycles of a load (cycles page, DMA loads)."""
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    settings = _shape(units, sizes, bits, hardware)
    taken = sample(runs, bits, dma, shared, store=False)
    whole = int(np.count_nonzero(taken.pieces.length == dma.access_bytes))
    requests, full = (_scaled(n, taken.whole_bytes, max(1, taken.taken_bytes)) for n in (taken.pieces.unit.size, whole))
    settings |= _request_settings(taken, requests) | {"full_blocks": full, "partial_writes": 0}
    if units.size == 1:
        tenths = dma.single_slice_base_cycles * TENTHS + dma.single_slice_request_tenths * requests
        settings |= {"queue_cycles": 0.0, "estimate": "one slice: a base and a share per request"}
        return Cost(_cycles(tenths), settings)
    queue = queue_tenths(taken, dma)
    groups = _group_cycles(units, dma)
    settings |= {"queue_cycles": queue / TENTHS, "group_cycles": groups, "estimate": _estimate(taken)}
    return Cost(_cycles((dma.load_base_cycles + groups) * TENTHS + queue), settings)


def _request_settings(taken: Sample, requests: int) -> dict[str, Any]:
    return {"requests": requests, "simulated_requests": int(taken.pieces.unit.size)}


def _estimate(taken: Sample) -> str:
    if taken.exact:
        return "queue of all requests"
    how = "packets laid back to back" if taken.back_to_back else "real addresses"
    return f"queue of the first {taken.taken_bytes} bytes of each slice, {how}, scaled to {taken.whole_bytes}"


@dataclass(frozen=True, slots=True)
class PartialWrites:
    """Law R: its largest sum over an engine in tenths of a cycle, and what it was made of."""

    tenths: int
    writes: int
    blocks: int
    most_per_block: int


def partial_writes(runs: Runs, bits: int, dma: DMA) -> PartialWrites:
    """Partial writes of a store: n of them into one block cost n x min(n, cap), weighted (cycles page, R)."""
    block = dma.access_bytes
    small, of, kept = thinned(runs, block * 8 // bits, MOST_RUNS)
    small, length_of, length_kept = _shortened(small, bits, block)
    of, kept = of * length_of, kept * length_kept
    first = max(1, MOST_RUNS // max(1, small.unit_count))
    of, kept = of * small.count, kept * min(first, small.count)
    pieces = pieces_of(to_bytes(table(small, first), bits), dma, store=True)
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
    return PartialWrites(
        _scaled(worst, of, kept), _scaled(int(n.sum()), of, kept), _scaled(blocks.size, of, kept), int(n.max())
    )


def _shortened(runs: Runs, bits: int, block: int) -> tuple[Runs, int, int]:
    """Long runs cut short by whole blocks, for the partial pieces alone; aligned ones keep only their tail."""
    length = runs.length * bits // 8
    most = max(2, MOST_RUNS // max(1, runs.unit_count * runs.count)) * block
    if length <= most or runs.ties:
        return runs, 1, 1
    kept = most + length % block
    aligned = all(r.there * bits // 8 % block == 0 for r in (*runs.outer, *runs.units))
    return replace(runs, length=kept * 8 // bits), 1 if aligned else length // block, 1 if aligned else most // block


def store_cost(runs: Runs, bits: int, shared: bool, hardware: Hardware) -> Cost:
    """Cycles of a store (cycles page, DMA stores)."""
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    taken = sample(runs, bits, dma, shared, store=True)
    queue = queue_tenths(taken, dma)
    partial = partial_writes(runs, bits, dma)
    groups = _group_cycles(units, dma)
    base = dma.store_base_cycles + groups + (dma.partial_base_cycles if partial.writes else 0)
    settings = _shape(units, sizes, bits, hardware)
    full_blocks = _scaled(taken.pieces.unit.size, taken.whole_bytes, max(1, taken.taken_bytes))
    settings |= _request_settings(taken, full_blocks + partial.writes)
    settings |= {
        "full_blocks": full_blocks,
        "partial_writes": partial.writes,
        "partial_blocks": partial.blocks,
        "most_partial_writes_per_block": partial.most_per_block,
        "partial_cycles": partial.tenths / TENTHS,
        "queue_cycles": queue / TENTHS,
        "group_cycles": groups,
        "estimate": _estimate(taken),
    }
    return Cost(_cycles(base * TENTHS + queue + partial.tenths), settings)


def copy_cost(runs: Runs, bits: int, source_units: bool, hardware: Hardware) -> Cost:
    """Cycles of a copy by the book, uncalibrated: the reads and then the writes of the engine that moves most.

    A copy between HBM addresses has no slices and runs on one engine, as in the book's example.
    """
    dma = hardware.dma
    units, sizes = elements_per_unit(runs)
    written = _fullest(units // dma.slices_per_engine, sizes)
    read = _fullest_reader(runs, int(sizes.sum()), dma) if source_units else written
    reads, writes = (-(-elements * bits // 8 // dma.access_bytes) for elements in (read, written))
    settings = _shape(units, sizes, bits, hardware)
    settings |= {"requests": reads + writes, "full_blocks": writes, "partial_writes": 0, "queue_cycles": 0.0}
    settings["estimate"] = "by the book, uncalibrated"
    return Cost(dma.copy_base_cycles + reads + writes, settings)


def _fullest(engines: Ints, sizes: Ints) -> int:
    sums = np.zeros(int(engines.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(sums, engines, sizes)
    return int(sums.max())


def _fullest_reader(runs: Runs, elements: int, dma: DMA) -> int:
    """The most elements that one engine reads, its slices taken to hold equal shares."""
    rows = [*runs.units, *(r for r in runs.outer if r.unit)]
    shares = prod(r.count for r in rows)
    at = np.arange(shares, dtype=np.int64)
    unit = sum((d * r.unit for r, d in digits_of(rows, at).items()), np.zeros_like(at))
    return -(-_fullest(unit // dma.slices_per_engine, np.ones_like(at)) * elements // shares)
