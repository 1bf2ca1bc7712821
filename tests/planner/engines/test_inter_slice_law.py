"""Reductions among slices: tables, what freed slots become, padding behind a chain, and the pass's cycles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.layout import Stream
from models.mapping import ONE
from models.parse import parse
from models.vector_ops import VectorOp
from planner.cases import run_cases
from planner.engines import inter_slice_reduce, vector
from planner.engines.base import Ground, Outcome
from planner.engines.inter_slice_reduce import InterSliceConfig
from tests.planner.pass_cases import COLLECT, HARDWARE, commit, evaluated, fetch, layout

TABLE = Path(__file__).parents[2] / "rules" / "inter_slice_reduce.yaml"
AXES = {"A": 64, "R": 13, "Q": 4, "S": 3, "V": 2, "X": 2}

Op = dict[str, Any]
TRIM: Op = {"name": "narrow_trim", "value": "1 # 4"}
PAD: Op = {"name": "widen_pad", "value": "1 # 8"}


def test_table():
    assert [(c.id, c.mismatches) for c in run_cases([TABLE]).cases if not c.passed] == []


def inside(op: str = "Add") -> Op:
    return {"name": "intra_slice_reduce", "axis": "R", "op": op, "time": "1", "packet": "1 # 4"}


def among(op: str = "Add") -> Op:
    return {"name": "inter_slice_reduce", "op": op, "slice": "A, 1 # 4", "time": "1"}


def chain(*ops: Op, slice_: str = "A, R # 32 / 8", time: str = "R # 32 % 8") -> Outcome:
    at = [parse(t, AXES) for t in (slice_, time, "1 # 8")]
    stream = Stream("f32", ONE, ONE, *at)
    return vector.law(Ground(HARDWARE, AXES), stream, [VectorOp.model_validate(o) for o in ops], {})


THREE_OF_FOUR = {"slice_": "A, R # 20 / 5", "time": "R # 20 % 5"}
"""Slices that hold data; of `R # 32 / 8` the outer two hold none, so that no data meets padding."""


RULE_CASES = {
    "inter_slice_padding.feasible": lambda: chain(TRIM, inside(), PAD, among()),
    "inter_slice_padding.broken": lambda: chain(TRIM, inside("Max"), PAD, among(), **THREE_OF_FOUR),
    "inter_slice_padding.beside": lambda: chain(among(), slice_="A, Q", time="1"),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str):
    rule, _, part = case.rpartition(".")
    assert {f.rule for f in RULE_CASES[case]().findings} == ({rule} if part == "broken" else set())


def test_padding_outside_of_the_folded_slices_is_none_of_theirs():
    assert chain(among() | {"slice": "1 # 64, 1 # 4"}, slice_="1 # 64, Q", time="1").findings == ()
    assert chain(TRIM, inside("Max"), PAD, among()).findings == ()


def test_padding_at_some_steps_is_padding_too():
    spread = {"slice_": "A, R # 16 / 4", "time": "R # 16 % 4"}
    assert "inter_slice_padding" in {f.rule for f in chain(among() | {"time": "R # 16 % 4"}, **spread).findings}
    assert chain(TRIM, inside("Max"), PAD, among(), **spread).findings == ()


def test_slots_are_told_apart():
    at = [parse(t, AXES) for t in ("A / 2, A % 2, Q", "S, V", "1 # 8")]
    config = InterSliceConfig("Add", parse("A / 2, X, V, 1 # 2", AXES), parse("S", AXES), None)
    found = inter_slice_reduce.law(Ground(HARDWARE, AXES), Stream("f32", ONE, ONE, *at), config)
    assert found.findings == ()
    assert found.settings["ratio"] == 8
    assert [(s["kind"], s["mapping"]) for s in found.settings["filled"]] == [
        ("broadcast", "X"),
        ("promoted", "V"),
        ("padding", "1 # 2"),
    ]


def test_the_cycles_of_a_chain_are_marked_a_guess():
    assert {w.rule for w in chain(TRIM, inside(), PAD, among()).warnings} == {"inter_slice_cycles_guess"}


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_pass_takes_the_ring_tail(place: str):
    x = layout("x", "dm", "f32", "M, N", slice="A")
    ring = {"name": "inter_slice_reduce", "op": "Add", "slice": "A / 64, 1 # 64", "time": "M"}
    clip = {"name": "clip", "op": "Max", "operand": 0.0}
    ops = [ring, clip] if place == "before" else [clip, ring]
    steps = [fetch(time="M", packet="N"), COLLECT, {"step": "vector", "ops": ops}, commit(element="M, N")]
    found = evaluated(steps, {"x": x}, context="main")
    assert found.findings == ()
    # base 281, 64 slices, 4 steps
    assert [m.cycles for m in found.modes] == [281 + 9 * 64 * 4 - 3]
