"""Reduction inside a slice: a tree over the lanes of a flit, then an accumulator over time (seed 004)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.mapping import axis_names
from models.plan import Stage
from simulator.bench import Run, spatial
from simulator.engines import arithmetic
from simulator.engines.contraction import time_groups
from simulator.engines.valid_count import beyond, on_four_ways
from simulator.layouts import Identity
from simulator.streams import Flow
from simulator.values import Bits, decode

Numbers = NDArray[Any]
Ints = NDArray[np.int64]
Fold = Callable[[Numbers, Numbers], Numbers]
_LOWEST, _HIGHEST = -(2**31), 2**31 - 1

FOLDS: dict[tuple[str, str], tuple[Fold, float]] = {
    ("i32", "add"): (arithmetic.INTEGER["addfxp"], 0),
    ("i32", "addsat"): (arithmetic.INTEGER["addfxpsat"], 0),
    ("i32", "max"): (arithmetic.INTEGER["max"], _LOWEST),
    ("i32", "min"): (arithmetic.INTEGER["min"], _HIGHEST),
    ("f32", "add"): (arithmetic.FLOAT["addf"], 0.0),
    ("f32", "max"): (arithmetic.FLOAT["max"], -np.inf),
    ("f32", "min"): (arithmetic.FLOAT["min"], np.inf),
    ("f32", "mul"): (arithmetic.FLOAT["mulf"], 1.0),
}
"""By type and operation: what two values become, and what a fold of nothing leaves."""
_INSIDE = {"i32": ("addsat", "max", "min"), "f32": ("add", "max", "min")}


@dataclass(frozen=True, slots=True)
class Partial:
    """Values on their way through a fold: `taken` is where there is one at all, `poison` where it is undefined."""

    values: Numbers
    taken: Bits
    poison: Bits

    def at(self, where: Any) -> Partial:  # noqa: ANN401 - an index of numpy
        """A part of all three."""
        return Partial(self.values[where], self.taken[where], self.poison[where])


def folded_pair(fold: Fold, a: Partial, b: Partial) -> Partial:
    """One step: what nobody counts leaves the other side as it is."""
    both = a.taken & b.taken
    values = np.where(both, fold(a.values, b.values), np.where(a.taken, a.values, b.values))
    poison = (a.poison & a.taken) | (b.poison & b.taken)
    return Partial(values, a.taken | b.taken, poison)


def tree(fold: Fold, lanes: Partial) -> Partial:
    """op(op(a, b), op(c, d)) over the last dimension, which stays with size 1."""
    while lanes.values.shape[-1] > 1:
        lanes = folded_pair(fold, lanes.at((..., slice(0, None, 2))), lanes.at((..., slice(1, None, 2))))
    return lanes


def in_order(fold: Fold, steps: Partial, axis: int) -> Partial:
    """The accumulator: one value after the other along a dimension, which goes."""
    total = steps.at((slice(None),) * axis + (0,))
    for i in range(1, steps.values.shape[axis]):
        total = folded_pair(fold, total, steps.at((slice(None),) * axis + (i,)))
    return total


def reduce_inside(run: Run, stage: Stage, flow: Flow, before: Stage) -> Flow:
    """Folds the axis out of Time and Packet; what is not taken counts for nothing, nothing leaves the identity."""
    settings, axis = stage.settings, str(stage.settings["axis"])
    op = str(settings["op"]).lower()
    if op not in _INSIDE.get(flow.dtype, ()):
        run.fail("op_not_supported", "no such reduction inside a slice", f"{op} of {flow.dtype}", _INSIDE[flow.dtype])
    fold, identity = FOLDS[flow.dtype, op]
    members = _members(run, before, stage, flow)
    over_lanes = axis in axis_names(run.layouts.mapping(before.packet))
    _same_cell(run, flow, axis, members, over_lanes=over_lanes)
    taken = _taken(run, stage, flow, members, over_lanes=over_lanes)
    poison = np.zeros((1, 1, 1), dtype=np.bool_) if flow.poison is None else flow.poison
    given = Partial(
        decode(flow.raw, flow.dtype), np.broadcast_to(taken, flow.raw.shape), np.broadcast_to(poison, flow.raw.shape)
    )
    result = in_order(fold, (tree(fold, given) if over_lanes else given).at((slice(None), members)), 2)
    values = np.where(result.taken, result.values, np.array(identity).astype(result.values.dtype))
    out = _spread(values, result.poison & result.taken, flow.packet)
    _state(run, stage, members, over_lanes=over_lanes)
    cells = _cells(flow.cells, flow, members[:, 0], over_lanes=over_lanes)
    raw = np.ascontiguousarray(out[0]).view(np.uint32)
    return Flow(flow.dtype, raw, out[1], cells, flow.time)


def _members(run: Run, before: Stage, stage: Stage, flow: Flow) -> Ints:
    """[results, flits of each]: which time steps fall on every output step, in order of arrival."""
    group, _ = time_groups(run, before.time, stage.time)
    count = run.layouts.size(stage.time)
    each = np.bincount(group[group >= 0], minlength=count)
    if len(group) != flow.time or group.min() < 0 or (each != each[0]).any():
        run.fail("reduce_time_mismatch", "the time steps do not fall evenly on those behind", before.time, stage.time)
        raise ValueError("the time steps do not fall evenly on those behind the reduction")
    return np.argsort(group, kind="stable").reshape(count, -1)


def _spread(values: Numbers, poison: Bits, packet: int) -> tuple[Numbers, Bits | None]:
    """A tree leaves its value in the first lane; nobody wrote the others."""
    more = packet - values.shape[-1]
    if more:
        pads = [(0, 0), (0, 0), (0, more)]
        return np.pad(values, pads), np.pad(poison, pads, constant_values=True)
    return values, poison if poison.any() else None


def _cells(cells: Identity, flow: Flow, first: Ints, *, over_lanes: bool) -> Identity:
    """Every result stands where the first that it is folded of stood; the reduced axis is at 0 there."""

    def move(part: NDArray[Any]) -> NDArray[Any]:
        part = part[:, first] if part.shape[1] > 1 else part
        return part[..., :1] if over_lanes else part

    moved = cells.moved(move)
    if not over_lanes:
        return moved
    kind = np.broadcast_to(moved.kind, (*moved.kind.shape[:2], 1))
    return Identity(np.pad(kind, [(0, 0), (0, 0), (0, flow.packet - 1)], constant_values=1), moved.index)


def _same_cell(run: Run, flow: Flow, axis: str, members: Ints, *, over_lanes: bool) -> None:
    """All that is folded together agrees on every other axis."""
    live = np.broadcast_to(flow.cells.kind == LIVE, (flow.cells.kind.shape[0], *flow.raw.shape[1:]))
    for name, parts in flow.cells.index.items():
        moving = [p for p in parts if p.shape[1:] != (1, 1)]
        if name == axis or not moving:
            continue
        index = sum(moving[1:], start=moving[0])
        index = np.broadcast_to(index, (index.shape[0], *flow.raw.shape[1:]))
        wanted = index[:, members[:, :1]]
        wanted = wanted[..., :1] if over_lanes else wanted
        wrong = (index[:, members] != wanted) & live[:, members]
        if wrong.any():
            rule = "reduce_packet_mismatch" if over_lanes else "reduce_time_mismatch"
            run.fail(rule, f"cells of different {name} are folded into each other", name, axis)


# Which elements count ---------------------------------------------------------------------------------------


def _taken(run: Run, stage: Stage, flow: Flow, members: Ints, *, over_lanes: bool) -> Bits:
    """[units or 1, Time, Packet]: what the accumulator takes.

    With the generator's settings, what those say; without any, in `vcg` mode, what the mapping says. Otherwise
    everything, padding too.
    """
    settings = stage.settings
    live = np.broadcast_to(flow.cells.kind == LIVE, (flow.cells.kind.shape[0], *flow.raw.shape[1:]))
    _check_live(run, stage, live, members, over_lanes=over_lanes)
    if settings.get("mask", "none") != "vcg":
        return np.ones((1, 1, 1), dtype=np.bool_)
    if settings.get("vcg") is None:
        return live
    if lacking := beyond(settings["vcg"], run.bench.plan.hardware):
        run.fail("settings_mismatch", f"the valid count generator has no such {lacking[0]}", *lacking[1:])
    slices, narrow = run.layouts.size(stage.slice), run.bench.plan.hardware.vector.ways_narrow
    counts = on_four_ways(settings["vcg"], int(settings["vcg_ways"]), slices, flow.time, narrow)
    tagged = np.tile(np.arange(flow.packet) < counts[:, :, None], (run.layouts.units.groups, 1, 1))
    _check_tags(run, stage, tagged, live, members, over_lanes=over_lanes)
    return tagged


def _check_tags(run: Run, stage: Stage, tagged: Bits, live: Bits, members: Ints, *, over_lanes: bool) -> None:
    """The generator's settings count exactly the live cells, wherever somebody's result comes of it."""
    claimed = run.layouts.identity(spatial(stage), (stage.time, stage.packet)).kind == LIVE
    shape = (tagged.shape[0], len(members), 1 if over_lanes else tagged.shape[2])
    wanted = np.broadcast_to(claimed[..., : shape[2]], shape)
    wrong = (tagged != live)[:, members] & wanted[:, :, None, :]
    if wrong.any():
        unit, result, step, lane = np.unravel_index(int(wrong.argmax()), wrong.shape)
        at = (int(unit), int(members[result, step]), int(lane))
        message = "the valid count generator's settings do not give the live elements"
        found = "counted" if np.broadcast_to(tagged, wrong.shape[:1] + tagged.shape[1:])[at] else "left out"
        run.fail("settings_mismatch", message, f"{found} at slice, step, lane {at}", "the cells of the mapping")


def _check_live(run: Run, stage: Stage, live: Bits, members: Ints, *, over_lanes: bool) -> None:
    """The plan's own count of live elements in the first result, slice by slice."""
    stated = stage.settings.get("live")
    if stated is None:
        return
    slices = run.layouts.size(stage.slice)
    part = np.broadcast_to(live, (max(slices, live.shape[0]), *live.shape[1:]))[:slices, members[0]]
    own = (part if over_lanes else part[..., :1]).sum(axis=(1, 2)).tolist()
    if list(stated) != own:
        run.fail("settings_mismatch", "the stage states other counts of live elements", stated, own)


