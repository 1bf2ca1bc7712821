"""How long operations take, counted by the simulator itself (cycles page)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.hardware import Hardware
from models.plan import Stage
from simulator.dma_queue import Pieces, cut, cut_from_start, engine_of, long_queue_tenths, queue_tenths, queued, runs
from simulator.engines.dma_timeline import Moved

Ints = NDArray[np.int64]
_TENTHS = 10


def pass_cycles(
    stages: tuple[Stage, ...],
    steps: list[int],
    hardware: Hardware,
    *,
    main: bool,
    ring: tuple[int, int] | None = None,
) -> int:
    """Base plus the largest step count of any stage; `ring` is (slices, time steps) of a reduction among slices."""
    most = max(steps, default=0)
    if ring is not None:
        unit = hardware.vector
        tail = unit.inter_slice_cycles_per_step * ring[0] * ring[1] + unit.inter_slice_offset_cycles
        return unit.inter_slice_pass_base_cycles + max(most, tail)
    held = int(stages[-1].settings.get("bank_reserve_cycles", 0)) if hardware.trf.contention else 0
    return _base(stages, steps, hardware, main) + most + held


def _base(stages: tuple[Stage, ...], steps: list[int], hardware: Hardware, main: bool) -> int:
    names = {stage.step for stage in stages}
    passes = hardware.passes
    ring = max((n for stage, n in zip(stages, steps, strict=True) if stage.step == "switch"), default=0)
    others = max((n for stage, n in zip(stages, steps, strict=True) if stage.step != "switch"), default=0)
    if ring > others:
        return passes.commit_base_cycles
    if stages[-1].step in ("to_trf", "to_vrf"):
        short = stages[-1].settings.get("via") == "short"
        return passes.short_store_base_cycles if short else passes.register_store_base_cycles
    if main and "vector" in names:
        return passes.vector_base_cycles
    if main and "contract_outer" in names:
        return passes.contraction_base_cycles
    return passes.commit_base_cycles


@dataclass(frozen=True, slots=True)
class Transfer:
    """Cycles of a transfer, and what they were counted from, by the names that a plan's settings use."""

    cycles: int
    counts: dict[str, float] = field(default_factory=dict)


def transfer(moved: Moved, direction: str, hardware: Hardware) -> Transfer:
    """A transfer between HBM and data memory, or a copy; chips work side by side, the slowest one counts."""
    parts = [_transfer(part, direction, hardware) for part in moved.by_chip()]
    return max(parts, key=lambda part: part.cycles)


