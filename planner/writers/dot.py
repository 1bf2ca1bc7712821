"""The stage graph in the language of Graphviz: a box for each operation with its stages, edges and hazards between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from models.graph import Problem, stage_graph
from models.plan import Plan, PlannedOp

_EDGES = {
    "stream": "weight=4",
    "data": "color=black",
    "raw": "color=blue, style=dashed",
    "war": "color=orange, style=dashed",
    "waw": "color=red, style=dashed",
    "fence": "color=red, style=bold",
    "order": "color=gray, style=dotted",
}
"""How each reason for an edge is drawn."""


def dot(name: str, problem: Problem, plan: Plan | None = None) -> str:
    """Writes the graph of a problem; of a plan, times and the values chosen are added.

    Args:
        name: of the graph, the kernel's.
        problem: operations, edges and the open choices of each stage.
        plan: where given, it is a plan of this problem.

    """
    graph = stage_graph(problem)
    planned = {op.name: op for op in plan.ops} if plan else {}
    members: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for node, data in graph.nodes(data=True):
        members[data["operation"]].append((node, data))
    lines = [
        f"// tuplan: stage graph of {' '.join(name.split())}",
        f"digraph {_quoted(name)} {{",
        '  graph [rankdir=LR, fontname="sans-serif"];',
        '  node [shape=box, fontname="sans-serif", fontsize=10];',
        '  edge [fontname="sans-serif", fontsize=8];',
    ]
    for i, (operation, stages) in enumerate(members.items()):
        lines += _operation(i, operation, stages, planned.get(operation))
    lines += [_edge(a, b, data) for a, b, data in graph.edges(data=True)]
    return "\n".join([*lines, "}"]) + "\n"


def _operation(
    number: int, name: str, stages: list[tuple[str, Mapping[str, Any]]], planned: PlannedOp | None
) -> list[str]:
    head = [name, *_times(planned), *_choices(stages[0][1], planned)]
    lines = [f"  subgraph cluster_{number} {{", f"    label={_quoted(*head)};"]
    for node, data in stages:
        label = _quoted(data["step"], f"{data['cycles']:,} cycles")
        lines.append(f"    {_quoted(node)} [label={label}];")
    return [*lines, "  }"]


def _times(planned: PlannedOp | None) -> list[str]:
    if planned is None:
        return []
    return [f"{planned.start:,} to {planned.end:,} on {' + '.join(planned.contexts)}"]


def _choices(data: Mapping[str, Any], planned: PlannedOp | None) -> list[str]:
    """The contexts it may hold and the open choices; of a plan, the values chosen."""
    if planned is not None:
        return [f"{field} = {decision.chosen}" for field, decision in planned.decisions.items()]
    open_choices = [f"{field}: {' | '.join(values)}" for field, values in data["choices"].items()]
    return [f"holds {', '.join(data['contexts'])}", *open_choices]


def _edge(before: str, after: str, data: Mapping[str, Any]) -> str:
    words = [data["tensor"]] if data["tensor"] else []
    if data["reason"] not in ("stream", "data"):
        words.insert(0, data["reason"])
    if data["lag_cycles"]:
        words.append(f"+{data['lag_cycles']:,}")
    label = f", label={_quoted(' '.join(words))}" if words else ""
    return f"  {_quoted(before)} -> {_quoted(after)} [{_EDGES[data['reason']]}{label}];"


def _quoted(*lines: str) -> str:
    """A quoted string of one or more lines."""
    text = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n") + '"'
