"""Switch: a ring of routers, each copying the slots that its snoop bitmap names (domain: end of section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.plan import Stage
from simulator.bench import Run
from simulator.engines.snoop import expand
from simulator.layouts import Identity
from simulator.streams import Flow
from simulator.values import Bits

Copies = NDArray[np.int64]


def switch(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Passes every input step around the ring; what leaves is what the routers copied, in that order."""
    config = stage.settings["config"]
    slices = run.layouts.size(stage.slice)
    ring = int(stage.settings["ring_size"])
    hears = expand(stage.settings["bitmap"], slices)
    steps = ring_steps(run, flow, ring)
    if config["kind"] == "Forwarding":
        return flow.moved(lambda part: part, 0)
    sources = heard(hears, ring)
    if config["kind"] == "InterTranspose":
        return _own_steps_only(flow, sources, config, steps)
    return _copied(flow, sources, *_grouping(config), steps)


def ring_steps(run: Run, flow: Flow, ring: int) -> int:
    """Cycles in a pass: ring size x (Time x flits + the pass's extra steps)."""
    hardware = run.bench.plan.hardware
    flits = -(-DTYPES[flow.dtype].size_bytes(flow.packet) // hardware.geometry.flit_bytes)
    tenths = ring * (flow.time * flits + hardware.switch.pass_extra_steps) * hardware.switch.ring_tenths_per_flit
    return (tenths + 9) // 10


def heard(hears: Bits, ring: int) -> Copies:
    """What every router copies in one turn of its own sub-ring: [slices, copies] sources, -1 after the last.

    A slot passes in ascending source order; a router that does not listen lets it go by, and a slot of another
    sub-ring never comes by at all.
    """
    slices = hears.shape[0]
    copied = hears.sum(axis=1)
    out = np.full((slices, max(1, int(copied.max()))), -1, dtype=np.int64)
    held = np.zeros(slices, dtype=np.int64)
    routers = np.arange(slices)
    for slot in range(ring):
        source = routers // ring * ring + slot
        copies = (source < slices) & hears[routers, np.minimum(source, slices - 1)]
        who = routers[copies]
        out[who, held[who]] = source[who]
        held[who] += 1
    return out


def _grouping(config: dict[str, Any]) -> tuple[int, int]:
    """Steps and slots that pass together: Broadcast01 alone sends slice0 slots for each of time0 steps in turn."""
    if config["kind"] != "Broadcast01":
        return 1, 1
    return int(config["time0"]), int(config["slice0"])


def _copied(flow: Flow, sources: Copies, time0: int, slice0: int, steps: int) -> Flow:
    """Output Time in the order of the copies: [time1, slice1, time0, slice0] for a group of time0 steps."""
    slices, copies = sources.shape
    groups = flow.raw.shape[0] // slices
    outer = flow.time // time0

    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[0] == 1 and part.shape[1] == 1:
            return part
        packet = part.shape[2]
        whole = np.broadcast_to(part, (groups * slices if part.shape[0] > 1 else slices, flow.time, packet))
        ringed = whole.reshape(-1, slices, outer, time0, packet)
        taken = ringed[:, np.maximum(sources, 0)]  # [groups, slices, copies, time1, time0, packet]
        split = taken.reshape(-1, slices, copies // slice0, slice0, outer, time0, packet)
        ordered = split.transpose(0, 1, 4, 2, 5, 3, 6)
        out = ordered.reshape(-1, flow.time * copies, packet)
        return out[:1] if part.shape[0] == 1 else out  # what no unit tells apart stays so

    return _with_silence(flow, flow.moved(move, steps), sources, time0, slice0)


def _with_silence(before: Flow, after: Flow, sources: Copies, time0: int, slice0: int) -> Flow:
    """Routers that heard fewer slots than others hold nothing there."""
    silent = sources < 0
    if not silent.any():
        return after
    slices, copies = sources.shape
    outer = before.time // time0
    mask = silent.reshape(slices, 1, copies // slice0, 1, slice0)
    mask = np.broadcast_to(mask, (slices, outer, copies // slice0, time0, slice0)).reshape(slices, -1)
    groups = before.raw.shape[0] // slices
    mask = np.tile(mask, (groups, 1))[:, :, None]
    poison = np.broadcast_to(mask, after.raw.shape)
    if after.poison is not None:
        poison = poison | after.poison
    kind = np.where(mask, np.int8(1), after.cells.kind)
    return Flow(after.dtype, after.raw, poison.copy(), Identity(kind, after.cells.index), after.steps)


def _own_steps_only(flow: Flow, sources: Copies, config: dict[str, Any], steps: int) -> Flow:
    """InterTranspose: a router copies only at the steps whose time1 is its own position in the ring."""
    slices, copies = sources.shape
    slice1, slice0, time0 = int(config["slice1"]), int(config["slice0"]), int(config["time0"])
    own = np.arange(slices) // slice0 % slice1
    time2 = flow.time // (slice1 * time0)
    groups = flow.raw.shape[0] // slices

    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[0] == 1 and part.shape[1] == 1:
            return part
        packet = part.shape[2]
        whole = np.broadcast_to(part, (groups * slices if part.shape[0] > 1 else slices, flow.time, packet))
        ringed = whole.reshape(-1, slices, time2, slice1, time0, packet)
        taken = ringed[:, np.maximum(sources, 0), :, own[:, None]]  # [slices, copies, groups, time2, time0, packet]
        out = taken.transpose(2, 0, 3, 4, 1, 5).reshape(-1, time2 * time0 * copies, packet)
        return np.ascontiguousarray(out)

    after = flow.moved(move, steps)
    if (sources >= 0).all():
        return after
    return _with_silence(Flow(flow.dtype, flow.raw[:, : time2 * time0], None, flow.cells), after, sources, 1, 1)
