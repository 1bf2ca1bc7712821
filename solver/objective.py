"""What is minimised: the makespan alone."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the objective."""
    model.minimize(variables.makespan)