def _transfer(moved: Moved, direction: str, hardware: Hardware) -> Transfer:
    bits = DTYPES[moved.dtype].bits
    if direction == "copy":
        return Transfer(copy_cycles(moved, bits, hardware))
    found = runs(moved.at, bits // 8) if bits >= 8 else _nibble_runs(moved.at)
    if len(found.unit) == 0:
        base = hardware.dma.load_base_cycles if direction == "load" else hardware.dma.store_base_cycles
        return Transfer(base)
    units = np.unique(found.unit)
    per_unit = np.bincount(found.unit, weights=found.length).astype(np.int64)
    common: dict[str, float] = {
        "slices": len(units),
        "engines": len(np.unique(engine_of(units, hardware))),
        "bytes": int(per_unit.sum()),
        "bytes_per_slice": int(per_unit.max()),
        "ideal_cycles": -(-int(per_unit.sum()) // hardware.dma.peak_bytes_per_cycle),
        "run_bytes": int(found.length.max()),
        "shared": _moves_twice(found),
    }
    cycles, counts = (_load if direction == "load" else _store)(found, units, hardware)
    return Transfer(cycles, common | counts)


def transfer_cycles(moved: Moved, direction: str, hardware: Hardware) -> int:
    """Only the cycles."""
    return transfer(moved, direction, hardware).cycles


def _nibble_runs(at: NDArray[np.int32]) -> Pieces:
    """Runs of 4-bit elements, in whole bytes."""
    half = runs(at, 1)
    first = half.start // 2
    return Pieces(half.unit, first, (half.start + half.length + 1) // 2 - first)


def copy_cycles(moved: Moved, bits: int, hardware: Hardware) -> int:
    """By the book, uncalibrated: a start, then 256 bytes a cycle and engine for the reads and for the writes.

    Reads count at the engine of the slice that is read, as often as it is read; writes at that of the slice written.
    """
    rows = np.flatnonzero((moved.at >= 0).any(axis=1))
    written = _blocks_of_fullest(rows, (moved.at[rows] >= 0).sum(axis=1), bits, hardware)
    if not moved.read_width:
        return hardware.dma.copy_base_cycles + 2 * written
    readers, often = np.unique(moved.at[moved.at >= 0].astype(np.int64) // moved.read_width, return_counts=True)
    return hardware.dma.copy_base_cycles + written + _blocks_of_fullest(readers, often, bits, hardware)


def _blocks_of_fullest(units: Ints, elements: Ints, bits: int, hardware: Hardware) -> int:
    """256-byte blocks, the last one begun, of the engine whose units move most."""
    if not len(units):
        return 0
    most = int(np.bincount(engine_of(units, hardware), weights=elements).max())
    return -(-most * bits // 8 // hardware.dma.access_bytes)


def _load(found: Pieces, units: Ints, hardware: Hardware) -> tuple[int, dict[str, float]]:
    """Cycles of a load from the HBM runs of every unit."""
    dma = hardware.dma
    requests = cut(found, dma.access_bytes)
    counts: dict[str, float] = {
        "requests": len(requests.unit),
        "full_blocks": int((requests.length == dma.access_bytes).sum()),
        "partial_writes": 0,
    }
    group, (queue, simulated) = _group_cycles(units, hardware), _queue(requests, hardware)
    counts["simulated_requests"] = simulated
    if len(units) == 1:
        tenths = dma.single_slice_base_cycles * _TENTHS + dma.single_slice_request_tenths * len(requests.unit)
        return _rounded(tenths), counts
    counts |= {"group_cycles": group, "queue_cycles": queue / _TENTHS}
    return _rounded((dma.load_base_cycles + group) * _TENTHS + queue), counts


def _group_cycles(units: Ints, hardware: Hardware) -> int:
    several = len(np.unique(engine_of(units, hardware))) > 1
    return hardware.dma.group_cycles if several else 0


def _queue(requests: Pieces, hardware: Hardware) -> tuple[int, int]:
    """Q, and how many requests were simulated for it.

    Beyond one packet per slice, whole blocks of which none is moved twice go as packets laid back to back,
    simulated for one packet of each slice and scaled; all else at its real addresses.
    """
    dma = hardware.dma
    most = int(np.bincount(requests.unit, weights=requests.length).max())
    whole = bool((requests.length == dma.access_bytes).all())
    if most <= dma.packet_bytes or not whole or _moves_twice(requests):
        return long_queue_tenths(requests, hardware), queued(requests, hardware)
    units = np.unique(requests.unit)
    packets = Pieces(units, np.arange(len(units)) * dma.packet_bytes, np.full(len(units), dma.packet_bytes))
    one = cut(packets, dma.access_bytes)
    end = queue_tenths(one, hardware) * most
    return (end + dma.packet_bytes // 2) // dma.packet_bytes, len(one.unit)


def _moves_twice(requests: Pieces) -> bool:
    order = np.argsort(requests.start, kind="stable")
    start, end = requests.start[order], (requests.start + requests.length)[order]
    return bool((start[1:] < np.maximum.accumulate(end)[:-1]).any())


def _store(found: Pieces, units: Ints, hardware: Hardware) -> tuple[int, dict[str, float]]:
    """Cycles of a store: full blocks queue, partial ones are read-modify-writes that get in each other's way."""
    dma = hardware.dma
    pieces = cut(cut_from_start(found, dma.access_bytes), dma.access_bytes)
    full = pieces.length == dma.access_bytes
    group = _group_cycles(units, hardware)
    queue, simulated = _queue(pieces.where(full), hardware) if full.any() else (0, 0)
    partial = _partial_tenths(pieces.where(~full), hardware) if not full.all() else 0
    blocks = np.unique(pieces.start[~full] // dma.access_bytes, return_counts=True)[1]
    counts: dict[str, float] = {
        "requests": len(pieces.unit),
        "simulated_requests": simulated,
        "full_blocks": int(full.sum()),
        "partial_writes": int((~full).sum()),
        "partial_blocks": len(blocks),
        "most_partial_writes_per_block": int(blocks.max(initial=0)),
        "partial_cycles": partial / _TENTHS,
        "group_cycles": group,
        "queue_cycles": queue / _TENTHS,
    }
    extra = 0 if full.all() else dma.partial_base_cycles * _TENTHS + partial
    return _rounded((dma.store_base_cycles + group) * _TENTHS + queue + extra), counts


def _partial_tenths(pieces: Pieces, hardware: Hardware) -> int:
    """W x R: R is the largest over engines of the sum over the blocks that the engine writes partially."""
    dma = hardware.dma
    blocks, block = np.unique(pieces.start // dma.access_bytes, return_inverse=True)
    writes = np.bincount(block)
    tiny = np.bincount(block, weights=pieces.length < dma.partial_tiny_bytes) > 1
    weight = np.where(tiny, dma.partial_tiny_weight_tenths, dma.partial_weight_tenths)
    price = weight * writes * np.minimum(writes, dma.partial_cap_writes)
    engine = engine_of(pieces.unit, hardware)
    touched = np.unique(engine * len(blocks) + block)
    return int(np.bincount(touched // len(blocks), weights=price[touched % len(blocks)]).max())


def _rounded(tenths: int) -> int:
    return int(tenths + _TENTHS // 2) // _TENTHS
