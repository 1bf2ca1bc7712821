"""Any single number of a finished plan may be edited: it is named, or the plan is still legal, with a makespan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import planner
from models.faults import FaultError
from models.plan import Plan
from planner.options import PlanOptions
from simulator import simulate
from tests.simulator.plans import gemm_plan
from tests.simulator.small_plans import custom_plan, round_trip_plan, scale_plan

Path_ = tuple[str | int, ...]
Edit = tuple[Path_, float]
PLANS = {"gemm": gemm_plan, "scale": scale_plan, "custom": custom_plan, "round_trip": round_trip_plan}
PARTS = ("ops", "memory", "programs")
EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_EDITS = 100
OTHERWISE = (lambda n: n + 1, lambda n: max(n - 1, 0), lambda n: 2 * n + 1, lambda n: 0)


def numbers(value: object, path: Path_ = ()) -> Iterator[tuple[Path_, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from numbers(inner, (*path, i))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def document(plan: Plan) -> dict[str, Any]:
    return json.loads(plan.model_copy(update={"verification": None}).model_dump_json())


def edited(base: str, path: Path_, value: float) -> Plan:
    copy = json.loads(base)
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return Plan.model_validate(copy)


def judge(base: str, path: Path_, value: float) -> str:
    """`named`, `legal` or `refused`; anything else is a hole in the checks."""
    try:
        plan = edited(base, path, value)
        result = simulate(plan)
    except (FaultError, ValidationError):
        return "refused"
    if result.violations:
        return "named"
    assert result.ok, (path, value, result)
    assert result.cycles.simulated == max(o.end for o in plan.ops) + plan.hardware.kernel.final_sync_cycles
    return "legal"


@cache
def base_of(name: str) -> tuple[str, tuple[Edit, ...]]:
    made = document(PLANS[name]())
    return json.dumps(made), tuple(numbers({part: made[part] for part in PARTS}))


def edits(name: str) -> list[Edit]:
    """One edit of every number, in turn of four kinds; of at most a hundred numbers, drawn once."""
    _, found = base_of(name)
    chosen = [(path, OTHERWISE[i % 4](old), old) for i, (path, old) in enumerate(found)]
    changed = [(path, new) for path, new, old in chosen if new != old]
    drawn = np.random.default_rng(11).permutation(len(changed))[:MOST_EDITS]
    return [changed[k] for k in sorted(drawn)]


@pytest.mark.parametrize("name", PLANS)
def test_every_number_of_a_plan(name: str) -> None:
    base, _ = base_of(name)
    verdicts = [judge(base, path, new) for path, new in edits(name)]
    assert "named" in verdicts
    assert verdicts.count("legal") < len(verdicts) // 4, "an edit of a number should rarely go unnoticed"


@pytest.mark.parametrize("name", ["scale", "custom"])
def test_numbers_of_the_hardware(name: str) -> None:
    base, _ = base_of(name)
    found = list(numbers({"hardware": json.loads(base)["hardware"]}))
    rng = np.random.default_rng(7)
    for k in rng.choice(len(found), min(40, len(found)), replace=False):
        path, old = found[k]
        assert judge(base, path, old + 1) in ("named", "legal", "refused")


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["gemm", "relayout", "tiled_scale"])
def test_every_number_of_a_planned_kernel(kernel: str) -> None:
    plan = planner.plan(EXAMPLES / f"{kernel}.yaml", options=PlanOptions(alternatives=False, verify=False))
    made = document(plan)
    base = json.dumps(made)
    for i, (path, old) in enumerate(numbers({part: made[part] for part in PARTS})):
        for change in OTHERWISE[i % 2 :: 2]:
            if change(old) != old:
                assert judge(base, path, change(old)) in ("named", "legal", "refused")
