"""Pairs: a stream split along a 2-way axis of Time into two that run in lock-step, until a zip op joins them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator import claims
from simulator.bench import Run
from simulator.engines import arithmetic
from simulator.engines.vector_chain import GROUP_BIT, Chain
from simulator.streams import Flow
from simulator.values import decode

Act = Callable[[Run, Stage, Flow, Chain], Flow]
GROUPS = 2
_TERNARY = "fp_ternary"


def unzipped(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """Group 0 flows on; group 1 beside it. The group of an element is its index on the axis, its tag bit 3."""
    if chain.before is None:
        raise LookupError("unzip has no stream to work on")
    axis = str(stage.settings.get("axis") or stage.settings.get("value"))
    at = run.layouts.inner(chain.before.time).index.get(axis)
    if at is None or run.layouts.axes[axis] != GROUPS:
        run.fail("unzip_axis", "unzip splits a 2-way axis of Time", axis, chain.before.time)
        raise ValueError("unzip has no axis to split")
    group = np.broadcast_to(at, (flow.time,))
    _check_stride(run, stage, group)
    first, second = (_taken(flow, np.flatnonzero(group == g)) for g in range(GROUPS))
    others = [a for a in flow.cells.index if a != axis]
    claims.compare(run, "vector", second.cells.only(others), first.cells.only(others))
    tag = np.full(second.raw.shape, 1 << GROUP_BIT, dtype=np.uint8)
    chain.partner, chain.partner_chain = second, Chain(chain.before, tags=tag)
    return first.with_values(first.dtype, first.raw, flow.time)


def _check_stride(run: Run, stage: Stage, group: NDArray[np.int64]) -> None:
    stride = stage.settings.get("group_stride")
    if stride is not None and (np.arange(len(group)) // int(stride) % GROUPS != group).any():
        run.fail("settings_mismatch", "unzip states another stride of groups", stride, group.tolist()[:8])


def _taken(flow: Flow, steps: NDArray[np.int64]) -> Flow:
    def take(part: NDArray[Any]) -> NDArray[Any]:
        return part if part.shape[1] == 1 else part[:, steps]

    return flow.moved(take, flow.time)


def on_pairs(act: Act, run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """Runs an op on both groups with the operands of each; a group without operands stays as it is."""
    assert chain.partner is not None
    assert chain.partner_chain is not None
    own = [_of_group(stage, g) for g in range(GROUPS)]
    first = flow if own[0] is None else act(run, own[0], flow, chain)
    if own[1] is not None:
        chain.partner = act(run, own[1], chain.partner, chain.partner_chain)
    steps = GROUPS * max(flow.time, first.time)
    return first.with_values(first.dtype, first.raw, steps)


def _of_group(stage: Stage, group: int) -> Stage | None:
    """The stage as one group sees it; None where the group takes no part."""
    settings = stage.settings
    listed = settings.get("operands")
    per_group = 2 if settings["name"] == _TERNARY else 1
    if listed is None or len(listed) != per_group * GROUPS:
        return stage
    own = listed[group * per_group : (group + 1) * per_group]
    if own[0] is None:
        return None
    changed = {"operands": own} if per_group > 1 else {"operands": None, "operand": own[0]}
    return stage.model_copy(update={"settings": settings | changed})


def joined(stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """A zip op: the slots of the mode are the groups.

    Raises:
        LookupError: there are no groups.

    """
    other = chain.partner
    if other is None:
        raise LookupError(f"`{stage.settings['name']}` joins two groups, there are none")
    groups = [decode(f.raw, f.dtype) for f in (flow, other)]
    masks = [f.poison for f in (flow, other)]
    digits = [int(d) for d in str(stage.settings.get("mode") or "01")]
    numbers = arithmetic.binary(stage.settings.get("op"), flow.dtype)(groups[digits[0]], groups[digits[1]])
    poison = None
    for mask in (masks[d] for d in digits):
        poison = mask if poison is None else poison if mask is None else poison | mask
    chain.partner = chain.partner_chain = None
    raw = np.ascontiguousarray(numbers).view(np.uint32)
    return Flow(flow.dtype, raw, poison, flow.cells, GROUPS * flow.time)
