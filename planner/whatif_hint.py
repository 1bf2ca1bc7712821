"""A plan to start from: what of a neighbour's plan the solver takes as its first candidate."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from models.graph import Problem
from models.plan import Plan
from solver import BitmapLoad, Solution

_TRANSFER_MODE = "dma"
_LOAD_SUFFIX = ".bitmap"


class Hint(BaseModel):
    """Starts in cycles and modes by operation, places of buffers, and bitmap loads (operation, bitmap, start, end)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    starts: dict[str, int]
    modes: dict[str, str]
    regions: dict[str, tuple[str, int]] = Field(default_factory=dict)
    addresses: dict[str, int] = Field(default_factory=dict)
    loads: tuple[tuple[str, str, int, int], ...] = ()


def hint_of(plan: Plan) -> Hint | None:
    """The order and the choices of a plan; None when it has no operations."""
    ops = [o for o in plan.ops if o.kind != "bitmap_load"]
    if not ops:
        return None
    owners = [m for m in plan.memory if not m.shares]
    return Hint(
        starts={o.name: o.start for o in ops},
        modes={o.name: o.program.partition(":")[2] or _TRANSFER_MODE for o in ops},
        regions={m.tensor: (m.region, m.row) for m in owners if m.region is not None and m.row is not None},
        addresses={m.tensor: m.address for m in owners if m.address is not None},
        loads=tuple(
            (o.name.removesuffix(_LOAD_SUFFIX), o.bitmap or "", o.start, o.end)
            for o in plan.ops
            if o.kind == "bitmap_load"
        ),
    )


def solution_of(hint: Hint | None, problem: Problem) -> Solution | None:
    """The hint as a solution of this problem; None when it has other operations or other ways to do them."""
    if hint is None:
        return None
    known = {o.name: {m.id for m in o.modes} for o in problem.operations}
    needed = {o.name for o in problem.operations if o.requires is None}
    fits = needed <= set(hint.modes) and all(mode in known.get(op, ()) for op, mode in hint.modes.items())
    if not fits:
        return None
    loads = tuple(BitmapLoad(*load) for load in hint.loads)
    return Solution(
        "feasible", "time_limit", None, 0, hint.starts, hint.modes, hint.regions, hint.addresses, loads=loads
    )