# Slots and delays -------------------------------------------------------------------------------------------


def slots(members: Ints) -> int:
    """How many sums are open at once: a slot is taken from a result's first flit to its last."""
    first, last = members.min(axis=1), members.max(axis=1)
    opened = np.searchsorted(np.sort(first), np.arange(members.size), side="right")
    closed = np.searchsorted(np.sort(last), np.arange(members.size), side="left")
    return int((opened - closed).max())


def result_cycles(members: Ints, side_by_side: int) -> Ints:
    """The cycle in which each result leaves, flits arriving one a cycle from cycle 1 on.

    Results of one filling of the slots leave without a gap, so that the first one waits until all others can follow.
    """
    blocks = (members.max(axis=1) + 1).reshape(-1, side_by_side)
    place = np.arange(side_by_side)
    return np.asarray(((blocks - place).max(axis=1, keepdims=True) + place).reshape(-1))


def _state(run: Run, stage: Stage, members: Ints, *, over_lanes: bool) -> None:
    """What the stage derived, against the accumulator's own timeline."""
    used, steps = slots(members), members.shape[1]
    most = run.bench.plan.hardware.vector.time_slots
    if used > most:
        run.fail("too_many_slots", "too many sums are open at once", used, f"at most {most}")
    own = {
        "slots": used,
        "first_output_delay": steps,
        "reduced_steps": steps,
        "stall_flits": int(result_cycles(members, used)[0]),
        "tree": over_lanes,
    }
    for key, value in own.items():
        stated = stage.settings.get(key)
        if stated is not None and stated != value:
            run.fail("settings_mismatch", f"the reduction states another {key}", stated, value)
