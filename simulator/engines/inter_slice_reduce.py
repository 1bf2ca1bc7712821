"""Reduction among slices: neighbouring slices of a ring fold into one value, which the freed slots take (section 8).

Not published hop by hop. Here a value visits the slices of its group in ascending order; every slot of the group then
picks the time steps whose promoted digits are its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.mapping import axis_names
from models.plan import Stage
from simulator.bench import Run, spatial
from simulator.engines.intra_slice_reduce import FOLDS, Partial, in_order
from simulator.layouts import Catalogue, Identity
from simulator.streams import Flow
from simulator.values import decode

Ints = NDArray[np.int64]
_OPS = {"i32": ("add", "addsat", "max", "min"), "f32": ("add", "max", "min", "mul")}
_GROUP = "<group>"


def reduce_among(run: Run, stage: Stage, flow: Flow, before: Stage) -> tuple[Flow, int]:
    """Folds groups of slices; gives the stream behind and how many slices make a group."""
    op = str(stage.settings["op"]).lower()
    if op not in _OPS.get(flow.dtype, ()):
        run.fail("op_not_supported", "no such reduction among slices", f"{op} of {flow.dtype}", _OPS[flow.dtype])
    ratio = own_ratio(run, before.slice, stage.slice)
    stated = int(stage.settings["ratio"])
    if stated != ratio:
        run.fail("settings_mismatch", "the reduction states another ratio", stated, ratio)
    values = decode(flow.raw, flow.dtype)
    groups = flow.raw.shape[0] // ratio
    poison = np.zeros(flow.raw.shape, dtype=np.bool_) if flow.poison is None else flow.poison
    shape = (groups, ratio, flow.time, flow.packet)
    given = Partial(values.reshape(shape), np.ones(shape, dtype=np.bool_), poison.reshape(shape))
    total = in_order(FOLDS[flow.dtype, op][0], given, 1)
    firsts = _firsts(flow, ratio)
    picked = _picked(run, stage, before, firsts, ratio)
    own = np.arange(groups * ratio)[:, None] // ratio
    raw = np.ascontiguousarray(total.values).view(np.uint32)[own, np.maximum(picked, 0)]
    lost = total.poison[own, np.maximum(picked, 0)] | (picked < 0)[:, :, None]
    return Flow(flow.dtype, raw, lost if lost.any() else None, _moved(firsts, picked, own), flow.time), ratio


def own_ratio(run: Run, slice_: str, out_slice: str) -> int:
    """The least number of neighbouring slices outside of which both Slices have the same cells.

    Raises:
        ValueError: there is none.

    """
    size = run.layouts.size(slice_)
    for ratio in (r for r in range(2, size + 1) if size % r == 0):
        outside = [run.layouts.inner(f"[{text}] / {ratio}") for text in (slice_, out_slice)]
        if outside[0].same_as(outside[1]).all():
            return ratio
    run.fail("inter_slice_ratio", "no group of slices turns one Slice into the other", out_slice, slice_)
    raise ValueError("no group of slices is reduced")


def _firsts(flow: Flow, ratio: int) -> Identity:
    """The cells of the first slice of every group: the reduced digits are at 0 there; live where any slice is."""
    units = flow.raw.shape[0]

    def first(part: NDArray[Any]) -> NDArray[Any]:
        return part[::ratio] if part.shape[0] == units else part

    kind = flow.cells.kind
    if kind.shape[0] == units:
        kind = np.where((kind.reshape(-1, ratio, *kind.shape[1:]) == LIVE).any(axis=1), np.int8(LIVE), kind[::ratio])
    return Identity(kind, flow.cells.moved(first).index)


def _picked(run: Run, stage: Stage, before: Stage, firsts: Identity, ratio: int) -> Ints:
    """[units, out Time]: the time step that each slot takes at each step behind; -1 where it is padding."""
    layouts = run.layouts
    claimed = layouts.identity(spatial(stage), (stage.time, "1"))
    axes = tuple(sorted(axis_names(layouts.mapping(before.time)) & firsts.index.keys()))
    units = layouts.units.groups * layouts.size(stage.slice)
    groups = units // ratio
    sizes = {**layouts.axes, _GROUP: groups}
    steps = layouts.size(before.time)
    time_only = {a: tuple(p[..., 0] for p in firsts.index[a]) for a in axes}
    known = Identity(firsts.kind[..., 0], {**time_only, _GROUP: (np.arange(groups)[:, None],)})
    catalogue = Catalogue.of(known, (_GROUP, *axes), sizes, (groups, steps))
    wanted = {a: tuple(p[..., 0] for p in claimed.index.get(a, ())) for a in axes}
    own = np.arange(units)[:, None] // ratio
    found = catalogue.find(Identity(claimed.kind[..., 0], {**wanted, _GROUP: (own,)}))
    found = np.broadcast_to(found, (units, layouts.size(stage.time)))
    return np.where(found < 0, -1, found % steps).astype(np.int64)


def _moved(firsts: Identity, picked: Ints, own: Ints) -> Identity:
    """What stands in each slot: the group's cell of the step that the slot has taken."""
    step = np.maximum(picked, 0)

    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[:2] == (1, 1):
            return part
        rows = own if part.shape[0] > 1 else np.zeros_like(own[:1])
        return part[rows, step] if part.shape[1] > 1 else part[rows[:, 0]]

    kind = np.where((picked < 0)[:, :, None], np.int8(1), firsts.moved(move).kind)
    return Identity(kind, firsts.moved(move).index)
