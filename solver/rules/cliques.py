"""Operations that exclude each other in all their modes, as one machine: implied by the contexts, found by no rule."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver.machines import cliques
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds one machine per clique across resources; an explanation names contexts, not what follows from them."""
    for machine in () if variables.guards.on else cliques(variables.index):
        tasks = [variables.task(name) for name in machine]
        model.add_no_overlap([model.new_interval_var(t.start, t.size, t.end, t.op.name) for t in tasks])
