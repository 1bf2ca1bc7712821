"""The plan: decisions, schedule, memory, verification. A plan file is self-contained; its JSON fields are pinned."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from models.hardware import Hardware
from models.kernel import Kernel

SCHEMA_VERSION = 1

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
StoppedBy = Literal["proof", "time_limit", "local_optimum", "interrupt"]
"""Why a search ended; `local_optimum`: no part of a large plan could be improved any more, nothing is proved."""


class PlanRecord(BaseModel):
    """A frozen border model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stage(PlanRecord):
    """One stage of a pass as planned, with the layout that leaves it; mappings are text.

    `steps_cycles` is its step count (cycles page). `settings` hold what the engine is set to and what was derived,
    by the names of the case files (entries, read_bytes, ring_size, ...).
    """

    step: str
    dtype: str
    chip: str
    cluster: str
    slice: str
    time: str
    packet: str
    steps_cycles: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)


class Alternative(PlanRecord):
    """What another value of a choice would have cost; the figure comes from a solve of its own."""

    value: str
    makespan_cycles: int | None
    status: Literal["optimal", "feasible", "infeasible", "unknown", "illegal"]
    rule: str = ""
    message: str = ""


class Decision(PlanRecord):
    """A choice: the chosen value and what the others would have cost."""

    chosen: str
    alternatives: tuple[Alternative, ...] = ()


class PlannedOp(PlanRecord):
    """An operation with its times in cycles; `uses` maps tensor names of the kernel to buffer instances."""

    name: str
    base: str
    kind: Literal["dma", "pass", "bitmap_load"]
    contexts: tuple[str, ...]
    start: int
    end: int
    cycles: int
    decisions: dict[str, Decision] = Field(default_factory=dict)
    iteration: dict[str, int] = Field(default_factory=dict)
    program: str = ""
    uses: dict[str, str] = Field(default_factory=dict)
    bitmap: str | None = None


class MemoryEntry(PlanRecord):
    """Where an instance of a tensor lies, and for how long (start of its first writer, end of its last user).

    `address` in bytes per slice (dm, vrf); in the TRF `region`, `row`, the first physical row per bank, and `rows`.
    """

    tensor: str
    file: Literal["trf", "vrf", "dm"]
    region: str | None = None
    row: int | None = None
    rows: int | None = None
    address: int | None = None
    bytes: int
    start: int
    end: int
    dtype: str
    chip: str
    cluster: str
    slice: str
    lane: str = ""
    element: str
    shares: str = ""


class Source(PlanRecord):
    """A file the plan was made from."""

    path: str
    sha256: str


class SolverInfo(PlanRecord):
    """Who solved it, and how much work it was; no wall time, so that plans are reproducible."""

    name: str
    version: str
    seed: int
    workers: int
    deterministic_time: float
    branches: int
    conflicts: int


class Values(PlanRecord):
    """Comparison of one output with the reference: of all its elements, or of so many that were `sampled`."""

    ok: bool
    max_abs_error: float
    elements: int
    sampled: int | None = None


class Cycles(PlanRecord):
    """Planned makespan against the simulated one, None where nothing was simulated."""

    planned: int
    simulated: int | None
    ok: bool


class Violation(PlanRecord):
    """A rule that the simulator found broken."""

    rule: str
    op: str = ""
    found: str = ""
    wanted: str = ""
    message: str


class Verification(PlanRecord):
    """What the simulator says about a plan; `not_run` says why it could not execute it."""

    values: dict[str, Values] = Field(default_factory=dict)
    cycles: Cycles
    violations: tuple[Violation, ...] = ()
    not_run: str = ""

    @property
    def ok(self) -> bool:
        """Values equal, cycles equal, nothing broken."""
        return not self.not_run and self.cycles.ok and not self.violations and all(v.ok for v in self.values.values())


class Note(PlanRecord):
    """A sentence for the summary: what the planner found, chose or gained."""

    topic: str
    text: str
    cycles: int | None = None


class ChainLink(PlanRecord):
    """One operation of the chain that makes the makespan.

    It starts `wait_cycles` after `on` has ended (the frame's first start when `on` is empty). `why` it waited: frame,
    data, raw, war, waw, fence, order, main, sub, dma, vector, bitmap_load, region (TRF rows), vrf or dm (room).
    `tensor` is what both meet on, where they meet on memory.
    """

    op: str
    start: int
    end: int
    why: str
    on: str = ""
    tensor: str = ""
    wait_cycles: int = 0


class Plan(PlanRecord):
    """The whole plan; JSON of the pinned form."""

    schema_version: int = SCHEMA_VERSION
    tool: Literal["tuplan"] = "tuplan"
    kernel: Kernel
    hardware: Hardware
    sources: tuple[Source, ...] = ()
    status: Status
    stopped_by: StoppedBy
    makespan_cycles: int | None
    lower_bound_cycles: int | None
    gap: float | None
    ops: tuple[PlannedOp, ...] = ()
    memory: tuple[MemoryEntry, ...] = ()
    programs: dict[str, tuple[Stage, ...]] = Field(default_factory=dict)
    solver: SolverInfo
    verification: Verification | None = None
    chain: tuple[ChainLink, ...] = ()
    notes: tuple[Note, ...] = ()
    warnings: tuple[str, ...] = ()
