"""Reductions inside a slice: tables, random Times against plain products, padding and what may stand in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from models.layout import Stream
from models.mapping import ONE
from models.parse import parse
from models.vector_ops import VectorOp
from planner.cases import run_cases
from planner.engines import intra_slice_reduce, vector
from planner.engines.base import Ground, Outcome
from planner.engines.intra_slice_identity import IDENTITY, UNKNOWN, VCG, Held, held_by, identity, pad_value
from planner.engines.intra_slice_reduce import ReduceConfig
from tests.planner.pass_cases import COLLECT, HARDWARE, commit, evaluated, fetch, layout
from tests.strategies import reduced_times

TESTS = Path(__file__).parents[2]
TABLES = [
    TESTS / place / f"{name}.yaml"
    for place, name in (("golden", "intra_slice_reduce"), ("rules", "intra_slice_reduce"))
]
AXES = {"A": 256, "B": 3, "R": 13, "K": 16}


@pytest.mark.parametrize("table", TABLES, ids=lambda p: p.parent.name)
def test_tables(table: Path):
    assert [(c.id, c.mismatches) for c in run_cases([table]).cases if not c.passed] == []


@given(reduced_times())
def test_slots_and_delay_are_products_of_factors(drawn: tuple[dict[str, int], list[tuple[str, int]]]):
    axes, factors = drawn
    time = parse(", ".join(name for name, _ in factors), axes)
    left = [(name, n) for name, n in factors if not name.startswith("R")]
    first = next(i for i, (name, _) in enumerate(factors) if name.startswith("R"))
    slots = steps = 1
    for name, n in factors:
        steps *= n if name.startswith("R") else 1
    for name, n in factors[first:]:
        slots *= 1 if name.startswith("R") else n
    out = parse(", ".join(name for name, _ in left) or "1", axes)
    stream = Stream("f32", ONE, ONE, parse("A", AXES), time, parse("1 # 4", axes))
    found = intra_slice_reduce.law(Ground(HARDWARE, axes), stream, ReduceConfig("R", "Add", out, parse("1 # 4", axes)))
    assert {f.rule for f in found.findings} == ({"too_many_slots"} if slots > 8 else set())
    wanted = {"slots": slots, "first_output_delay": steps, "stall_flits": (steps - 1) * slots + 1}
    assert wanted.items() <= found.settings.items()
    assert found.steps == time.size


# Padding ----------------------------------------------------------------------------------------------------

Op = dict[str, Any]


def reduce(op: str = "Add", axis: str = "R", time: str = "1") -> Op:
    return {"name": "intra_slice_reduce", "axis": axis, "op": op, "time": time, "packet": "1 # 4"}


TRIM: Op = {"name": "narrow_trim", "value": "1 # 4"}
EXP: Op = {"name": "fp_unary", "value": "Exp"}


def float_op(op: str, operand: float | str | None, **more: Any) -> Op:
    return {"name": "fp_binary", "op": op, "operand": operand, **more}


def chain(*ops: Op, pad: str = "poison", mask: str = IDENTITY, time: str = "R # 16", dtype: str = "f32") -> Outcome:
    """The reduction at the end of a chain over a tensor whose padding the host has filled."""
    source = replace(layout("x", "dm", dtype, time), pad=pad)
    at = {"slice": parse("A", AXES), "time": parse(time, AXES), "packet": parse("1 # 8", AXES)}
    stream = Stream(dtype, ONE, ONE, **at)
    found = vector.chain(
        Ground(HARDWARE, AXES), stream, [VectorOp.model_validate(o) for o in ops], {}, mask, held_by(source)
    )
    return found[-1]


@pytest.fixture(autouse=True)
def _axes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.planner.pass_cases.AXES", AXES)


def case(*ops: Op, **more: Any):
    return lambda: chain(*ops, **more)


RULE_CASES = {
    "identity_padding.feasible": case(TRIM, reduce(), pad="0"),
    "identity_padding.broken": case(TRIM, reduce(), pad="poison"),
    "identity_padding.beside": case(TRIM, reduce(), time="R #{0} 16"),
    "identity_behind_transform.feasible": case(TRIM, reduce("Max"), pad="-inf"),
    "identity_behind_transform.broken": case(TRIM, EXP, reduce(), pad="-inf"),
    "identity_behind_transform.beside": case(TRIM, EXP, reduce(), mask=VCG),
}


@pytest.mark.parametrize("name", RULE_CASES)
def test_rule(name: str):
    rule, _, part = name.rpartition(".")
    found = {f.rule for f in RULE_CASES[name]().findings if f.rule != "vector_end"}
    assert found == ({rule} if part == "broken" else set())


VALUES = [
    ("0", [float_op("MulF", 3.0)], "Add", True),
    ("0", [float_op("AddF", 1.0)], "Add", False),
    ("0", [float_op("MulF", None, mode="00")], "Add", True),
    ("0", [float_op("MulF", "v")], "Add", False),
    ("-inf", [float_op("AddF", 1.0)], "Max", True),
    ("-inf", [float_op("MulF", -1.0)], "Min", True),
    ("-inf", [float_op("MulF", -1.0)], "Max", False),
    ("0", [{"name": "fp_unary", "value": "Tanh"}], "Add", True),
    ("0", [{"name": "fp_unary", "value": "Cos"}], "Add", False),
    ("+inf", [], "Min", True),
    ("max", [], "Min", False),
]


@pytest.mark.parametrize(("pad", "ops", "op", "legal"), VALUES)
def test_a_padding_value_is_followed_through_the_chain(pad: str, ops: list[Op], op: str, legal: bool):
    findings = [f for f in chain(TRIM, *ops, reduce(op), pad=pad).findings if f.rule.startswith("identity")]
    assert (findings == []) == legal


def test_padding_that_the_chip_adds_holds_nothing():
    source = replace(layout("x", "dm", "f32", "R"), pad="0")
    stream = Stream("f32", ONE, ONE, parse("A", AXES), parse("R # 16", AXES), parse("1 # 4", AXES))
    config = ReduceConfig("R", "Add", ONE, parse("1 # 4", AXES), IDENTITY, held_by(source))
    assert {f.rule for f in intra_slice_reduce.law(Ground(HARDWARE, AXES), stream, config).findings} == {
        "identity_padding"
    }


def test_a_contraction_in_between_is_not_followed():
    stream = Stream("f32", ONE, ONE, parse("A", AXES), parse("R #{0} 16", AXES), parse("1 # 4", AXES))
    for held, rules in ((UNKNOWN, set()), (Held(broken_by="contract_outer"), {"identity_behind_transform"})):
        config = ReduceConfig("R", "Add", ONE, parse("1 # 4", AXES), IDENTITY, held)
        found = intra_slice_reduce.law(Ground(HARDWARE, AXES), stream, config)
        assert {f.rule for f in found.findings} == rules


def test_identities_and_paddings():
    assert [identity(op, "i32") for op in ("AddSat", "Max", "Min")] == [0, -(2**31), 2**31 - 1]
    assert [identity(op, "f32") for op in ("Add", "Max", "Min")] == [0, float("-inf"), float("inf")]
    assert pad_value("min", "i32") == -(2**31)
    assert pad_value("max", "i8") == 127
    assert pad_value("-inf", "f8e4m3") == -448
    assert pad_value("poison", "f32") is None


# In a pass --------------------------------------------------------------------------------------------------

WIDEN: Op = {"name": "widen_pad", "value": "1 # 8"}


def reduction(element: str, time: str, *ops: Op, packet: str = "1 # 8", pad: str = "poison", **more: Any):
    x = replace(layout("x", "dm", "f32", element, slice=more.pop("slice", "A")), pad=pad)
    steps = [
        fetch(time=time, packet=packet),
        COLLECT,
        {"step": "vector", "ops": [*ops, WIDEN]},
        commit(element="1 # 8"),
    ]
    return evaluated(steps, {"x": x}, **more)


def test_both_ways_of_masking_are_choices():
    every = reduction("R # 16", "R # 16", TRIM, reduce(), pad="0")
    assert {m.decisions["mask"] for m in every.modes} == {"vcg"}
    asked = reduction("R # 16", "R # 16", TRIM, reduce(), pad="0", fixed={"mask": "identity"})
    assert {m.decisions["mask"] for m in asked.modes} == {"identity"}


def test_softmax_may_not_rely_on_identity_padding():
    chain_ = (TRIM, EXP, reduce())
    assert reduction("R # 16", "R # 16", *chain_, pad="0").modes
    asked = reduction("R # 16", "R # 16", *chain_, pad="0", fixed={"mask": "identity"})
    assert [f.rule for _, f in asked.findings] == ["identity_behind_transform"]


def test_an_axis_without_padding_leaves_no_choice():
    assert all("mask" not in m.decisions for m in reduction("K", "K", TRIM, reduce(axis="K")).modes)


SPREAD = {"slice": "R # 16 / 2 % 4 # 64", "packet": "1 # 8"}


def test_what_the_generator_cannot_do_is_a_warning_with_a_way_out():
    found = reduction("R # 16 / 8, R # 16 % 2", "R # 16 / 8, R # 16 % 2", TRIM, reduce(), **SPREAD)
    assert found.modes
    (warning,) = {w for _, w in found.warnings}
    assert warning.rule == "vcg_not_expressible"
    assert "identity" in warning.nearest


def test_identity_padding_is_that_way_out():
    found = reduction("R # 16 / 8, R # 16 % 2", "R # 16 / 8, R # 16 % 2", TRIM, reduce(), pad="0", **SPREAD)
    assert found.warnings == ()
    assert {m.decisions["mask"] for m in found.modes} == {"identity"}


def test_split_halves_are_judged_as_the_flit_they_came_from():
    split = {"name": "narrow_split", "time": "R # 32 / 8, R # 32 / 4 % 2", "packet": "R # 32 % 4"}
    found = reduction("R # 32", "R # 32 / 8", split, reduce(), packet="R # 32 % 8")
    stage = next(s for s in found.programs[found.modes[0].program] if s.settings.get("name") == "intra_slice_reduce")
    assert stage.settings["vcg"]["clipper"] == {"entries": ["4:8"], "axis_size": 13, "span": 8}
    assert stage.settings["vcg_ways"] == 8
    assert stage.settings["first_output_delay"] == 8
