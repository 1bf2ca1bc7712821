"""Tensors alive together fit into the VRF of a slice (domain: section 6)."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver.rules import capacity
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the VRF's capacity over lifetimes."""
    capacity.cumulative(model, variables, "vrf", "vrf_capacity")
