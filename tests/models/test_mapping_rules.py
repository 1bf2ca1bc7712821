"""Every rule of mapping text: a text that keeps it, one change that breaks it, and the legal text beside it."""

from __future__ import annotations

import pytest

from models.mapping import MappingError
from models.parse import MAX_SIZE, MAX_TEXT, parse
from models.rules.mapping import RULES

AXES = {"A": 12, "B": 2**31, "C": 2**31}

# rule: feasible, broken by one change, feasible right beside
TEXTS = {
    "mapping_syntax": ("A / 4", "A / / 4", "A / 4, 1"),
    "mapping_too_long": (" " * (MAX_TEXT - 1) + "A", " " * MAX_TEXT + "A", " " * (MAX_TEXT - 2) + "A"),
    "mapping_too_deep": ("[" * 64 + "A" + "]" * 64, "[" * 65 + "A" + "]" * 65, "[" * 63 + "A" + "]" * 63),
    "mapping_too_large": ("B, C", "B, C, 2", "B, C, 1"),
    "unknown_axis": ("A, B", "A, Q", "B, A"),
    "unknown_layout": ("A", "{A}", "[A]"),
    "size_out_of_range": ("A, 1", "A, 0", "A, 2"),
    "stride_must_divide": ("A / 4", "A / 5", "A / 6"),
    "modulo_must_divide": ("A % 4", "A % 5", "A % 6"),
    "padding_must_grow": ("A # 12", "A # 11", "A # 13"),
    "resize_must_shrink": ("A = 12", "A = 13", "A = 11"),
}

RULE_CASES = {
    f"{rule}.{part}": source
    for rule, sources in TEXTS.items()
    for part, source in zip(("feasible", "broken", "beside"), sources, strict=True)
}


def test_every_rule_has_its_texts():
    assert [r.id for r in RULES] == list(TEXTS)


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str):
    rule, part = case.split(".")
    if part != "broken":
        assert parse(RULE_CASES[case], AXES).size >= 1
        return
    with pytest.raises(MappingError) as fault:
        parse(RULE_CASES[case], AXES)
    assert fault.value.rule == rule


def test_the_largest_size_that_may_be_written():
    assert parse(str(MAX_SIZE), {}).size == MAX_SIZE
    with pytest.raises(MappingError, match="is not a size"):
        parse(str(MAX_SIZE + 1), {})


def test_rules_say_what_they_demand_and_where_it_is_written():
    for rule in RULES:
        assert rule.sentence.endswith(".")
        assert rule.source
        assert rule.kind == "file"
