"""The model with some variables pinned: whether a schedule is left."""

from __future__ import annotations

from collections.abc import Mapping

from ortools.sat.python import cp_model

from models.graph import Problem
from solver import Options
from solver.engine import run
from solver.index import Index
from solver.model import build
from solver.variables import Window


def feasible(
    problem: Problem,
    *,
    starts: Mapping[str, int] | None = None,
    loads: Mapping[str, int] | None = None,
    regions: Mapping[str, tuple[str, int]] | None = None,
    upper: int = 10_000,
) -> bool:
    model = build(Index(problem), Window({}, {}, 0, upper))
    variables, cp = model.variables, model.cp
    for name, start in (starts or {}).items():
        cp.add(variables.task(name).start == start)
    for name, start in (loads or {}).items():
        cp.add(variables.loads[name].start == start)
    for place, (region, row) in (regions or {}).items():
        cp.add(variables.regions[place, region] == 1)
        cp.add(variables.rows[place, region] == row)
    return run(cp, Options()).status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
