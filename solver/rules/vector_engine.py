"""The Vector Engine is one resource; a cast occupies it too (domain: section 3)."""

from __future__ import annotations

from ortools.sat.python import cp_model

from models.graph import VECTOR
from solver.rules.contexts import one_at_a_time
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the Vector Engine as one machine."""
    one_at_a_time(model, variables, VECTOR, "vector_engine_overlap", [])
