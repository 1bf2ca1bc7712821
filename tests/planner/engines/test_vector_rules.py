"""Rules of the vector engine's chain: legal, broken by one change, legal right beside it."""

from __future__ import annotations

from typing import Any

import pytest

from models.layout import Stream
from models.parse import parse
from models.vector_ops import VectorOp
from planner.engines import vector
from planner.engines.base import Ground, Outcome
from tests.planner.pass_cases import AXES, HARDWARE, layout, tensors

VRF = tensors(
    v=layout("v", "vrf", "f32", "M, B"),
    row=layout("row", "vrf", "f32", "B"),
    turned=layout("turned", "vrf", "f32", "B, M"),
    words=layout("words", "vrf", "i32", "M, B"),
    more=layout("more", "vrf", "f32", "Q, M, B"),
    elsewhere=layout("elsewhere", "vrf", "f32", "M, B", slice="A % 16, A / 16"),
)

Op = dict[str, Any]
SPLIT: Op = {"name": "narrow_split", "time": "M, B / 4", "packet": "B % 4"}
CONCAT: Op = {"name": "widen_concat", "time": "M, B / 8", "packet": "B % 8"}
UNZIP: Op = {"name": "unzip", "axis": "I"}
STASH: Op = {"name": "stash"}


def chain(*ops: Op, dtype: str = "f32", time: str = "M, B / 8") -> Outcome:
    def at(text: str):
        return parse(text, AXES)

    stream = Stream(dtype, at("1"), at("1 # 2"), at("A"), at(time), at("B % 8"))
    return vector.law(Ground(HARDWARE, AXES), stream, [VectorOp.model_validate(o) for o in ops], VRF)


def floats(*ops: Op) -> Outcome:
    """A chain with its ops on four ways."""
    return chain(SPLIT, *ops, CONCAT)


def clip(op: str, operand: Any = 1.0, **more: Any) -> Op:
    return {"name": "clip", "op": op, "operand": operand, **more}


def mul(operand: Any = 2.0, **more: Any) -> Op:
    return {"name": "fp_binary", "op": "mul", "operand": operand, **more}


def unary(op: str) -> Op:
    return {"name": "fp_unary", "value": op}


def fma(*operands: Any, **more: Any) -> Op:
    return {"name": "fp_ternary", "op": "fma", "operands": operands, **more}


def guarded(*guards: dict[str, Any]) -> Op:
    when = ("one", "zero", "ignore", "ignore")
    return {"name": "clip", "op": "Max", "guards": [{"when": when, **g} for g in guards]}


def tag(*names: str) -> Op:
    return {"name": "tag", "comparisons": [{n: 0} for n in names]}


ADD: Op = {"name": "fxp", "op": "AddFxp", "operand": 1}
TO_FLOAT: Op = {"name": "fxp_to_fp", "value": 31}
INTER: Op = {"name": "inter_slice_reduce", "op": "Add", "slice": "A / 4, 1 # 4", "time": "M, B / 8"}

