"""The table of tests/rules for the switch: every case gets its verdict, every rule has its three cases."""

from __future__ import annotations

from pathlib import Path

from models.rules.switch import RULES
from planner.cases import run_cases

TABLE = Path(__file__).parents[2] / "rules" / "switch.yaml"


def test_every_case_gets_its_verdict() -> None:
    report = run_cases([TABLE])
    assert [(c.id, c.mismatches, c.result["rules"]) for c in report.cases if not c.passed] == []


def test_a_broken_case_is_broken_by_its_own_rule() -> None:
    broken = [c for c in run_cases([TABLE]).cases if c.id.endswith(".broken")]
    assert [c.id for c in broken if c.id.removesuffix(".broken") not in c.result["rules"]] == []


def test_every_rule_has_its_three_cases() -> None:
    parts = ("feasible", "broken", "beside")
    assert [c.id for c in run_cases([TABLE]).cases] == [f"{r.id}.{part}" for r in RULES for part in parts]
