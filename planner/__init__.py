"""The public Python interface of tuplan: everything the command line can do.

import planner
plan = planner.plan("examples/gemm.yaml")
print(plan.status, plan.makespan_cycles, plan.verification.ok)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.faults import Fault, FaultError, Rule, rules
    from models.plan import Plan, Verification
    from planner.facade import Checked, check, plan, prepare
    from planner.files import read_plan, write_atomic
    from planner.infeasible import InfeasibleError
    from planner.inputs import read_inputs
    from planner.options import PlanOptions, Request
    from planner.schema import json_schema
    from planner.verify import simulate

_HOME = {
    "Checked": "planner.facade",
    "Fault": "models.faults",
    "FaultError": "models.faults",
    "InfeasibleError": "planner.infeasible",
    "Plan": "models.plan",
    "PlanOptions": "planner.options",
    "Request": "planner.options",
    "Rule": "models.faults",
    "Verification": "models.plan",
    "check": "planner.facade",
    "plan": "planner.facade",
    "prepare": "planner.facade",
    "read_inputs": "planner.inputs",
    "read_plan": "planner.files",
    "rules": "models.faults",
    "json_schema": "planner.schema",
    "simulate": "planner.verify",
    "write_atomic": "planner.files",
}

__all__ = [
    "Checked",
    "Fault",
    "FaultError",
    "InfeasibleError",
    "Plan",
    "PlanOptions",
    "Request",
    "Rule",
    "Verification",
    "check",
    "json_schema",
    "plan",
    "prepare",
    "read_inputs",
    "read_plan",
    "rules",
    "simulate",
    "write_atomic",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # any public name
    # Loaded on first use: `tuplan --help` must not pay for the solver.
    if name not in _HOME:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
