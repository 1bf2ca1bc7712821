"""Commit: trims flits, converts where asked, and writes them along the destination walk (domain: section 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.plan import Stage
from simulator import claims
from simulator.bench import Run, spatial
from simulator.engines.fetch import walk_steps
from simulator.engines.walks import entry_walk
from simulator.layouts import Identity
from simulator.memories import Block, Walk, walk_offsets
from simulator.streams import Flow, kept_packet
from simulator.values import convert, decode, encode


def commit(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Writes [units, Time, trimmed packet]; what it wrote is visible when the operation ends."""
    name = str(stage.settings["write"])
    entry = run.entry(name)
    if entry is None or entry.address is None:
        raise LookupError(f"`{name}` has no address in data memory")
    time, packet = entry_walk(stage.settings, "time"), entry_walk(stage.settings, "packet")
    trimmed = _converted(stage, kept_packet(flow, _trim(stage, flow), flow.time))
    live = kept_packet(trimmed, walk_steps(packet), flow.time)
    if (walk_steps(time), walk_steps(packet)) != (live.time, live.packet):
        run.fail(
            "commit_not_addressable",
            "the destination walk has other steps than the stream",
            (time, packet),
            (live.time, live.packet),
        )
        raise ValueError("commit: the walk does not fit the stream")
    base = run.base_elements(stage.settings.get("base"))
    walk = (*time, *packet)
    address = entry.address + base * DTYPES[entry.dtype].bits // 8
    slices = run.layouts.size(stage.slice)
    block = Block(live.raw.reshape(live.raw.shape[0], -1), _flat(live.poison))
    dtype = live.dtype
    run.effects.append(lambda: run.bench.memories.dm.write(address, dtype, slices, walk, block))
    _check(run, stage, name, live, base, walk)
    steps = flow.time if run.main else flow.time * max(1, trimmed.packet_bytes // _sub_bytes(run))
    return Flow(live.dtype, live.raw, live.poison, live.cells, steps)


def _sub_bytes(run: Run) -> int:
    return run.bench.plan.hardware.dm.bank_bytes


def _flat(poison: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return None if poison is None else poison.reshape(poison.shape[0], -1)


def _trim(stage: Stage, flow: Flow) -> int:
    """Elements that the trim keeps; it comes before the commit cast."""
    return int(stage.settings["trim_bytes"]) * 8 // DTYPES[flow.dtype].bits


def _converted(stage: Stage, flow: Flow) -> Flow:
    """The commit cast, with ReLU before it where asked: NaN first, then the sign bit."""
    wanted = stage.settings.get("cast")
    if not wanted:
        return flow
    raw = flow.raw
    if stage.settings.get("relu"):
        numbers = decode(raw, flow.dtype)
        raw = encode(np.where(np.isnan(numbers) | ~np.signbit(numbers), numbers, np.float32(0)), flow.dtype)
    return flow.with_values(str(wanted), convert(raw, flow.dtype, str(wanted)), flow.steps)


def _check(run: Run, stage: Stage, name: str, live: Flow, base: int, walk: Walk) -> None:
    """The walk goes where the destination's own mapping puts each cell, and nowhere twice."""
    entry = run.entry(name)
    assert entry is not None
    offsets = walk_offsets(walk) + base
    size = run.layouts.size(entry.element)
    if len(np.unique(offsets)) < len(offsets):
        run.fail("cell_written_twice", f"`{name}`: the walk writes one place more than once", walk)
    if offsets.max() >= size:
        run.fail("commit_past_end", f"`{name}`: the walk leaves the buffer", int(offsets.max()), f"below {size}")
        return
    at = offsets.reshape(live.time, live.packet)
    destination = run.cells_of(entry, (entry.element,))
    wanted = destination.moved(lambda part: part[:, :, None] if part.shape[1] == 1 else part[:, at])
    inner = (stage.time, stage.packet)
    moved = _from_tile(run, stage, name, live, inner)
    claims.compare(run, "commit", moved, wanted.only(live.cells.index))


def _from_tile(run: Run, stage: Stage, name: str, live: Flow, inner: tuple[str, str]) -> Identity:
    """The stream's cells with their true index: a pass counts from the tile's start, the destination does not."""
    tile = run.tile(name)
    if tile is None:
        return live.cells
    true = run.layouts.identity(spatial(stage), inner, tile).only(live.cells.index)
    packet = live.packet
    return true.moved(lambda part: part if part.shape[2] == 1 else part[:, :, :packet])
