"""Names of vISA as its book spells them, where ours differ."""

from __future__ import annotations

import pytest

from planner.engines.vector_table import OPERATIONS
from planner.readers.vendor_spellings import ENUMS
from tests.planner.readers.test_yaml_kernel import faults, tiny, vector


@pytest.mark.parametrize(("written", "ours"), [("Mul0", "FpMul0"), ("Mul1", "FpMul1"), ("Fma", "FpFma")])
@pytest.mark.parametrize("form", ["{op: mul, operand: 2.0, alu: %s}", "{op: MulF(FpMulAlu::%s), operand: 2.0}"])
def test_the_alu_of_a_product(written, ours, form):
    (op,) = vector(f"fp_binary: {form % written}")
    assert (op.op, op.alu) == ("MulF", ours)


def test_a_zip_of_products_names_its_alu_too():
    (plain,) = vector("fp_zip: MulF(FpMulAlu::Mul1)")
    (fields,) = vector("fp_zip: {op: MulF, alu: FpMulAlu::Mul1, mode: BinaryArgMode::Mode10}")
    assert (plain.op, plain.alu) == (fields.op, fields.alu) == ("MulF", "FpMul1")
    assert fields.mode == "10"


def test_paths_and_modes():
    ops = vector(
        "tag: TagMode::Zero",
        "fxp: {op: FxpBinaryOp::SubFxp, operand: 7, mode: BinaryArgMode::Mode10, alu: RngdAlu::FxpAdd}",
        "fp_unary: FpUnaryOp::Sigmoid",
        "fp_ternary: {op: FpTernaryOp::FmaF, operands: [1.0, 2.0], mode: Mode102}",
        "clip: {op: ClipBinaryOpI32::Max, operand: 0}",
    )
    assert [op.op or op.value for op in ops] == ["zero", "SubFxp", "Sigmoid", "FmaF", "Max"]
    assert [op.mode for op in ops] == [None, "10", None, "102", None]
    assert ops[1].alu == "FxpAdd"


@pytest.mark.parametrize(("row", "dtype"), OPERATIONS)
def test_every_alu_is_taken_behind_its_enum(row, dtype):
    if row in ("fp_div", "fp"):
        return
    for name, alus in OPERATIONS[row, dtype].items():
        operands = {"fp_unary": "", "fp_ternary": ", operands: [1.0, 2.0]"}.get(row, ", operand: 2")
        for alu in alus:
            (op,) = vector(f"{row}: {{op: {name}, alu: RngdAlu::{alu}{operands}}}")
            assert op.alu == alu


@pytest.mark.parametrize(
    ("op", "rule"),
    [
        ("fp_binary: {op: MulF(Mul0), operand: 2.0, alu: Mul1}", "conflicting_fields"),
        ("fp_binary: {op: mul, operand: 2.0, alu: Mul2}", "wrong_choice"),
        ("fp_binary: {op: Nothing::MulF, operand: 2.0}", "unknown_op_name"),
        ("fp_binary: {op: AddF(Mul0), operand: 2.0}", "unknown_op_name"),
        ("fxp: {op: AddFxp, operand: 2, alu: Mul0}", "wrong_choice"),
    ],
)
def test_what_is_no_name_of_either(op, rule):
    found = faults(tiny(steps=f"      - collect\n      - vector:\n          - {op}"))
    assert [f.rule for f in found] == [rule]


def test_enums_are_listed_once():
    assert len(set(ENUMS)) == len(ENUMS)
