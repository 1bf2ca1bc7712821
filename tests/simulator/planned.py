"""Kernels written in a test, planned and simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import planner
from models.plan import Plan, Stage, Verification
from planner.options import PlanOptions, Request

QUICK = PlanOptions(alternatives=False, corrections=False)


def planned(text: str, folder: Path, **fixed: str) -> Plan:
    """The plan of a kernel's text, `op__field=value` fixing choices."""
    path = folder / "kernel.yaml"
    path.write_text(text, encoding="utf-8")
    return planner.plan(path, Request(fixed={k.replace("__", "."): v for k, v in fixed.items()}), QUICK)


def verdict(plan: Plan) -> Verification:
    assert plan.verification is not None
    return plan.verification


def holds(text: str, folder: Path, **fixed: str) -> Plan:
    """Plans and asserts that values, cycles and all checks agree; shows the kernel where they do not."""
    plan = planned(text, folder, **fixed)
    found = verdict(plan)
    assert found.ok, f"{text}\n{found.values}\n{found.cycles}\n" + "\n".join(map(str, found.violations))
    return plan


def stages(plan: Plan, step: str) -> list[Stage]:
    return [s for program in plan.programs.values() for s in program if s.step == step]


def vector_stage(plan: Plan, name: str) -> dict[str, Any]:
    (found,) = [s for s in stages(plan, "vector") if s.settings["name"] == name]
    return found.settings
