"""`--sample` on plan and simulate, and plans that are too large to be executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import planner
from cli import options
from cli.app import app
from models.plan import Cycles, Plan, Values, Verification
from tests.cli.samples import a_plan

ROW_SUM = "examples/row_sum.yaml"
QUICK = ("--no-alternatives",)
HUGE = """
kernel: huge
axes: {L: 65536, H: 32768}
tensors:
  x: {dtype: i8, element: "L, H"}
  y: {dtype: i8, element: "L, H", role: output}
ops:
  - {dma: copy, read: x, write: y}
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize(("text", "part"), [("4096", 4096), ("1", 1), ("0.25", 0.25), ("1.0", 1.0), ("5%", 0.05)])
def test_a_count_or_a_fraction(text, part):
    found = options.sample(text)
    assert found == part
    assert type(found) is type(part)


@pytest.mark.parametrize("text", ["0", "0.0", "1.5", "-3", "101%", "half", "", "nan", "inf"])
def test_neither_a_count_nor_a_fraction(text):
    assert run("simulate", "no.json", "--sample", text).exit_code == 2


def test_a_plan_says_how_much_was_compared(tmp_path):
    file = tmp_path / "p.json"
    result = run("plan", ROW_SUM, *QUICK, "--sample", "16", "--seed", "3", "-o", file)
    assert result.exit_code == 0, result.output
    assert "values exact in 16 of 256 elements, sampled, cycles planned" in result.stdout
    stated = json.loads(file.read_text(encoding="utf-8"))["verification"]["values"]["s"]
    assert (stated["ok"], stated["elements"], stated["sampled"]) == (True, 256, 16)


def test_simulate_takes_a_sample_of_a_plan(tmp_path):
    file = tmp_path / "p.json"
    run("plan", ROW_SUM, *QUICK, "--no-verify", "-o", file)
    document = json.loads(run("simulate", file, "--sample", "0.1", "--json").stdout)
    assert document["values"]["s"]["sampled"] == 26
    whole = json.loads(run("simulate", file, "--json").stdout)
    assert whole["values"]["s"]["sampled"] is None
    assert whole["cycles"] == document["cycles"]


def test_a_wrong_sample_names_its_size(tmp_path, monkeypatch):
    values = {"y": Values(ok=False, max_abs_error=2.0, elements=64, sampled=8)}
    wrong = Verification(values=values, cycles=Cycles(planned=4000, simulated=4000, ok=True))
    monkeypatch.setitem(vars(planner), "simulate", lambda *_, **__: wrong)
    file = tmp_path / "p.json"
    file.write_text(a_plan().model_dump_json(by_alias=True), encoding="utf-8")
    result = run("simulate", file, "--sample", "8")
    assert result.exit_code == 1
    assert "wrong: y: largest error 2 among 8 sampled of 64 elements" in result.stdout


def test_a_plan_too_large_to_be_executed_is_written(tmp_path):
    kernel, file = tmp_path / "huge.yaml", tmp_path / "p.json"
    kernel.write_text(HUGE, encoding="utf-8")
    result = run("plan", kernel, *QUICK, "-o", file)
    assert result.exit_code == 3
    assert "not executed, so not verified: plan_too_large: x has 2,147,483,648 elements" in result.stdout
    plan = Plan.model_validate_json(Path(file).read_text(encoding="utf-8"))
    assert plan.status == "optimal"
    assert plan.verification is not None
    assert not plan.verification.ok
    assert plan.verification.not_run.startswith("plan_too_large")
    assert plan.verification.cycles == Cycles(planned=plan.makespan_cycles, simulated=None, ok=False)
    assert run("simulate", file).exit_code == 1
