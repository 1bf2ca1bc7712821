"""Switch: packets go round the ring; what leaves a slice is what its router copied, in the order of copying."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES
from models.plan import Stage
from simulator.bench import Run
from simulator.engines.ring import NOTHING, ROOM, Copies, Ints, Turn, copied, most_held, turn_of, turns_taken
from simulator.engines.snoop import expand
from simulator.layouts import Identity, numbered
from simulator.streams import Flow

TRAVELLING_BITS = {"i5": 4, "i9": 8}
"""Zero points are subtracted on the way to the multipliers; until then such elements are as wide as in memory."""


def switch(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Passes every input step around the ring; what leaves is what the routers copied, in that order."""
    config, ring = stage.settings["config"], int(stage.settings["ring_size"])
    if config["kind"] == "Forwarding":
        return flow.moved(lambda part: part, 0)
    slices = run.layouts.size(stage.slice)
    turn = turn_of(config, ring)
    if flow.time % turn.steps or flow.raw.shape[0] % slices:
        raise ValueError(f"a turn of {turn.steps} steps does not divide a Time of {flow.time} steps")
    copies = copied(turn, expand(stage.settings["bitmap"], slices), ring, run.bench.dead_routers)
    turns = turns_taken(config, slices, flow.time // turn.steps)
    return _emitted(flow, turn, copies, turns, ring_steps(run, flow, turn, ring))


def ring_steps(run: Run, flow: Flow, turn: Turn, ring: int) -> int:
    """Cycles in a pass: every slot that passes takes its flits; beside that the pass's extra steps."""
    hardware = run.bench.plan.hardware
    bits = TRAVELLING_BITS.get(flow.dtype, DTYPES[flow.dtype].bits)
    flits = -(-flow.packet * bits // (8 * hardware.geometry.flit_bytes))
    slots = flow.time // turn.steps * turn.slots
    tenths = (slots * flits + ring * hardware.switch.pass_extra_steps) * hardware.switch.ring_tenths_per_flit
    return (tenths + 9) // 10


def _emitted(flow: Flow, turn: Turn, copies: Copies, turns: Ints, steps: int) -> Flow:
    """Output Time: turn by turn what a router copied."""
    slices, most = copies.source.shape
    source = np.maximum(copies.source, 0)[:, None, :]
    step = turns[:, :, None] * turn.steps + np.maximum(copies.step, 0)[:, None, :]
    alike = bool((step == step[:1]).all())

    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[0] == 1 and part.shape[1] == 1:
            return part
        if part.shape[0] == 1 and alike:
            return part[:, step[0].ravel()]  # what no unit tells apart stays so
        whole = np.broadcast_to(part, (flow.raw.shape[0], flow.time, part.shape[2]))
        taken = whole.reshape(-1, slices, flow.time, part.shape[2])[:, source, step]
        return taken.reshape(flow.raw.shape[0], -1, part.shape[2])

    silent = np.broadcast_to(copies.source[:, None, :] == NOTHING, (slices, turns.shape[1], most))
    return _with_silence(flow.moved(move, steps), silent.reshape(slices, -1))


def _with_silence(flow: Flow, silent: NDArray[np.bool_]) -> Flow:
    """Where a router has copied fewer packets than others, nothing comes."""
    if not silent.any():
        return flow
    mask = np.tile(silent, (flow.raw.shape[0] // len(silent), 1))[:, :, None]
    poison = np.broadcast_to(mask, flow.raw.shape)
    if flow.poison is not None:
        poison = poison | flow.poison
    kind = np.where(mask, np.int8(1), flow.cells.kind)
    return Flow(flow.dtype, flow.raw, poison.copy(), Identity(kind, flow.cells.index), flow.steps)


def order_fault(run: Run, physical: Identity, claimed: Identity, unit: int, packets: int) -> tuple[str, str] | None:
    """Which rule of a custom configuration an output's order breaks in a unit, and in what way.

    A router that would emit its copies in the claimed order has to hold some back. Held across input steps, what moves
    does not stand innermost; held within one, its order is another than in Slice. None where the claim is no order of
    what was copied; `packets` are copied per input step.
    """
    axes = tuple(sorted(physical.index))
    sizes = run.layouts.axes_with(axes)
    came, wanted = (_cells_in_time(side, axes, sizes, unit) for side in (physical, claimed))
    places = {int(cell): at for at, cell in reversed(list(enumerate(came))) if cell >= 0}
    if any(int(cell) not in places for cell in wanted if cell >= 0):
        return None
    arrivals = np.array([places[int(cell)] for cell in wanted if cell >= 0], dtype=np.int64)
    held = most_held(arrivals)
    if held <= ROOM:
        return None
    across = bool((np.diff(arrivals // packets) < 0).any())
    rule = "moved_not_innermost" if across else "moved_order_not_preserved"
    return rule, f"in this order a router would have to hold {held} packets, it has room for {ROOM}"


def _cells_in_time(side: Identity, axes: tuple[str, ...], sizes: dict[str, int], unit: int) -> Ints:
    """The number of the first cell of every packet of a unit; NOTHING for padding."""
    numbers = numbered(side, axes, sizes).astype(np.int64)
    cells = np.where(side.kind == LIVE, numbers, NOTHING)
    return np.asarray(cells[min(unit, cells.shape[0] - 1), :, 0])
