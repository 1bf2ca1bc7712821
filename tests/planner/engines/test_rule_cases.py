"""The tables of tests/rules for the laws of a pass: every case gets its verdict, every rule has its three cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cases import run_cases

RULES = Path(__file__).parents[2] / "rules"
GOLDEN = Path(__file__).parents[2] / "golden"
ROOMS = ("pipeline", "fetch", "collect", "register_files", "contraction", "vector", "cast", "commit")


@pytest.mark.parametrize("room", ROOMS)
def test_every_case_gets_its_verdict(room: str):
    report = run_cases([RULES / f"{room}.yaml"])
    assert [(c.id, c.mismatches, c.result["rules"]) for c in report.cases if not c.passed] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_broken_case_is_broken_by_its_own_rule(room: str):
    broken = [c for c in run_cases([RULES / f"{room}.yaml"]).cases if c.id.endswith(".broken")]
    assert [c.id for c in broken if c.id.removesuffix(".broken") not in c.result["rules"]] == []


@pytest.mark.parametrize("table", ["collect", "registers"])
def test_golden_tables(table: str):
    report = run_cases([GOLDEN / f"{table}.yaml"])
    assert [(c.id, c.mismatches) for c in report.cases if not c.passed] == []
