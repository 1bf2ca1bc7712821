"""Snoop bitmaps: the plan's spelled out, and the simulator's own, found by enumerating output cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells, tensor_cells
from models.mapping import Axis, Mapping, pair
from simulator.layouts import Layouts
from simulator.values import Bits


def expand(bitmap: dict[str, Any], slices: int) -> Bits:
    """[output slice, input slice]: output slice r listens to pattern[r % period] + (r // period) * period."""
    pattern, period = bitmap["pattern"], int(bitmap["period"])
    out = np.zeros((slices, slices), dtype=np.bool_)
    for r in range(slices):
        for source in pattern[r % period]:
            at = int(source) + r // period * period
            if 0 <= at < slices:
                out[r, at] = True
    return out


def regular(config: dict[str, Any], slices: int) -> Bits:
    """The bitmap of a regular configuration, from the table's notation with an axis of its own per slot."""
    kind = config["kind"]
    slice1, slice0 = int(config.get("slice1") or 1), int(config.get("slice0") or 1)
    s2, s1, s0 = Axis("S2", slices // (slice1 * slice0)), Axis("S1", slice1), Axis("S0", slice0)
    x, y = Axis("X", slice1), Axis("Y", slice0)
    out: dict[str, tuple[Mapping, Mapping]] = {
        "Forwarding": (pair(s2, s1, s0), pair()),
        "Broadcast01": (pair(s2, x, y), pair(s1, s0)),
        "Broadcast1": (pair(s2, x, s0), s1),
        "Transpose": (pair(s2, s0, s1), pair()),
        "InterTranspose": (pair(s2, x, s0), s1),
        "TransposedBroadcast1": (pair(s2, y, s1), s0),
    }
    where, moved = out[kind]
    return _listens(_enumerated(pair(s2, s1, s0)), _enumerated(where, moved), ("S2", "S1", "S0"), slices)


def custom(layouts: Layouts, before: tuple[str, str], after: tuple[str, str]) -> Bits:
    """The bitmap of CustomBroadcast, from (Slice, Time) before and after."""
    source = _enumerated(layouts.mapping(before[0]), layouts.mapping(before[1]))
    wanted = _enumerated(layouts.mapping(after[0]), layouts.mapping(after[1]))
    axes = tuple(sorted(source.index))
    return _listens(source, wanted, axes, layouts.size(before[0]))


def _enumerated(where: Mapping, moved: Mapping | None = None) -> Cells:
    moved = moved or pair()
    at = np.arange(where.size, dtype=np.int64)[:, None]
    return tensor_cells([(where, at), (moved, np.arange(moved.size, dtype=np.int64)[None, :])])


def _listens(source: Cells, wanted: Cells, axes: tuple[str, ...], slices: int) -> Bits:
    """Which input slice holds the cell of each output position; the first one, where several hold it."""
    tops = {a: 1 + max(int(np.max(c.index[a])) for c in (source, wanted) if a in c.index) for a in axes}
    table = np.full(int(np.prod([tops[a] for a in axes], dtype=np.int64)), -1, dtype=np.int64)
    live = source.kind == LIVE
    table[_numbers(source, axes, tops)[live][::-1]] = np.argwhere(live)[::-1, 0]
    router = np.broadcast_to(np.arange(wanted.kind.shape[0])[:, None], wanted.kind.shape)
    found = np.where(wanted.kind == LIVE, table[_numbers(wanted, axes, tops)], -1)
    out = np.zeros((slices, slices), dtype=np.bool_)
    out[router[found >= 0], found[found >= 0]] = True
    return out


def _numbers(found: Cells, axes: tuple[str, ...], tops: dict[str, int]) -> NDArray[np.int64]:
    out = np.zeros(found.kind.shape, dtype=np.int64)
    for axis in axes:
        out = out * tops[axis] + found.index.get(axis, np.int64(0))
    return out
