"""Tensors alive together fit into the data memory of a slice (domain: section 2)."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver.rules import capacity
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the data memory's capacity over lifetimes."""
    capacity.cumulative(model, variables, "dm", "dm_capacity")
