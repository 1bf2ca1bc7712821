"""Stores into the register files: flits into lanes, banks and rows, or into the VRF's bytes (domain: section 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator import claims
from simulator.bench import Run, spatial
from simulator.memories import Block
from simulator.streams import Flow, Rearrange
from simulator.values import CONTAINER, convert

STORED_AS = {"i4": "i5", "i8": "i9"}
"""Only integers widen on a store into the TRF."""


def widened(raw: NDArray[Any], dtype: str) -> tuple[NDArray[Any], str]:
    """What the TRF stores for a flit: i4 as i5 and i8 as i9, by value."""
    stored = STORED_AS.get(dtype, dtype)
    return convert(raw, dtype, stored), stored


def to_trf(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Lane = Time / FlitsPerLane; flit f of a lane goes to bank f % 2, row start + f // 2."""
    entry = run.entry(str(stage.settings["write"]))
    if entry is None or entry.row is None:
        raise LookupError(f"`{stage.settings['write']}` has no rows in the TRF")
    lanes = int(stage.settings["lanes"])
    if lanes not in _lane_counts(run) or flow.time % lanes:
        run.fail("lane_size", "Lane must be 1, 2, 4 or 8 and divide Time", lanes, flow.time)
        return flow
    flits = flow.time // lanes
    raw, _ = widened(flow.raw, flow.dtype)
    shape = (raw.shape[0], lanes, flits, flow.packet)
    poison = None if flow.poison is None else flow.poison.reshape(shape)
    block, row = Block(raw.reshape(shape), poison), entry.row
    run.effects.append(lambda: run.bench.memories.trf.store(row, lanes, block))
    cells = flow.cells.moved(_per_lane(flow.time, flow.packet, lanes))
    claims.compare(run, "to_trf", cells, run.layouts.identity(spatial(entry), (entry.lane, entry.element)))
    return replace(flow, steps=flow.time)


def _lane_counts(run: Run) -> list[int]:
    most = run.bench.plan.hardware.geometry.lanes_per_slice
    return [1 << n for n in range(most.bit_length()) if most % (1 << n) == 0]


def _per_lane(time: int, packet: int, lanes: int) -> Rearrange:
    """[units, Time, Packet] to [units, Lane, Element]."""

    def split(part: NDArray[Any]) -> NDArray[Any]:
        units, t, p = part.shape
        if t == 1 and p == 1:
            return part
        if t == 1:
            part = part.repeat(time, axis=1)
        if p == 1:
            part = part.repeat(packet, axis=2)
        return part.reshape(units, lanes, -1)

    return split


def to_vrf(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Element = [Time, Packet], packed from the entry's address on."""
    entry = run.entry(str(stage.settings["write"]))
    if entry is None or entry.address is None:
        raise LookupError(f"`{stage.settings['write']}` has no address in the VRF")
    size, slices = run.layouts.size(entry.element), run.layouts.size(stage.slice)
    taken = flow.raw.reshape(flow.raw.shape[0], -1)
    if taken.shape[1] != size:
        run.fail("element_mismatch", "the VRF element is Time and Packet as they leave", size, taken.shape[1])
        return flow
    poison = None if flow.poison is None else flow.poison.reshape(taken.shape)
    address, dtype = entry.address, flow.dtype
    block = Block(taken, poison)
    run.effects.append(lambda: run.bench.memories.vrf.write(address, dtype, slices, ((size, 1),), block))
    lane = _per_lane(flow.time, flow.packet, 1)
    cells = flow.cells.moved(lambda part: lane(part)[:, 0])
    claims.compare(run, "to_vrf", cells, run.layouts.identity(spatial(entry), (entry.element,)))
    return replace(flow, steps=flow.time)


def stored_container(dtype: str) -> type[np.generic]:
    """What one element of a TRF row is held in."""
    return CONTAINER[STORED_AS.get(dtype, dtype)]
