"""`tuplan whatif` and `tuplan diff`: statuses, JSON, files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cli.app import app

GEMM = "examples/gemm.yaml"
BARE = ("--no-verify",)


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_json_is_one_document_and_nothing_else():
    done = run("whatif", GEMM, "--sweep", "hardware.trf.rows_per_bank=12,128", "--json", *BARE)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["form"], document["kernel"]) == ("whatif", "gemm")
    first, second = document["variants"]
    assert first["changed"] == {"store_b.region": ["first_half", "full"]}
    assert second["changed"] == {}
    assert second["sentences"] == []


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--set", "hardware.trf.rows_per_bank=64"), 0),
        (("--set", "hardware.trf.rows_per_bank=4"), 1),
        (("--sweep", "hardware.trf.rows_per_bank=4,64"), 0),
        ((), 2),
        (("--sweep", "K"), 2),
        (("--sensitivity", "--pareto"), 2),
        (("--set", "hardware.trf.rows_per_bank=64", "--cluster", "nowhere:0:0"), 2),
    ],
)
def test_statuses(arguments, status):
    assert run("whatif", GEMM, *arguments, *BARE).exit_code == status


def test_a_kernel_that_cannot_be_read_is_status_2():
    assert run("whatif", "no/such/file.yaml", "--set", "hardware.trf.rows_per_bank=64").exit_code == 2


def test_diff_of_plans(tmp_path):
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    plain = ("--no-verify", "--no-alternatives", "--quiet")
    assert run("plan", GEMM, "-o", str(a), *plain).exit_code == 0
    assert run("plan", GEMM, "-o", str(b), *plain, "--axis", "K=32").exit_code == 0
    done = run("diff", str(a), str(b), "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 0
    assert not document["same"]
    assert sum(p["cycles"] for p in document["parts"]) == document["makespan"][1] - document["makespan"][0]
    assert json.loads(run("diff", str(a), str(a), "--json").stdout)["same"]
    assert run("diff", str(a), str(tmp_path / "none.json")).exit_code == 2
    assert run("diff", str(a), GEMM).exit_code == 1


def test_an_infeasible_kernel_gets_its_ways_out():
    done = run("plan", GEMM, "--set", "hardware.trf.rows_per_bank=4", "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 1
    assert document["minimal"]
    assert document["confirmed"]
    assert {c["kind"] for c in document["corrections"]} >= {"wider"}
    assert "any one of these makes it fit:" in done.stderr
