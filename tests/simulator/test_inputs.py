"""Inputs that are given: one array per input of the kernel, one dimension per axis."""

from __future__ import annotations

import numpy as np
import pytest

from models.faults import FaultError
from simulator.inputs import make_inputs
from tests.simulator.plans import GEMM

A, B = np.zeros((512, 64)), np.ones((512, 64))

RULE_CASES = {
    "input_unknown.feasible": {"a": A, "b": B},
    "input_unknown.broken": {"a": A, "b": B, "c": A},
    "input_unknown.beside": {"b": B, "a": A},
    "input_missing.feasible": {"a": A, "b": B},
    "input_missing.broken": {"a": A},
    "input_missing.beside": None,
    "input_shape.feasible": {"a": A, "b": B},
    "input_shape.broken": {"a": A, "b": B.T},
    "input_shape.beside": {"a": A, "b": B.T.copy().T},
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str) -> None:
    rule, _, part = case.rpartition(".")
    given = RULE_CASES[case]
    if part == "broken":
        with pytest.raises(FaultError) as caught:
            make_inputs(GEMM, given, 0, random=False)
        assert [f.rule for f in caught.value.faults] == [rule]
    else:
        made = make_inputs(GEMM, given, 0, random=False)
        assert {name: raw.shape for name, raw in made.items()} == {"a": (512, 64), "b": (512, 64)}


def test_every_fault_of_the_inputs_is_reported_at_once() -> None:
    with pytest.raises(FaultError) as caught:
        make_inputs(GEMM, {"b": B.T, "q": A}, 0, random=False)
    assert sorted(f.rule for f in caught.value.faults) == ["input_missing", "input_shape", "input_unknown"]
