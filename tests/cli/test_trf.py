"""`tuplan trf`: as JSON and as a table, and its exit status."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from cli.app import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["trf", *arguments], catch_exceptions=False)


def test_json_names_rows_banks_and_halves():
    # golden trf_exactly_half: bf16, N = 8, K = 2048
    result = run("--axes", "N=8,K=2048", "--dtype", "bf16", "--lane", "N", "K", "--json")
    assert result.exit_code == 0
    (option,) = json.loads(result.stdout)["options"]
    assert (option["flits_per_lane"], option["rows"], option["banks"]) == (128, 64, 2)
    assert (option["fits_half"], option["in_half"], option["lanes"]) == (True, 1, 8)


def test_the_table_shows_every_number_of_lanes_and_the_store():
    result = run("--axes", "N=8,K=4096", "--dtype", "i8", "N, K")
    assert result.exit_code == 0
    assert "N / 4" in result.stdout
    assert 'to_trf: {write: NAME, lane: "N", element: "K"}' in result.stdout
    assert "a half, 1 of them" in result.stdout


def test_what_does_not_fit_says_why():
    result = run("--axes", "N=8,K=8192", "--dtype", "bf16", "N, K")
    assert result.exit_code == 1
    assert "exceeds_capacity" in result.stdout
    assert "128 more" in result.stdout
