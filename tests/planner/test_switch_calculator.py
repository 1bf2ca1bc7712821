"""The switch calculator: pinned JSON, and the pieces of its readable output."""

from __future__ import annotations

import json

import pytest

from models.faults import FaultError
from planner.switch_calculator import Answer, answer, behind, bitmap_rows, boxes, calculate, rings, visa

AXES = {"A": 256, "B": 64, "C": 64, "X": 4, "D": 3}
FIELDS = {"kind", "slice1", "slice0", "time0", "ring_size", "cycles", "occupies", "pass_cycles", "out_time"}


def ask(out_slice: str, out_time: str | None = None, in_slice: str = "A") -> Answer:
    return answer(AXES, "i8", in_slice, "B", "C", out_slice, out_time)


def test_the_pinned_document() -> None:
    document = calculate(AXES, "i8", "A", "B", "C", "A / 64, A % 2, A / 2 % 32")
    assert json.loads(json.dumps(document)) == document
    assert document["chosen"] == 0
    assert all(set(o) >= FIELDS for o in document["options"])
    transpose = next(o for o in document["options"] if o["kind"] == "Transpose")
    assert {n: transpose[n] for n in FIELDS} == {
        "kind": "Transpose",
        "slice1": 32,
        "slice0": 2,
        "time0": None,
        "ring_size": 64,
        "cycles": 64 * 64 * 2,
        "occupies": [],
        "pass_cycles": 264 + 64 * (64 * 2 + 2),
        "out_time": "B",
    }
    assert transpose["reason"].endswith("cycles more than Dma")


def test_a_composition_names_its_passes() -> None:
    document = ask("B % 4, A / 4").document()
    pair = next(o for o in document["options"] if o["kind"] == "Composition")
    assert [p["kind"] for p in pair["passes"]] == ["InterTranspose", "Transpose"]
    assert [p["out_slice"] for p in pair["passes"]] == ["A / 4, B % 4", "B % 4, A / 4"]
    assert pair["pass_cycles"] == sum(p["pass_cycles"] for p in pair["passes"])


def test_without_an_answer_every_kind_has_its_reason() -> None:
    document = ask("A / 2").document()
    assert (document["options"], document["chosen"], len(document["reasons"])) == ([], None, 7)
    assert set(document["reasons"]["Transpose"]) == {"rule", "message", "found", "wanted", "nearest"}


def test_the_documented_cycles_of_a_partial_extraction_stand_beside_the_defined_ones() -> None:
    option = next(o for o in ask("A / 4, X", "B, D", "A / 4, D # 4").document()["options"] if o["occupies"])
    assert option["cycles"] == 4 * (64 * 3) * 2
    assert option["note"] == f"the book states {4 * 64 * 3 * 2}, its definition {4 * 64 * 2}"
    assert option["pass_cycles"] == 264 + 4 * (64 * 2 + 2)


def test_boxes_name_the_parts() -> None:
    asked = ask("A / 64, A % 2, A / 2 % 32")
    option = next(o for o in asked.found.options if o.kind == "Transpose")
    drawn = boxes(asked.stream, option)
    assert drawn[1:5] == [
        "│ in Slice │            │        │ in Time │",
        "│ slice2   │ slice1     │ slice0 │ time    │",
        "│ A / 64   │ A / 2 % 32 │ A % 2  │ B       │",
        "│ 4        │ 32         │ 2      │ 64      │",
    ]
    assert len({len(line) for line in drawn[:6]}) == 1
    assert rings(option, 256) == "4 sub-rings of 64 slices: 0-63, 64-127, 128-191, 192-255"
    assert bitmap_rows(option, 256, 3) == ["slice 0 listens to 0", "slice 1 listens to 2", "slice 2 listens to 4"]


@pytest.mark.parametrize(
    ("out_slice", "out_time", "names"),
    [
        (
            "A / 4, X % 2, X / 2",
            "B / 8, A / 2 % 2, B % 8, A % 2",
            "slice2 X Y time1 slice1 time0 slice0",
        ),
        ("A / 4, B / 16", "B % 16, A % 4", "slice2 time1 slice0 time2 time0 slice1"),
    ],
)
def test_boxes_of_kinds_that_cut_time(out_slice: str, out_time: str, names: str) -> None:
    asked = ask(out_slice, out_time)
    option = next(o for o in asked.found.options if o.time0 is not None)
    drawn = boxes(asked.stream, option)
    assert [c.strip() for c in drawn[8].strip("│").split("│")] == names.split()


def test_visa_lines() -> None:
    lines = {o.kind: visa(o) for o in ask("A / 64, A % 2, A / 2 % 32").found.options}
    assert lines["Transpose"] == [
        ".switch::<m![A / 64, A % 2, A / 2 % 32], m![B]>(SwitchConfig::Transpose { slice1: 32, slice0: 2 })"
    ]
    assert lines["CustomBroadcast"][0].endswith("(SwitchConfig::CustomBroadcast { ring_size: 64 })")
    assert [visa(o) for o in ask("A").found.options if o.kind == "Forwarding"] == [[".collect()  // no switch"]]


def test_what_stands_behind_says_why() -> None:
    options = ask("A / 64, A % 2, A / 2 % 32").found.options
    assert behind(options, 0) == ""
    assert behind(options[1:], 1) == "as fast as Transpose(slice1=32, slice0=2), but holds dma, sub too"


def test_faults_of_the_question_come_together() -> None:
    with pytest.raises(FaultError) as caught:
        answer(AXES, "i8", "Q", "B", "C # 3", "A")
    assert [(f.rule, f.op) for f in caught.value.faults] == [
        ("unknown_axis", "in-slice"),
        ("padding_must_grow", "packet"),
    ]
    with pytest.raises(FaultError):
        answer(AXES, "i7", "A", "B", "C", "A")
