"""Plans too large to be executed are refused before any array is made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from models.faults import FaultError
from models.plan import Plan
from simulator import simulate
from simulator.bounds import MOST_ELEMENTS, too_large
from tests.simulator.plans import gemm_plan

HUGE = "1 # 1000000000000"


def edited(*path: str | int, value: object) -> Plan:
    document: Any = json.loads(gemm_plan().model_dump_json(by_alias=True))
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return Plan.model_validate(document)


# the first buffer stands in 512 slices
RULE_CASES = {
    "plan_too_large.feasible": gemm_plan(),
    "plan_too_large.broken": edited("memory", 0, "element", value=f"1 # {MOST_ELEMENTS // 512 + 1}"),
    "plan_too_large.beside": edited("memory", 0, "element", value=f"1 # {MOST_ELEMENTS // 512}"),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_cases_of_the_rule(case):
    found = [f.rule for f in too_large(RULE_CASES[case])]
    assert found == (["plan_too_large"] if case.endswith(".broken") else [])


def stages() -> list[tuple[str, int]]:
    return [(program, i) for program, found in gemm_plan().programs.items() for i in range(len(found))]


@pytest.mark.parametrize(
    "edit",
    [
        *(("programs", program, i, level) for program, i in stages() for level in ("time", "packet", "slice")),
        *(("memory", i, level) for i in range(2) for level in ("chip", "cluster", "slice", "element")),
    ],
)
def test_a_huge_claim_is_a_fault(edit):
    with pytest.raises(FaultError) as error:
        simulate(edited(*edit, value=HUGE))
    assert {f.rule for f in error.value.faults} == {"plan_too_large"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kernel", "axes", "K"), 2**31),
        (("hardware", "geometry", "slices_per_cluster"), 10**30),
        (("hardware", "geometry", "lanes_per_slice"), 10**30),
        (("hardware", "trf", "banks"), 10**30),
    ],
)
def test_huge_numbers_are_a_fault(path, value):
    with pytest.raises(FaultError) as error:
        simulate(edited(*path, value=value))
    assert {f.rule for f in error.value.faults} == {"plan_too_large"}


def test_an_axis_that_cannot_be_counted_is_a_fault():
    with pytest.raises(FaultError):
        simulate(edited("kernel", "axes", "K", value=10**30))
