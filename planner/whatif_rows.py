"""One variant as one row: what its plan came to, in numbers and words that can be compared and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from models.graph import RESOURCES
from models.plan import MemoryEntry, Plan, StoppedBy
from planner.whatif_hint import Hint, hint_of

FILES = ("dm", "vrf", "trf")
Outcome = Literal["optimal", "feasible", "infeasible", "unknown", "wrong", "failed"]
"""As of a plan; wrong: the variant breaks a rule or did not verify; failed: planning it ended without an answer."""


class Row(BaseModel):
    """A variant and its plan. Cycles from 0 to the end of the final sync, peaks in bytes per slice.

    `changes`: what was changed, by path; `cycles`: of every operation of the kernel file, its iterations together;
    `busy`: cycles that each resource is held; `binds`: what makes most of the chain. `changed`: decisions that differ
    from the base (before, now); `sentences`: one per difference; `reason`: why there is no plan. `hint`: what a
    neighbour starts from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    changes: dict[str, str]
    status: Outcome
    stopped_by: StoppedBy | None = None
    makespan_cycles: int | None = None
    lower_bound_cycles: int | None = None
    gap: float | None = None
    verified: bool | None = None
    peak_bytes: dict[str, int] = Field(default_factory=dict)
    total_peak_bytes: int | None = None
    busy: dict[str, int] = Field(default_factory=dict)
    binds: str = ""
    cycles: dict[str, int] = Field(default_factory=dict)
    decisions: dict[str, str] = Field(default_factory=dict)
    changed: dict[str, tuple[str, str]] = Field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    reason: str = ""
    hint: Hint | None = None

    @property
    def planned(self) -> bool:
        """There is a plan, and nothing is wrong with it."""
        return self.status in ("optimal", "feasible")


def row_of(number: int, changes: dict[str, str], plan: Plan) -> Row:
    """The row of a plan; sentences and changes are added by who knows the base."""
    verdict = None if plan.verification is None or plan.verification.not_run else plan.verification.ok
    wrong = verdict is False
    undecided = "" if plan.makespan_cycles is not None else f"no plan within the limit ({plan.stopped_by})"
    return Row(
        id=number,
        changes=changes,
        status="wrong" if wrong else plan.status,
        stopped_by=plan.stopped_by,
        makespan_cycles=plan.makespan_cycles,
        lower_bound_cycles=plan.lower_bound_cycles,
        gap=plan.gap,
        verified=verdict,
        peak_bytes={file: peak(plan.memory, (file,)) for file in FILES},
        total_peak_bytes=peak(plan.memory, FILES),
        busy=busy(plan),
        binds=binds(plan),
        cycles=cycles_of(plan),
        decisions=decisions_of(plan),
        reason="the plan did not verify in the simulator" if wrong else undecided,
        hint=hint_of(plan),
    )


def peak(memory: Iterable[MemoryEntry], files: tuple[str, ...]) -> int:
    """The most bytes per slice that are alive at one time in these files together; relabelled places count once."""
    owned = [m for m in memory if m.file in files and not m.shares]
    return max((sum(m.bytes for m in owned if m.start <= at < m.end) for at in {m.start for m in owned}), default=0)


def busy(plan: Plan) -> dict[str, int]:
    """Cycles that each resource is held."""
    return {r: sum(o.cycles for o in plan.ops if r in o.contexts) for r in RESOURCES}


def cycles_of(plan: Plan) -> dict[str, int]:
    """Cycles by operation of the kernel file, all iterations together."""
    out: dict[str, int] = defaultdict(int)
    for op in plan.ops:
        out[op.base] += op.cycles
    return dict(out)


def shares(plan: Plan) -> dict[str, int]:
    """Cycles of the chain by what they went to: the resource of each link, or what the link waited for."""
    ops = {o.name: o for o in plan.ops}
    out: dict[str, int] = defaultdict(int)
    for link in plan.chain:
        out[" + ".join(ops[link.op].contexts)] += link.end - link.start
        if link.wait_cycles:
            out[f"waiting for {link.why}"] += link.wait_cycles
    return dict(out)


def binds(plan: Plan) -> str:
    """What most of the chain goes to, with its share: `dma 96 %`."""
    parts = shares(plan)
    if not parts or not plan.makespan_cycles:
        return ""
    most = max(parts, key=lambda name: (parts[name], name))
    return f"{most} {round(100 * parts[most] / plan.makespan_cycles)} %"


def decisions_of(plan: Plan) -> dict[str, str]:
    """Chosen values by `op.field`, and by `tensor.buffers` how many places a tensor's instances take turns in.

    Iterations that differ: all their values, in order of their names.
    """
    values: dict[str, set[str]] = defaultdict(set)
    for op in plan.ops:
        for field, decision in op.decisions.items():
            if field != "buffers":
                values[f"{op.base}.{field}"].add(decision.chosen)
    out = {path: ", ".join(sorted(found)) for path, found in values.items()}
    return out | dict(_places(plan))


def _places(plan: Plan) -> Iterator[tuple[str, str]]:
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for m in plan.memory:
        if m.file != "dm" and not m.shares:
            spans[m.tensor.partition("[")[0]].append((m.start, m.end))
    for tensor, lives in spans.items():
        if len(lives) > 1:
            yield f"{tensor}.buffers", str(max(sum(s <= at < e for s, e in lives) for at, _ in lives))
