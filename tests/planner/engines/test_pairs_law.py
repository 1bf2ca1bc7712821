"""Pairs: operands per group, what is barred in which phase, and that both groups' flits count."""

from __future__ import annotations

from typing import Any

import pytest

from models.layout import Stream
from models.parse import parse
from models.vector_ops import VectorOp
from planner.engines import vector
from planner.engines.base import Ground, Outcome
from tests.planner.pass_cases import AXES, COLLECT, HARDWARE, commit, evaluated, fetch, layout

Op = dict[str, Any]
UNZIP: Op = {"name": "unzip", "axis": "I"}
ZIP: Op = {"name": "clip_zip", "op": "Add"}
FP_ZIP: Op = {"name": "fp_zip", "op": "MulF"}
SPLIT: Op = {"name": "narrow_split", "time": "M, B / 4", "packet": "B % 4"}
CONCAT: Op = {"name": "widen_concat", "time": "M, B / 8", "packet": "B % 8"}


def chain(*ops: Op, time: str = "M, B / 8, I") -> Outcome:
    at = [parse(t, AXES) for t in ("1", "1 # 2", "A", time, "B % 8")]
    return vector.law(Ground(HARDWARE, AXES), Stream("f32", *at), [VectorOp.model_validate(o) for o in ops], {})


def mul(*operands: Any) -> Op:
    return {"name": "fp_binary", "op": "MulF", "operands": operands}


def paired(*ops: Op) -> Outcome:
    return chain(UNZIP, SPLIT, *ops, FP_ZIP, CONCAT)


def fma(*operands: Any) -> Op:
    return {"name": "fp_ternary", "op": "FmaF", "operands": operands}


RULE_CASES = {
    "pair_operands.feasible": lambda: paired(mul(2.0, 3.0)),
    "pair_operands.broken": lambda: paired(mul(2.0, 3.0, 4.0)),
    "pair_operands.beside": lambda: paired(mul(2.0, None)),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str):
    rule, _, part = case.rpartition(".")
    assert {f.rule for f in RULE_CASES[case]().findings} == ({rule} if part == "broken" else set())


def rules(outcome: Outcome) -> set[str]:
    return {f.rule for f in outcome.findings}


def test_a_list_of_operands_belongs_to_pairs():
    assert "pair_operands" in rules(chain(SPLIT, mul(2.0, 3.0), CONCAT, time="M, B / 8"))
    assert rules(paired(mul(None, None))) >= {"pair_operands"}


def test_ternary_operands_serve_both_groups_or_each():
    no_fma = {"name": "fp_zip", "op": "MulF", "alu": "Mul0"}
    for operands, legal in (((2.0, 3.0), True), ((2.0, 3.0, 4.0, 5.0), True), ((2.0, 3.0, None, None), True)):
        found = chain(UNZIP, SPLIT, fma(*operands), no_fma, CONCAT)
        assert (rules(found) == set()) == legal
    assert "pair_operands" in rules(chain(UNZIP, SPLIT, fma(2.0, 3.0, 4.0, None), no_fma, CONCAT))


def test_trim_and_pad_are_barred_on_pairs_alone():
    trim = {"name": "narrow_trim", "value": "B % 8 # 4"}
    fxp = [UNZIP, {"name": "fxp_zip", "op": "AddFxp"}]
    assert "pair_mode_op" in rules(chain(UNZIP, trim, FP_ZIP))
    at = [parse(t, AXES) for t in ("1", "1 # 2", "A", "M, I", "M # 8")]
    ops = [*fxp, {"name": "narrow_trim", "value": "M"}, {"name": "widen_pad", "value": "M # 8"}]
    found = vector.law(Ground(HARDWARE, AXES), Stream("i32", *at), [VectorOp.model_validate(o) for o in ops], {})
    assert "pair_mode_op" not in rules(found)


@pytest.mark.parametrize(
    "op",
    [{"name": "stash"}, {"name": "intra_slice_reduce", "axis": "M", "op": "Add", "time": "B / 4", "packet": "B % 4"}],
)
def test_reductions_and_the_stash_are_barred_behind_a_zip_too(op: Op):
    ops = [UNZIP, SPLIT, FP_ZIP, op] if op["name"] != "stash" else [UNZIP, ZIP, op]
    assert "pair_mode_op" in rules(chain(*ops))


def test_an_alu_of_one_group_is_used_for_both():
    assert "alu_used_twice" in rules(paired(mul(2.0, None), mul(None, 2.0), mul(3.0, None), mul(4.0, None)))


def test_the_flits_of_both_groups_count():
    # M x B / 8 x I = 16 flits enter; on 4 ways twice as many
    assert chain(UNZIP, ZIP).steps == 16
    assert paired(mul(2.0, 3.0)).steps == 32


def test_groups_stand_where_their_axis_does():
    settings = chain(UNZIP, ZIP, time="M, I, B / 8").settings["ops"][0]
    assert (settings["groups"], settings["group_stride"]) == (2, 2)


def test_an_interleaved_read_feeds_pairs():
    held = {n: layout(n, "dm", "f32", "M, N") for n in ("x", "y")}
    steps = [
        fetch(time="M, I", packet="N"),
        COLLECT,
        {"step": "vector", "ops": [UNZIP | {"split_time": "M", "tile_time": "M, 1 # 2"}, ZIP]},
        commit(element="M, N"),
    ]
    found = evaluated(steps, held, read=("x", "y"), interleave="I")
    assert found.findings == ()
    assert found.modes
