"""The commands beside `plan`, in one process."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import planner
from cli.app import app
from models.faults import Fault, rules
from models.plan import Verification, Violation
from tests.cli.samples import RIGHT, a_plan

COMMANDS = tuple(command.name for command in app.registered_commands)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_the_common_options(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: tuplan {command} " in result.stdout
    assert "--json" in result.stdout
    assert "--quiet" in result.stdout


def test_an_unknown_command_is_wrong_usage():
    assert run("conquer").exit_code == 2


def test_rules_lists_every_rule_with_its_source():
    found = json.loads(run("rules", "--json").stdout)["rules"]
    assert [r["id"] for r in found] == list(rules())
    assert all(r["sentence"] and r["source"] for r in found)
    shown = run("rules").stdout
    assert all(rule in shown for rule in rules())


def test_rules_can_be_narrowed():
    found = json.loads(run("rules", "dm_capacity", "plan_form", "--kind", "file", "--json").stdout)["rules"]
    assert [r["id"] for r in found] == ["plan_form"]
    assert run("rules", "no_such_rule").exit_code == 2


def test_map_shows_what_a_mapping_means():
    # C, D # 64 of the book's chapter: 61 columns padded to 64
    result = run(
        "map", "--axes", "C=13,D=61", "C, D # 64", "--at", "60,61,64", "--equivalent", "C, D #{*} 64", "--json"
    )
    found = json.loads(result.stdout)
    assert found["size"] == 13 * 64
    assert found["cells"] == {"60": {"C": 0, "D": 60}, "61": "padding_top", "64": {"C": 1, "D": 0}}
    assert found["equivalence"] == {"C, D #{*} 64": "equivalent"}
    shown = run("map", "--axes", "C=13", "--axes", "D=61", "C, D # 64", "--at", "60,61").stdout
    assert "832 positions" in shown
    assert "C = 0, D = 60" in shown
    assert "padding top" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--axes", "A=10", "A / 4"], 1, "stride_must_divide"),
        (["--axes", "A=10", "A /"], 1, "mapping_syntax"),
        (["--axes", "A=10", "Q"], 1, "unknown_axis"),
        (["--axes", "A=0", "A"], 1, "size_out_of_range"),
        (["--axes", "A", "A"], 2, "NAME=SIZE"),
        (["--axes", "A=8", "A", "--at", "x"], 2, "whole numbers"),
        (["--axes", "A=8", "A", "--equivalent", "B"], 1, "unknown_axis"),
    ],
)
def test_map_says_what_is_wrong(arguments, status, words):
    result = run("map", *arguments)
    assert result.exit_code == status
    assert words in result.stderr
    assert result.stdout == ""


@pytest.fixture
def checked(monkeypatch):
    """`planner.check` with verdicts by file name."""
    wrong = Fault(rule="lane_size", file="bad.yaml", line=2, message="3 lanes")
    gone = Fault(rule="unreadable_file", file="gone.yaml", message="cannot read the file")
    found = {"bad.yaml": (wrong,), "gone.yaml": (gone,), "good.yaml": ()}

    def check(path: Path, _request: Any) -> SimpleNamespace:
        return SimpleNamespace(name=path.stem, ok=not found[path.name], faults=found[path.name], built=None)

    monkeypatch.setitem(vars(planner), "check", check)


@pytest.mark.parametrize(
    ("files", "status"), [(["good.yaml"], 0), (["good.yaml", "bad.yaml"], 1), (["gone.yaml", "bad.yaml"], 2)]
)
def test_check_reports_every_kernel(checked, files, status):
    result = run("check", *files, "--json")
    assert result.exit_code == status
    kernels = json.loads(result.stdout)["kernels"]
    assert [k["name"] for k in kernels] == [Path(f).stem for f in files]
    assert [k["ok"] for k in kernels] == [f == "good.yaml" for f in files]
    assert all(set(k) == {"name", "ok", "faults"} for k in kernels)
    assert result.stderr.count("error:") == sum(not k["ok"] for k in kernels)


def test_check_names_all_fields_of_a_fault(checked):
    fault = json.loads(run("check", "bad.yaml", "--json").stdout)["kernels"][0]["faults"][0]
    fields = ["rule", "severity", "file", "line", "column", "op", "step", "found", "wanted", "nearest", "message"]
    assert list(fault) == fields
    assert (fault["rule"], fault["severity"], fault["line"]) == ("lane_size", "error", 2)


@pytest.mark.parametrize(
    ("verification", "status", "words"),
    [
        (RIGHT, 0, "values exact, cycles planned 4,000 = simulated 4,000, no violations"),
        (
            RIGHT.model_copy(
                update={"violations": (Violation(rule="dm_capacity", message="m", found="9", wanted="8"),)}
            ),
            1,
            "violated: dm_capacity: m (found 9, wanted 8)",
        ),
    ],
)
def test_simulate_gives_the_verdict_on_a_plan(monkeypatch, tmp_path, verification, status, words):
    asked = {}

    def simulate(plan, **arguments):
        asked.update(arguments, plan=plan)
        return verification

    monkeypatch.setitem(vars(planner), "simulate", simulate)
    file = tmp_path / "p.json"
    file.write_text(a_plan().model_dump_json(by_alias=True), encoding="utf-8")
    result = run("simulate", file, "--seed", "7", "--random")
    assert result.exit_code == status
    assert words in result.stdout
    assert asked == {"plan": a_plan(), "inputs": None, "seed": 7, "random": True, "sample": None}
    assert Verification.model_validate_json(run("simulate", file, "--json").stdout) == verification


CASES = """
cases:
- {id: right, engine: mapping, axes: {A: 8}, expr: "A", expect: {ok: true, size: 8}}
- {id: wrong, engine: mapping, axes: {A: 8}, expr: "A", expect: {ok: true, size: 9}}
"""


def test_cases_prints_the_pinned_document(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(CASES, encoding="utf-8")
    result = run("cases", file, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["total"], found["passed"], found["failed"]) == (2, 1, 1)
    assert [(c["id"], c["engine"], c["passed"]) for c in found["cases"]] == [
        ("right", "mapping", True),
        ("wrong", "mapping", False),
    ]
    assert found["cases"][0]["result"]["size"] == 8
    assert found["cases"][1]["mismatches"] == ["size: wanted 9, found 8"]
    shown = run("cases", file).stdout
    assert "failed: wrong (mapping)" in shown
    assert "1 of 2 cases pass" in shown


@pytest.mark.parametrize("kind", ["kernel", "plan", "hardware", "cases"])
def test_schema_is_a_json_schema(kind):
    found = json.loads(run("schema", kind).stdout)
    assert found["type"] == "object" or "$ref" in found
    assert json.loads(run("schema", kind, "--json").stdout) == found
