from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from planner import mapping_cases

GOLDEN = Path(__file__).parents[1] / "golden" / "mapping.yaml"
CASES = YAML(typ="safe", pure=True).load(GOLDEN)["cases"]


def without_zeros(cell: Any) -> Any:
    return {k: v for k, v in cell.items() if v} if isinstance(cell, dict) else cell


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_golden_case(case):
    result = mapping_cases.run(case)
    expect = dict(case["expect"])
    for position, cell in expect.pop("cells", {}).items():
        assert without_zeros(result["cells"][position]) == without_zeros(cell), position
    for field, value in expect.items():
        assert result[field] == value, field


def test_case_of_a_broken_mapping_names_the_rule():
    result = mapping_cases.run({"axes": {"A": 10}, "expr": "A / 4", "expect": {"ok": False}})
    assert (result["ok"], result["rules"]) == (False, ["stride_must_divide"])


def test_equivalence_that_is_not_there_is_not_listed():
    case = {
        "axes": {"A": 8},
        "expr": "A",
        "expect": {"equivalent_to": ["A", "8", "A /"], "not_equivalent_to": ["A"]},
    }
    result = mapping_cases.run(case)
    assert result["equivalent_to"] == ["A"]
    assert result["not_equivalent_to"] == []


def test_describe_shows_size_shortest_form_factors_cells_and_equivalence():
    shown = mapping_cases.describe("A / 4, A % 4, 2, B # 4", {"A": 8, "B": 3}, ["A, 2, B # 4", "A, B # 4, 2"])
    assert shown["size"] == 64
    assert shown["normal_form"] == "A, 2, B # 4"
    assert [f["kind"] for f in shown["factors"]] == ["axis", "broadcast", "padded"]
    assert shown["cells"][0] == {"A": 0, "B": 0}
    assert shown["cells"][3] == "padding_top"
    assert len(shown["cells"]) == mapping_cases.FIRST_POSITIONS
    assert list(shown["equivalence"].values()) == ["equivalent", "not equivalent"]
