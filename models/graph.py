"""The scheduling problem: operations with their ways of being done, edges, buffers; and the stage graph.

Built by the planner, read by the solver. Times are cycles, sizes bytes per slice, everything an integer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import networkx as nx

from models.hardware import Hardware
from models.plan import Stage

MAIN, SUB, DMA, VECTOR = "main", "sub", "dma", "vector"
RESOURCES = (MAIN, SUB, DMA, VECTOR)
"""What an operation may hold: the three contexts, and the Vector Engine, one at a time each."""

EdgeReason = Literal["data", "raw", "war", "waw", "fence", "order"]


@dataclass(frozen=True, slots=True)
class Mode:
    """One complete way to do an operation: every open choice decided.

    `id` is unique within the operation; `decisions` maps a field (`context`, `switch`, `lane_mode`, ...) to the value
    chosen here; `holds` are the resources held for all `cycles`; `bitmap` names the custom snoop bitmap that must be
    loaded before (equal names share one load); `program` keys the stages in the plan.
    """

    id: str
    decisions: dict[str, str]
    holds: frozenset[str]
    cycles: int
    program: str = ""
    bitmap: str | None = None


@dataclass(frozen=True, slots=True)
class Illegal:
    """A value of a choice that no mode has: which rule stops it, and why in one sentence."""

    decision: str
    value: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation after unrolling; `base` is its name in the kernel file, `iteration` the loop variables.

    `requires`: present only when the named operation is done in one of these modes (None: always present).
    `dominated`: legal modes that are never better than one of `modes`; only their price is of interest.
    """

    name: str
    base: str
    kind: Literal["dma", "pass"]
    modes: tuple[Mode, ...]
    iteration: tuple[tuple[str, int], ...] = ()
    illegal: tuple[Illegal, ...] = ()
    requires: tuple[str, frozenset[str]] | None = None
    dominated: tuple[Mode, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """`after` starts at least `lag_cycles` after `before` has ended; `tensor` is what they meet on."""

    before: str
    after: str
    reason: EdgeReason
    tensor: str = ""
    lag_cycles: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """One instance of an on-chip tensor. It is alive from the start of its first writer to the end of its last user.

    `bytes` per slice (dm, vrf). In the TRF `rows` are physical rows per bank (at 8 lanes: rows a tensor of fewer lanes
    sees are fewer physical ones, rounded up) and `regions` the address modes the kernel file leaves open.
    `lane` is empty outside the TRF. `fixed_address` is None where the planner places it.
    """

    name: str
    tensor: str
    file: Literal["dm", "trf", "vrf"]
    dtype: str
    chip: str
    cluster: str
    slice: str
    lane: str
    element: str
    bytes: int
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    rows: int = 0
    regions: tuple[str, ...] = ()
    fixed_address: int | None = None
    iteration: tuple[tuple[str, int], ...] = ()
    shares: str = ""
    """Name of the buffer whose place this one relabels (reshape); empty: a place of its own."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything the solver needs to know."""

    operations: tuple[Operation, ...]
    edges: tuple[Edge, ...]
    buffers: tuple[Buffer, ...]
    hardware: Hardware
    programs: dict[str, tuple[Stage, ...]] = field(default_factory=dict)

    def operation(self, name: str) -> Operation:
        """The operation of that name."""
        return next(o for o in self.operations if o.name == name)


REGION_ROWS: dict[str, tuple[int, int]] = {"full": (0, 2), "first_half": (0, 1), "second_half": (1, 2)}
"""Address modes as halves of a bank's rows: first half included, last half excluded."""


def region_rows(region: str, rows_per_bank: int) -> tuple[int, int]:
    """First row and row after the last of an address mode."""
    first, last = REGION_ROWS[region]
    return first * rows_per_bank // 2, last * rows_per_bank // 2


def operation_graph(problem: Problem) -> nx.DiGraph[str]:
    """Operations as nodes (attribute `operation`), edges with `reason`, `tensor` and `lag_cycles`."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for op in problem.operations:
        graph.add_node(op.name, operation=op)
    for edge in problem.edges:
        graph.add_edge(edge.before, edge.after, reason=edge.reason, tensor=edge.tensor, lag_cycles=edge.lag_cycles)
    return graph


def stage_graph(problem: Problem) -> nx.DiGraph[str]:
    """Pipeline stages and DMA operations as nodes, data edges inside a pass, edges and hazards between.

    A stage is called `operation/step`; attributes: `operation`, `step`, `cycles`, `contexts`, and the open `choices`.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    ends: dict[str, tuple[str, str]] = {}
    for op in problem.operations:
        mode = op.modes[0]
        names = _add_stages(graph, op, problem.programs.get(mode.program, ()))
        ends[op.name] = (names[0], names[-1])
    for edge in problem.edges:
        graph.add_edge(
            ends[edge.before][1],
            ends[edge.after][0],
            reason=edge.reason,
            tensor=edge.tensor,
            lag_cycles=edge.lag_cycles,
        )
    return graph


def _add_stages(graph: nx.DiGraph[str], op: Operation, stages: tuple[Stage, ...]) -> list[str]:
    fields = {f for m in op.modes for f in m.decisions}
    choices = {f: sorted({m.decisions[f] for m in op.modes if f in m.decisions}) for f in sorted(fields)}
    open_choices = {f: values for f, values in choices.items() if len(values) > 1}
    contexts = sorted({r for m in op.modes for r in m.holds})
    names: list[str] = []
    for stage in stages or (None,):
        name = f"{op.name}/{stage.step}" if stage and op.kind == "pass" else op.name
        name = name if name not in names else f"{name}{len(names)}"
        cycles = stage.steps_cycles if stage and op.kind == "pass" else op.modes[0].cycles
        step = stage.step if stage else op.kind
        graph.add_node(name, operation=op.name, step=step, cycles=cycles, contexts=contexts, choices=open_choices)
        if names:
            graph.add_edge(names[-1], name, reason="stream", tensor="", lag_cycles=0)
        names.append(name)
    return names
