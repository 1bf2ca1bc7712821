"""The calculators on the command line."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from cli.app import app


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


SWITCH = "switch --axes A=256,B=64,C=63 --dtype i8 --in-slice A --in-time B --out-slice"


def test_switch_lists_every_way_cheapest_first():
    # the book's Transpose: 2 flits a packet, ring of 64: 64 * 64 * 2 cycles
    question = [*SWITCH.split(), "A / 64, A % 2, A / 2 % 32", "--packet", "C # 64", "--out-time", "B"]
    found = json.loads(run(*question, "--json").stdout)
    assert found["chosen"] == 0
    way = next(o for o in found["options"] if o["kind"] == "Transpose")
    assert (way["slice1"], way["slice0"], way["ring_size"], way["cycles"]) == (32, 2, 64, 64 * 64 * 2)
    assert [o["pass_cycles"] for o in found["options"]] == sorted(o["pass_cycles"] for o in found["options"])
    shown = run(*question).stdout
    assert "slice1 32, slice0 2, ring_size 64" in shown
    assert "switch_slice_shape" in shown


def test_switch_without_a_legal_way_says_why():
    question = [*SWITCH.split(), "A", "--packet", "C # 64", "--out-time", "1"]
    result = run(*question, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["options"]) == (1, [])
    assert found["reasons"]
    assert "no legal way" in run(*question).stdout


def test_switch_names_each_wrong_mapping():
    result = run(*SWITCH.split(), "A / 3", "--packet", "Q")
    assert result.exit_code == 1
    assert "stride_must_divide" in result.stderr
    assert "unknown_axis" in result.stderr


TRANSPOSE = ["transpose", "--axes", "A=16,B=8", "--dtype", "i8", "--time", "A", "--packet"]


def test_transpose_lists_every_output_cheapest_first():
    found = json.loads(run(*TRANSPOSE, "B # 32", "--json").stdout)
    cycles = [o["cycles"] for o in found["options"]]
    assert cycles == sorted(cycles)
    # two matrices of 8 x 8, two buffers: 8 flits fill the first, 8 more overlap its draining, 8 drain the second
    best = found["options"][found["chosen"]]
    assert (best["out_time"], best["out_packet"], best["cycles"]) == ("A / 8, B", "A % 8 # 32", 8 + 8 + 8)
    assert best["visa"] == ".transpose::<m![A / 8, B], m![A % 8 # 32]>()"


def test_transpose_shows_matrix_steps_and_line():
    shown = run(*TRANSPOSE, "B # 32", "--out-time", "A / 8, B", "--out-packet", "A % 8 # 32").stdout
    before, behind = shown.split("behind:")
    assert "│ A0 B0 │ A0 B1 │" in before
    assert "│ A0 B0 │ A1 B0 │" in behind
    assert all(step in before for step in ("unpack", "gather", "transpose", "trim", "align", "cycles     24"))
    assert ".transpose::<m![A / 8, B], m![A % 8 # 32]>()" in before


def test_transpose_with_one_wish_keeps_what_agrees():
    found = json.loads(run(*TRANSPOSE, "B # 32", "--out-packet", "A % 4 # 32", "--json").stdout)
    assert {o["out_packet"] for o in found["options"]} == {"A % 4 # 32"}
    result = run(*TRANSPOSE, "B # 32", "--out-time", "A", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["reasons"][0]["rule"] == "transpose_time_mismatch"


def test_transpose_without_a_legal_way_says_why():
    question = [*TRANSPOSE, "B # 32", "--out-time", "B", "--out-packet", "A # 32"]
    result = run(*question, "--json")
    assert result.exit_code == 1
    assert [r["rule"] for r in json.loads(result.stdout)["reasons"]] == ["too_many_rows"]
    shown = run(*question).stdout
    assert "no legal way" in shown
    assert "time `A / 8, B`, packet `A % 8 # 32`" in shown


def test_transpose_of_more_positions_than_can_be_counted():
    result = run("transpose", "--axes", f"A={2**62}", "--dtype", "i8", "--time", "A", "--packet", "1 # 32")
    assert result.exit_code == 1
    assert "mapping_too_large" in result.stderr


REDUCE = ["reduce", "--axes", "R=13,A=64", "--dtype", "f32", "--axis", "R", "--op"]


def test_reduce_lists_placements_cheapest_first():
    found = json.loads(run(*REDUCE, "max", "--json").stdout)
    cycles = [o["pass_cycles"] for o in found["options"]]
    assert cycles == sorted(cycles)
    best = found["options"][found["chosen"]]
    # 13 of 16 elements are live; four flits of four lanes, which the clipper cuts at 13
    assert (best["time"], best["packet"], best["slots"]) == ("R # 16 / 4", "R # 16 % 4", 1)
    assert best["vcg"]["clipper"]["axis_size"] == 13
    shown = run(*REDUCE, "max").stdout
    assert "R # 16 / 4" in shown
    assert "valid count clipper: " in shown
    assert ".vector_intra_slice_reduce::<R, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)" in shown


def test_reduce_counts_what_a_rule_stops():
    result = run(*REDUCE, "add", "--time", "A", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["refused"]["too_many_slots"] > 0
    assert "too_many_slots" in run(*REDUCE, "add", "--time", "A").stdout


def test_reduce_without_a_legal_placement_says_why():
    for arguments, rule in (
        (["median"], "op_not_supported"),
        (["add", "--packet", "A"], "vector_ways"),
        (["add", "--slice", "A # 512"], "slice_count"),
        (["add", "--time", "R"], "reduce_axis_remains"),
    ):
        result = run(*REDUCE, *arguments, "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["options"]) == (1, []), arguments
        assert [r["rule"] for r in found["reasons"]] == [rule]
        shown = run(*REDUCE, *arguments).stdout
        assert "no legal placement" in shown
        assert rule in shown


def test_reduce_of_an_unknown_axis_is_a_fault():
    result = run("reduce", "--axes", "A=4", "--dtype", "f32", "--axis", "R", "--op", "add")
    assert result.exit_code == 1
    assert "unknown_axis" in result.stderr
