"""Fetch: the sequencer walks a slice's data memory; then the fetch adapter (domain: section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.hardware import Hardware
from models.plan import MemoryEntry, Stage
from simulator.bench import Run
from simulator.engines.walks import entry_walk, run_elements
from simulator.layouts import Identity
from simulator.memories import Walk, walk_offsets
from simulator.streams import Flow
from simulator.values import convert, decode, encode


def fetch(run: Run, stage: Stage) -> Flow:
    """Reads the buffers that the settings name into a stream, interleaved where there are two."""
    names = [str(name) for name in stage.settings["reads"]]
    parts = [_fetch_one(run, stage, name) for name in names]
    if len(parts) == 1:
        return parts[0]
    return _interleaved(run, stage, parts)


def _fetch_one(run: Run, stage: Stage, name: str) -> Flow:
    entry = run.entry(name)
    if entry is None or entry.file != "dm":
        raise LookupError(f"`{name}` is no tensor in data memory")
    time, packet = entry_walk(stage.settings, "time"), entry_walk(stage.settings, "packet")
    walk = (*time, *packet)
    base = run.base_elements(stage.settings.get("base"))
    bits = DTYPES[entry.dtype].bits
    lifted = _lifted_bases(run, stage)
    if lifted is not None:
        return _fetch_lifted(run, stage, entry, walk, lifted + base)
    slices = run.layouts.size(stage.slice)
    address = (entry.address or 0) + base * bits // 8
    block = run.bench.memories.dm.read(address, entry.dtype, slices, walk)
    shape = (block.raw.shape[0], walk_steps(time), walk_steps(packet))
    offsets = (walk_offsets(walk) + base).reshape(shape[1:])
    cells = _cells_at(run, entry, offsets)
    poison = None if block.poison is None else block.poison.reshape(shape)
    return Flow(entry.dtype, block.raw.reshape(shape), poison, cells, fetch_steps(run, entry.dtype, walk, shape))


def _lifted_bases(run: Run, stage: Stage) -> NDArray[np.int64] | None:
    """Axis lifting: the offset in elements at which each unit starts, by its place in Chip, Cluster and Slice.

    None where no level is lifted: every unit then starts at one place.
    """
    levels = stage.settings.get("lift") or {}
    if not levels:
        return None
    units, slices = run.layouts.units, run.layouts.size(stage.slice)
    at = np.arange(units.groups * slices)
    places = {"chip": units.chip[at // slices], "cluster": units.cluster[at // slices], "slice": at % slices}
    out = np.zeros(len(at), dtype=np.int64)
    for level, entries in levels.items():
        out += walk_offsets(tuple((int(size), int(stride)) for size, stride in entries))[places[level]]
    return out


def _fetch_lifted(run: Run, stage: Stage, entry: MemoryEntry, walk: Walk, bases: NDArray[np.int64]) -> Flow:
    """The same walk in every unit, each from a base of its own."""
    slices = run.layouts.size(stage.slice)
    offsets = bases[:, None] + walk_offsets(walk)
    whole = run.bench.memories.dm.read(entry.address or 0, entry.dtype, slices, ((int(offsets.max()) + 1, 1),))
    packet = walk_steps(entry_walk(stage.settings, "packet"))
    shape = (len(bases), offsets.shape[1] // packet, packet)
    units = np.arange(len(bases))[:, None]
    poison = None if whole.poison is None else whole.poison[units, offsets].reshape(shape)
    cells = _cells_at(run, entry, offsets.reshape(shape))
    raw = whole.raw[units, offsets].reshape(shape)
    return Flow(entry.dtype, raw, poison, cells, fetch_steps(run, entry.dtype, walk, shape))


def walk_steps(walk: Walk) -> int:
    """How many steps a walk has."""
    return int(np.prod([size for size, _ in walk], dtype=np.int64))


def fetch_steps(run: Run, dtype: str, walk: Walk, shape: tuple[int, ...]) -> int:
    """Time x packet bytes / read size: counted from the walk itself."""
    bits = DTYPES[dtype].bits
    bits_out = adapted_bits(dtype, run.bench.plan.programs.get(run.op.program, ()))
    read_bytes = read_bytes_of(run.bench.plan.hardware, walk, shape[2], bits, main=run.main, bits_out=bits_out)
    return shape[1] * max(1, shape[2] * bits // 8 // read_bytes)


def read_bytes_of(
    hardware: Hardware, walk: Walk, packet: int, bits: int, *, main: bool, bits_out: int | None = None
) -> int:
    """Bytes of one read: on Main the largest power of two in packet and contiguous run, on Sub always the same.

    Where the fetch adapter makes elements of `bits_out` bits, those of one read must fit a flit.
    """
    if not main:
        return hardware.fetch.read_bytes_sub
    access = int(np.gcd(packet, run_elements(walk))) * bits
    most = hardware.geometry.flit_bytes * bits // (bits_out or bits)
    fitting = (n for n in _powers(hardware.fetch.max_read_bytes_main) if access % (8 * n) == 0 and n <= most)
    return max(fitting, default=1)


def adapted_bits(dtype: str, stages: Sequence[Stage]) -> int:
    """Bits of an element behind the fetch adapter; a zero point leaves them as they are."""
    made = [s.dtype for s in stages if s.step in ("fetch_table_lookup", "fetch_cast")]
    return DTYPES[made[-1] if made else dtype].bits


def _powers(most: int) -> list[int]:
    return [1 << n for n in range(most.bit_length())]


def _cells_at(run: Run, entry: MemoryEntry, offsets: NDArray[np.int64]) -> Identity:
    """Which cell of the buffer stands at every step: its own mapping, read where the walk goes.

    `offsets` are elements by [Time, Packet], or [units, Time, Packet] where units start at different places.
    """
    whole = run.cells_of(entry, (entry.element,))
    size = run.layouts.size(entry.element)
    inside = np.minimum(offsets, size - 1)

    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1] == 1:
            return part[:, :, None]
        if offsets.ndim == 2:
            return part[:, inside]
        unit = np.arange(len(offsets)) if part.shape[0] > 1 else np.zeros(len(offsets), dtype=np.int64)
        return part[unit[:, None, None], inside]

    moved = whole.moved(move)
    beyond = offsets >= size
    if beyond.any():
        return Identity(np.where(beyond, np.int8(1), moved.kind), moved.index)
    return moved


def _interleaved(run: Run, stage: Stage, parts: list[Flow]) -> Flow:
    """Alternates two buffers along the interleave axis of Time; their cells are told apart by that axis."""
    axis = str(stage.settings["interleave"])
    at = run.layouts.inner(stage.time).index[axis]
    choose = np.broadcast_to(at, (parts[0].time,))
    masks = [np.zeros(p.raw.shape, dtype=np.bool_) if p.poison is None else p.poison for p in parts]
    raw, poison = parts[0].raw.copy(), masks[0].copy()
    raw[:, choose == 1], poison[:, choose == 1] = parts[1].raw[:, choose == 1], masks[1][:, choose == 1]
    index = {**parts[0].cells.index, axis: (choose[None, :, None].astype(np.int64),)}
    return Flow(
        parts[0].dtype, raw, poison if poison.any() else None, Identity(parts[0].cells.kind, index), parts[0].steps
    )


def adapt(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Table look-up and fetch cast: both convert by value."""
    steps = 0
    if stage.step == "fetch_table_lookup":
        tenths = run.bench.plan.hardware.fetch.table_lookup_tenths_per_flit
        flit_bytes = run.bench.plan.hardware.geometry.flit_bytes
        out_bytes = DTYPES[stage.dtype].size_bytes(flow.packet)
        steps = -(-flow.time * -(-out_bytes // flit_bytes) * tenths // 10)
    return flow.with_values(stage.dtype, convert(flow.raw, flow.dtype, stage.dtype), steps)


def subtract_zero_point(_run: Run, stage: Stage, flow: Flow) -> Flow:
    """Subtracts the zero point and widens to i5 or i9."""
    numbers = decode(flow.raw, flow.dtype) - int(stage.settings["zero_point"])
    return flow.with_values(stage.dtype, encode(numbers, stage.dtype), 0)
