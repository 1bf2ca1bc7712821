"""The transpose calculator: what it lists, draws and writes."""

from __future__ import annotations

import pytest

from models.faults import FaultError
from planner import transpose_calculator

AXES = {"B": 2, "C": 8, "D": 2, "E": 8}
BASIC = ("i8", "B, C, D", "E # 32", "B, D, E", "C # 32")


def test_the_example_of_the_seed():
    found = transpose_calculator.calculate(AXES, *BASIC)
    (option,) = found["options"]
    assert (option["cycles"], option["in_cols"], option["in_rows"], option["buffering"]) == (48, 16, 8, "double")
    assert option["pass_cycles"] == 264 + 48
    assert option["visa"] == ".transpose::<m![B, D, E], m![C # 32]>()"
    assert found["reasons"] == []


def test_what_cannot_be_done_is_told_with_the_nearest_output():
    found = transpose_calculator.calculate(AXES, "i8", "B, C, D", "E # 32", "B, E, D", "C # 32")
    assert (found["options"], found["chosen"]) == ([], None)
    assert [(r["rule"], r["nearest"]) for r in found["reasons"]] == [("transpose_time_mismatch", "B, D, E")]


def test_without_a_wish_every_output_is_listed():
    found = transpose_calculator.calculate(AXES, "i8", "B, C, D", "E # 32")
    cycles = [o["cycles"] for o in found["options"]]
    assert cycles == sorted(cycles)
    assert ("B, D, E", "C # 32") in [(o["out_time"], o["out_packet"]) for o in found["options"]]


def test_the_matrix_is_drawn_before_and_behind():
    found = transpose_calculator.answer({"A": 2, "B": 3}, "i8", "A", "B # 32", "B", "A # 32")
    before, after = transpose_calculator.matrix(found.stream, found.options[0])
    assert before[1].split("│")[1:5] == [" A0 B0 ", " A0 B1 ", " A0 B2 ", " ·     "]
    assert [row.split("│")[1:-1] for row in after[1:-1]] == [
        [" A0 B0 ", " A1 B0 "],
        [" A0 B1 ", " A1 B1 "],
        [" A0 B2 ", " A1 B2 "],
    ]
    steps = transpose_calculator.steps(found.stream, found.options[0])
    assert [s.split()[0] for s in steps] == ["unpack", "gather", "transpose", "trim", "align", "repeat", "cycles"]


def test_a_bad_question_is_a_fault():
    with pytest.raises(FaultError):
        transpose_calculator.calculate(AXES, "i7", "B", "E # 32")
    with pytest.raises(FaultError):
        transpose_calculator.calculate(AXES, "i8", "Z", "E # 32")


@pytest.mark.parametrize("size", [10**9, 10**9 + 7, 735_134_400])
def test_huge_paddings_are_refused_by_factors(size: int):
    # 735,134,400 has 1,344 divisors, more than any smaller number
    found = transpose_calculator.calculate({"A": 8, "N": 8}, "i8", f"A # {size}", "N # 32", f"A # {size}", "N # 32")
    assert [r["rule"] for r in found["reasons"]] == ["transpose_packet_mismatch"]
