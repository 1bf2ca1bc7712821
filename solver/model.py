"""The whole model: variables, then every rule, then the objective."""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver import objective
from solver.guards import Guards
from solver.index import Index
from solver.rules import (
    bitmap_load,
    cliques,
    contexts,
    dm_capacity,
    frame,
    hazards,
    iterations,
    register_regions,
    vector_engine,
    vrf_capacity,
)
from solver.variables import Variables, Window

RULES = (
    bitmap_load,  # creates the loads that contexts serve
    contexts,
    vector_engine,
    cliques,
    hazards,
    register_regions,
    vrf_capacity,
    dm_capacity,
    frame,
    iterations,
)
"""Every rule that constrains the solver, one `build` each."""


@dataclass(frozen=True, slots=True)
class Model:
    """A built model with its variables."""

    cp: cp_model.CpModel
    variables: Variables


def build(
    index: Index, window: Window, *, guarded: bool = False, minimise: bool = True, in_order: bool = True
) -> Model:
    """Builds the model; guarded, it has a literal per rule and place. `in_order`: see rules/iterations.py."""
    cp = cp_model.CpModel()
    variables = Variables(cp, index, window, Guards(cp, on=guarded), in_order=in_order)
    for rule in RULES:
        rule.build(cp, variables)
    if minimise:
        objective.build(cp, variables)
    return Model(cp, variables)
