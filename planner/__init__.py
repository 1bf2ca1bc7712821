"""The public Python interface of tuplan: everything the command line can do.

import planner
plan = planner.plan("examples/gemm.yaml")
print(plan.status, plan.makespan_cycles, plan.verification.ok)
answer = planner.whatif("examples/gemm.yaml", sweeps=[planner.parse_sweep("hardware.trf.rows_per_bank=64,12")])
for row in answer.rows:
    print(row.changes, row.makespan_cycles, *row.sentences)
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.faults import Fault, FaultError, Rule, rules
    from models.plan import Plan, Verification
    from planner.corrections import Correction
    from planner.differences import Alone, Diff, diff
    from planner.differences_alone import with_alone
    from planner.facade import Checked, check, plan, prepare
    from planner.files import read_plan, write_atomic
    from planner.fronts import front, pareto
    from planner.infeasible import InfeasibleError
    from planner.inputs import read_inputs
    from planner.options import PlanOptions, Request
    from planner.schema import json_schema
    from planner.sweep import Tally
    from planner.verify import simulate
    from planner.whatif_hint import Hint, hint_of
    from planner.whatif_plans import Answer, Where, sensitivity, whatif
    from planner.whatif_rows import Row
    from planner.whatif_variants import Sweep, parse_sweep

_ROOMS = ("models", "solver", "simulator", "cli")
"""Packages of tuplan beside this one; their names are common enough to be somebody else's too."""


def _refuse_strangers() -> None:
    """Says so when another package of the same name would be imported in place of one of tuplan's.

    Raises:
        ImportError: names the package, where it lies, and where tuplan's is.

    """
    home = Path(__file__).resolve().parent.parent
    for room in _ROOMS:
        spec = find_spec(room)
        places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else ["nowhere"]
        if home / room not in (Path(place).resolve() for place in places):
            raise ImportError(
                f"the package `{room}` at {places[0]} stands before the one that tuplan needs at {home / room}: "
                "take its folder off sys.path (PYTHONPATH, the working directory) or rename it",
                name=room,
            )


_refuse_strangers()

_HOME = {
    "Alone": "planner.differences",
    "Answer": "planner.whatif_plans",
    "Checked": "planner.facade",
    "Correction": "planner.corrections",
    "Diff": "planner.differences",
    "Fault": "models.faults",
    "FaultError": "models.faults",
    "Hint": "planner.whatif_hint",
    "InfeasibleError": "planner.infeasible",
    "Plan": "models.plan",
    "PlanOptions": "planner.options",
    "Request": "planner.options",
    "Row": "planner.whatif_rows",
    "Rule": "models.faults",
    "Sweep": "planner.whatif_variants",
    "Tally": "planner.sweep",
    "Verification": "models.plan",
    "Where": "planner.whatif_plans",
    "check": "planner.facade",
    "diff": "planner.differences",
    "front": "planner.fronts",
    "hint_of": "planner.whatif_hint",
    "json_schema": "planner.schema",
    "pareto": "planner.fronts",
    "parse_sweep": "planner.whatif_variants",
    "plan": "planner.facade",
    "prepare": "planner.facade",
    "read_inputs": "planner.inputs",
    "read_plan": "planner.files",
    "rules": "models.faults",
    "sensitivity": "planner.whatif_plans",
    "simulate": "planner.verify",
    "whatif": "planner.whatif_plans",
    "with_alone": "planner.differences_alone",
    "write_atomic": "planner.files",
}

__all__ = [
    "Alone",
    "Answer",
    "Checked",
    "Correction",
    "Diff",
    "Fault",
    "FaultError",
    "Hint",
    "InfeasibleError",
    "Plan",
    "PlanOptions",
    "Request",
    "Row",
    "Rule",
    "Sweep",
    "Tally",
    "Verification",
    "Where",
    "check",
    "diff",
    "front",
    "hint_of",
    "json_schema",
    "pareto",
    "parse_sweep",
    "plan",
    "prepare",
    "read_inputs",
    "read_plan",
    "rules",
    "sensitivity",
    "simulate",
    "whatif",
    "with_alone",
    "write_atomic",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # any public name
    # Loaded on first use: `tuplan --help` must not pay for the solver.
    if name not in _HOME:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
