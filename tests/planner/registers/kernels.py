"""Kernels of examples/, changed by text, and planned without pricing; each text is planned once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import planner
from models.plan import Plan

EXAMPLES = Path(__file__).parents[3] / "examples"


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def planned(
    name: str,
    edit: Callable[[str], str] = str,
    *,
    fixed: Mapping[str, str] | None = None,
    settings: Mapping[str, int] | None = None,
    alternatives: bool = False,
    verify: bool = True,
) -> Plan:
    choices, numbers = tuple((fixed or {}).items()), tuple((settings or {}).items())
    return _planned(edit(source(name)), choices, numbers, alternatives, verify)


@cache
def _planned(
    text: str,
    fixed: tuple[tuple[str, str], ...],
    settings: tuple[tuple[str, int], ...],
    alternatives: bool,
    verify: bool,
) -> Plan:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.yaml"
        path.write_text(text, encoding="utf-8")
        return planner.plan(
            path,
            planner.Request(fixed=dict(fixed), settings=dict(settings)),
            planner.PlanOptions(alternatives=alternatives, verify=verify),
        )


def op(plan: Plan, name: str):
    return next(o for o in plan.ops if o.name == name)


def stage(plan: Plan, name: str, step: str):
    return next(s for s in plan.programs[op(plan, name).program] if s.step == step)
