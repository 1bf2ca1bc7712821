"""Data edges and memory hazards keep their order, with their lags (domain: section 3)."""

from __future__ import annotations

from ortools.sat.python import cp_model

from models.graph import Edge, EdgeReason
from solver.solution import Guard
from solver.variables import Variables

RULE_OF: dict[EdgeReason, str] = {
    "data": "data_hazard_raw",
    "raw": "data_hazard_raw",
    "war": "data_hazard_war",
    "waw": "data_hazard_waw",
    "fence": "fence_missing",
    "order": "starts_too_early",
}
"""The rule that an edge stands for."""


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds one precedence per edge; an edge of an absent operation does not hold."""
    for edge in variables.index.problem.edges:
        a, b = variables.task(edge.before), variables.task(edge.after)
        when = [lit for lit in (a.present, b.present) if lit is not None]
        when += variables.guards(guard_of(edge))
        model.add(a.end + edge.lag_cycles <= b.start).only_enforce_if(when)


def guard_of(edge: Edge) -> Guard:
    """The guard of an edge."""
    rule = "fence_missing" if edge.reason == "raw" and edge.lag_cycles else RULE_OF[edge.reason]
    where = f" on {edge.tensor}" if edge.tensor else ""
    message = f"`{edge.after}` comes after `{edge.before}` ({edge.reason}{where})"
    return Guard(rule, (edge.before, edge.after), message=message)
