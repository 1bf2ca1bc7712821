"""An attention head and a decoder layer, from their computation alone: planned, executed, nothing broken."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner import PlanOptions, Request

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
QUICK = PlanOptions(alternatives=False, corrections=False)


def holds(name: str) -> None:
    """Values right, cycles of every operation as the simulator counts them, no rule broken."""
    plan = planner.plan(PROGRAMS / f"{name}.yaml", Request(), QUICK)
    found = plan.verification
    assert found is not None
    assert found.violations == ()
    assert found.cycles.simulated == found.cycles.planned == plan.makespan_cycles
    assert found.values
    assert all(v.ok for v in found.values.values())


@pytest.mark.long
def test_an_attention_head():
    holds("attention_head")


@pytest.mark.long
def test_a_decoder_layer():
    holds("decoder_layer")
