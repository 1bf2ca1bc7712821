"""What stands in a stream against what a stage's mappings say stands there.

Engines move the identity of every cell just as they move its value. A stage that puts a live cell where another
cell or padding physically stands has broken its engine's rule.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.plan import Stage
from simulator.bench import Run, spatial
from simulator.layouts import Identity, Ints
from simulator.streams import Flow

Explain = Callable[[Identity, Identity, int], tuple[str, str] | None]
"""Names the rule that a claim breaks at a unit, and how, from what stands there and what is claimed."""

RULE_OF_STEP = {
    "fetch": "fetch_not_addressable",
    "switch": "switch_time_shape",
    "collect": "collect_packet_mismatch",
    "to_trf": "lane_mismatch",
    "to_vrf": "element_mismatch",
    "contract_outer": "contract_time_out",
    "contract_packet": "contract_packet_mismatch",
    "contract_time": "contract_time_mismatch",
    "contract_lane": "contract_lane_time",
    "cast": "cast_packet_mismatch",
    "commit": "commit_not_addressable",
}
"""The engine's own rule for a wrong layout; other steps say claim_mismatch."""


def confirmed(run: Run, stage: Stage, flow: Flow, explain: Explain | None = None) -> Flow:
    """Checks a stage's claim and gives the flow with the claimed cells; `explain` may know more of what is wrong."""
    time, packet = run.layouts.size(stage.time), run.layouts.size(stage.packet)
    if not _sizes_agree(run, stage, flow, time, packet):
        return flow
    claimed = run.layouts.identity(spatial(stage), (stage.time, stage.packet)).only(flow.cells.index)
    compare(run, stage.step, flow.cells, claimed, explain)
    return Flow(flow.dtype, flow.raw, flow.poison, claimed, flow.steps)


def confirmed_tile(run: Run, stage: Stage, flow: Flow, tile: tuple[str, int] | None) -> Flow:
    """The same for a fetch, whose source holds true indices while the pass counts from the tile's start."""
    if not _sizes_agree(run, stage, flow, run.layouts.size(stage.time), run.layouts.size(stage.packet)):
        return flow
    inner = (stage.time, stage.packet)
    compare(run, stage.step, flow.cells, run.layouts.identity(spatial(stage), inner, tile))
    claimed = run.layouts.identity(spatial(stage), inner).only(flow.cells.index)
    return Flow(flow.dtype, flow.raw, flow.poison, claimed, flow.steps)


def _sizes_agree(run: Run, stage: Stage, flow: Flow, time: int, packet: int) -> bool:
    found = (flow.raw.shape[0], flow.time, flow.packet)
    wanted = (run.layouts.units.groups * run.layouts.size(stage.slice), time, packet)
    if found == wanted:
        return True
    rule = _size_rule(stage.step, found, wanted)
    run.fail(rule, f"`{stage.step}` gives units x Time x Packet of another size", found, wanted)
    return False


def _size_rule(step: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    if step == "collect":
        return "output_not_one_flit" if found[2] != wanted[2] else "collect_time_mismatch"
    if found[0] != wanted[0]:
        return {"switch": "slice_size_mismatch", "fetch": "fetch_placement"}.get(step, "claim_mismatch")
    return RULE_OF_STEP.get(step, "claim_mismatch")


def compare(run: Run, step: str, physical: Identity, claimed: Identity, explain: Explain | None = None) -> bool:
    """Reports a live claim that another cell or padding physically stands at; gives whether all agree."""
    wrong = mismatches(physical, claimed)
    if wrong is None:
        return True
    known = explain(physical, claimed, wrong[0]) if explain is not None else None
    rule, why = known or (RULE_OF_STEP.get(step, "claim_mismatch"), "")
    message = f"`{step}` claims a live cell where another stands" + (f": {why}" if why else "")
    run.fail(rule, message, _cell(physical, wrong), _cell(claimed, wrong))
    return False


def mismatches(physical: Identity, claimed: Identity) -> tuple[int, ...] | None:
    """The first position with a live claim that does not hold, None when all hold.

    An axis that only the claim has is a new broadcast; one that only the stream has must stand at 0, which is
    where a sum leaves it.
    """
    live = claimed.kind == LIVE
    lost = live & (physical.kind != LIVE)
    if lost.any():
        return _first(lost)
    everywhere = bool(live.all())
    for axis in physical.index:
        difference = _difference(physical.index[axis], claimed.index.get(axis, ()))
        if everywhere and _cancel(difference):
            continue
        total = sum(difference[1:], start=difference[0]) if difference else np.zeros(())
        wrong = (total != 0) & live
        if wrong.any():
            return _first(wrong)
    return None


def _first(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))


def _difference(plus: tuple[Ints, ...], minus: tuple[Ints, ...]) -> list[Ints]:
    """Parts of a difference, added up apart for those that vary over units and those that do not."""
    sums: dict[bool, Ints] = {}
    for parts, sign in ((plus, 1), (minus, -1)):
        for part in parts:
            over_units = part.shape[0] > 1
            sums[over_units] = sums[over_units] + sign * part if over_units in sums else sign * part
    return list(sums.values())


def _cancel(parts: list[Ints]) -> bool:
    """Whether parts over separate dimensions add up to 0 everywhere: each is constant, and the constants cancel."""
    if not parts:
        return True
    total = 0
    for part in parts:
        low, high = int(part.min()), int(part.max())
        if low != high:
            return False
        total += low
    return total == 0


def _cell(identity: Identity, at: tuple[int, ...]) -> str:
    def pick(array: NDArray[np.int64]) -> int:
        return int(array[tuple(min(i, n - 1) for i, n in zip(at, array.shape, strict=True))])

    if pick(identity.kind.astype(np.int64)) != LIVE:
        return f"padding at {at}"
    return f"{ ({name: sum(pick(p) for p in parts) for name, parts in identity.index.items()}) } at {at}"
