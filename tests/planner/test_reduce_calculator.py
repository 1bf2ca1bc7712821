"""The reduce calculator: what it lists, and that each placement holds the axis once."""

from __future__ import annotations

import pytest

from models.cells import LIVE, all_cells
from models.faults import FaultError
from models.parse import parse
from planner import reduce_calculator

LISTED = 60


def test_placements_are_ranked_and_priced():
    found = reduce_calculator.calculate({"R": 16}, "f32", "R", "Add")
    cycles = [o["pass_cycles"] for o in found["options"]]
    assert cycles == sorted(cycles)
    best = found["options"][0]
    assert (best["time"], best["packet"], best["slots"], best["vcg"]) == ("R / 4", "R % 4", 1, None)
    # 281, the base of a pass with vector steps, and four flits
    assert best["pass_cycles"] == 281 + 4


@pytest.mark.parametrize("size", [3, 13, 16, 100])
def test_every_element_stands_in_one_place(size: int):
    for option in reduce_calculator.calculate({"R": size}, "f32", "R", "Max")["options"][:LISTED]:
        levels = [parse(option[level], {"R": size}) for level in ("slice", "time", "packet")]
        assert levels[0].size == 256
        kind = all_cells(*levels).kind
        assert int((kind == LIVE).sum()) == size, option


def test_what_would_need_too_many_slots_is_counted():
    found = reduce_calculator.calculate({"R": 64, "A": 16}, "i32", "R", "addsat", time="A")
    assert found["refused"]["too_many_slots"] > 0
    assert all(o["slots"] <= 8 for o in found["options"])


def test_a_placement_without_settings_carries_the_warning():
    options = reduce_calculator.calculate({"R": 13}, "f32", "R", "Add")["options"]
    for option in options:
        padded = option["mask"] == "vcg"
        assert (option["warnings"] == ["vcg_not_expressible"]) == (padded and option["vcg"] is None)
    assert {"vcg_not_expressible"} == {w for o in options for w in o["warnings"]}


def test_an_operation_of_the_other_type_leaves_nothing():
    found = reduce_calculator.calculate({"R": 13}, "i32", "R", "Add")
    assert (found["options"], found["chosen"]) == ([], None)
    assert set(found["refused"]) == {"op_not_supported"}


def test_slices_that_are_taken_are_not_used():
    options = reduce_calculator.calculate({"R": 8, "A": 100}, "f32", "R", "Add", slice_="A")["options"]
    assert {o["inter_slice_ratio"] for o in options} == {1, 2}
    assert all(parse(o["slice"], {"R": 8, "A": 100}).size == 256 for o in options)


def test_the_lines_name_the_reduction():
    found = reduce_calculator.answer({"R": 16}, "i32", "R", "Min")
    assert reduce_calculator.visa(found, found.options[0]) == [
        ".vector_intra_slice_reduce::<R, m![1], m![1 # 4]>(IntraSliceReduceOpI32::Min)"
    ]


def test_a_bad_question_is_a_fault():
    with pytest.raises(FaultError):
        reduce_calculator.calculate({"R": 16}, "f32", "Q", "Add")