RULE_CASES = {
    "vector_type.feasible": lambda: floats(unary("exp")),
    "vector_type.broken": lambda: chain(SPLIT, unary("exp"), CONCAT, dtype="i32"),
    "vector_type.beside": lambda: chain(TO_FLOAT, SPLIT, unary("exp"), CONCAT, dtype="i32"),
    "vector_stage_order.feasible": lambda: chain(ADD, TO_FLOAT, clip("Max"), dtype="i32"),
    "vector_stage_order.broken": lambda: chain(clip("Max", 1), ADD, dtype="i32"),
    "vector_stage_order.beside": lambda: chain(ADD, clip("Max", 1), clip("Min", 9), dtype="i32"),
    "vector_end.feasible": lambda: floats(unary("exp")),
    "vector_end.broken": lambda: chain(SPLIT, unary("exp")),
    "vector_end.beside": lambda: chain(clip("Max")),
    "inter_slice_place.feasible": lambda: chain(clip("Max"), INTER),
    "inter_slice_place.broken": lambda: chain({"name": "tag", "value": "zero"}, INTER),
    "inter_slice_place.beside": lambda: chain(INTER, clip("Max")),
    "vector_operation.feasible": lambda: chain({"name": "logic", "op": "leftshift", "operand": 1}, dtype="i32"),
    "vector_operation.broken": lambda: chain({"name": "logic", "op": "leftshift", "operand": 1}),
    "vector_operation.beside": lambda: chain({"name": "logic", "op": "bitand", "operand": 1}),
    "alu_choice.feasible": lambda: floats(mul(alu="Mul1")),
    "alu_choice.broken": lambda: floats(mul(alu="FpExp")),
    "alu_choice.beside": lambda: floats(mul(alu="FpFma")),
    "alu_used_twice.feasible": lambda: floats(unary("tanh"), unary("exp")),
    "alu_used_twice.broken": lambda: floats(unary("sqrt"), unary("tanh")),
    "alu_used_twice.beside": lambda: floats(mul(), mul(3.0), mul(4.0)),
    "argument_mode.feasible": lambda: floats(mul(mode="10")),
    "argument_mode.broken": lambda: floats(mul(mode="012")),
    "argument_mode.beside": lambda: floats(fma(1.0, 2.0, mode="012")),
    "operand_count.feasible": lambda: floats(fma(1.0, 2.0)),
    "operand_count.broken": lambda: floats(fma(1.0)),
    "operand_count.beside": lambda: floats({"name": "fp_binary", "op": "mul", "mode": "00"}),
    "operand_type.feasible": lambda: chain(clip("Max", "v")),
    "operand_type.broken": lambda: chain(clip("Max", "words")),
    "operand_type.beside": lambda: chain(clip("Max", "words"), dtype="i32"),
    "operand_axes.feasible": lambda: chain(clip("Max", "v")),
    "operand_axes.broken": lambda: chain(clip("Max", "more")),
    "operand_axes.beside": lambda: chain(clip("Max", "row")),
    "operand_packet.feasible": lambda: chain(clip("Max", "v")),
    "operand_packet.broken": lambda: chain(clip("Max", "turned")),
    "operand_packet.beside": lambda: chain(clip("Max", "row")),
    "guarded_operand.feasible": lambda: chain(guarded({"imm": 1.0}, {"imm": 2.0}, {"imm": 3.0}, {"rf": "v"})),
    "guarded_operand.broken": lambda: chain(guarded({"rf": "v"}, {"imm": 2.0})),
    "guarded_operand.beside": lambda: chain(guarded({"imm": 2.0}, {"rf": "v"})),
    "tag_comparisons.feasible": lambda: chain(tag("Less", "Equal", "True", "False")),
    "tag_comparisons.broken": lambda: chain(tag("Less", "Equal", "True")),
    "tag_comparisons.beside": lambda: chain({"name": "tag", "value": "zero"}),
    "stash.feasible": lambda: floats(STASH, mul("stash")),
    "stash.broken": lambda: floats(STASH, mul("stash"), mul("stash")),
    "stash.beside": lambda: chain(STASH, SPLIT, unary("exp"), CONCAT, clip("Max", "stash")),
    "pair_mode_op.feasible": lambda: chain(UNZIP, {"name": "clip_zip", "value": "Add"}, time="M, B / 8, I"),
    "pair_mode_op.broken": lambda: chain(UNZIP, STASH, {"name": "clip_zip", "value": "Add"}, time="M, B / 8, I"),
    "pair_mode_op.beside": lambda: chain(UNZIP, SPLIT, {"name": "fp_zip", "op": "add"}, CONCAT, time="M, B / 8, I"),
    "unzip_axis.feasible": lambda: chain(UNZIP, {"name": "clip_zip", "value": "Add"}, time="I, M, B / 8"),
    "unzip_axis.broken": lambda: chain(UNZIP | {"axis": "M"}, {"name": "clip_zip", "value": "Add"}, time="M, B / 8, I"),
    "unzip_axis.beside": lambda: chain(UNZIP, {"name": "clip_zip", "value": "Add"}, time="M, I, B / 8"),
    "unzip_time.feasible": lambda: chain(
        UNZIP | {"split_time": "M, B / 8", "tile_time": "M, B / 8, 1 # 2"},
        {"name": "clip_zip", "value": "Add"},
        time="M, B / 8, I",
    ),
    "unzip_time.broken": lambda: chain(
        UNZIP | {"split_time": "M", "tile_time": "M, B / 8, 1 # 2"},
        {"name": "clip_zip", "value": "Add"},
        time="M, B / 8, I",
    ),
    "unzip_time.beside": lambda: chain(
        UNZIP | {"split_time": "M / 2, M % 2, B / 8"}, {"name": "clip_zip", "value": "Add"}, time="M, B / 8, I"
    ),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str):
    rule, _, part = case.rpartition(".")
    found = {f.rule for f in RULE_CASES[case]().findings}
    assert rule in found if part == "broken" else found == set()


def test_an_operand_split_otherwise_is_refused():
    assert {f.rule for f in chain(clip("Max", "elsewhere")).findings} == {"operand_split"}


@pytest.mark.parametrize("stage", ["fxp_to_fp", "widen_concat"])
def test_stages_that_cannot_write_the_stash(stage: str):
    ops = [SPLIT, unary("exp"), CONCAT, STASH] if stage == "widen_concat" else [TO_FLOAT, STASH]
    outcome = chain(*ops, dtype="f32" if stage == "widen_concat" else "i32")
    assert {f.rule for f in outcome.findings} == {"stash"}


def test_the_stash_does_not_reach_the_inter_slice_reducer():
    outcome = chain(STASH, INTER, clip("Max", "stash"))
    assert "stash" in {f.rule for f in outcome.findings}


def test_three_multiplications_take_three_alus_and_a_fourth_has_none():
    outcome = floats(mul(), mul(alu="Mul0"), mul())
    assert [o.get("alu") for o in outcome.settings["ops"]] == [None, "FpMul1", "FpMul0", "FpFma", None]
    assert {f.rule for f in floats(mul(), mul(), mul(), mul()).findings} == {"alu_used_twice"}


def test_narrow_split_doubles_the_steps():
    assert chain(clip("Max")).steps == 8
    assert floats(unary("exp")).steps == 16
