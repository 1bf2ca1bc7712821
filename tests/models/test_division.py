"""Cutting and carving, against enumeration: nothing is lost, nothing is doubled, the order is kept."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.cells import all_cells
from models.factors import (
    Digit,
    Padded,
    common_refinement,
    digits,
    divide,
    equivalent,
    from_factors,
    normal,
    split,
)
from models.mapping import Axis, Mapping, Pad, Padding, Pair, pair, terms
from models.parse import parse
from tests import strategies
from tests.strategies import divisors

AXES = {"A": 32, "B": 12, "C": 10, "D": 5, "R": 13}


def counted(*parts: Mapping) -> Counter[tuple[object, ...]]:
    """How often each live cell occurs, and padding: which kind wins depends on the order of the mappings."""
    found = all_cells(*parts)
    names = sorted(found.index)
    kinds = found.kind.ravel().tolist()
    columns = [np.broadcast_to(found.index[n], found.kind.shape).ravel().tolist() for n in names]
    return Counter(
        (kind, *((n, v) for n, v in zip(names, values, strict=True) if v)) if kind == 0 else ("padding",)
        for kind, values in zip(kinds, zip(*columns, strict=True) if columns else [()] * len(kinds), strict=True)
    )


@given(strategies.mappings(), st.data())
def test_split_gives_both_sides(e: Mapping, data: st.DataObject):
    size = data.draw(st.sampled_from(divisors(e.size)))
    halves = split(e, size)
    if halves is not None:
        outer, inner = halves
        assert inner.size == size
        assert equivalent(Pair(outer, inner), e) is True


@given(strategies.layouts(), st.data())
def test_a_layout_splits_at_every_border_of_its_terms(e: Mapping, data: st.DataObject):
    parts = terms(e)
    at = data.draw(st.integers(0, len(parts)))
    size = pair(*parts[at:]).size
    halves = split(e, size)
    assert halves is not None
    assert equivalent(pair(*halves), e) is True
    assert halves[1].size == size


@pytest.mark.parametrize(
    ("expr", "size", "outer", "inner"),
    [
        ("A, B", 12, "A", "B"),
        ("A, B", 24, "A / 2", "A % 2, B"),
        ("A, B", 1, "A, B", "1"),
        ("A, B", 384, "1", "A, B"),
        ("D # 64", 16, "D # 64 / 16", "D # 64 % 16"),
        ("1 # 4, A", 32, "1 # 4", "A"),
        ("1 # 4, A", 64, "1 # 2", "1 # 2, A"),
        ("64, A", 128, "16", "4, A"),
    ],
)
def test_split_of(expr: str, size: int, outer: str, inner: str):
    halves = split(parse(expr, AXES), size)
    assert halves is not None
    assert equivalent(halves[0], parse(outer, AXES)) is True
    assert equivalent(halves[1], parse(inner, AXES)) is True


@pytest.mark.parametrize(("expr", "size"), [("A, B", 5), ("A, B", 8), ("A, C", 4), ("A, B", 768)])
def test_split_inside_a_factor_that_cannot_be_cut(expr: str, size: int):
    assert split(parse(expr, AXES), size) is None


@settings(max_examples=200)
@given(strategies.layouts(), st.data())
def test_what_was_carved_and_what_is_left_meet_every_cell_once(e: Mapping, data: st.DataObject):
    parts = terms(e)
    kept = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    part = pair(*(t for t, k in zip(parts, kept, strict=True) if k))
    left = divide(e, part)
    assert left is not None
    assert left.size * part.size == e.size
    assert counted(left, part) == counted(e)


@given(strategies.layouts(), strategies.layouts())
def test_whatever_can_be_carved_meets_every_cell_once(e: Mapping, part: Mapping):
    left = divide(e, part)
    if left is not None:
        assert counted(left, part) == counted(e)


@pytest.mark.parametrize(
    ("dividend", "part", "left"),
    [
        ("A, B", "B", "A"),
        ("A, B", "A", "B"),
        ("A, B", "1", "A, B"),
        ("A, B", "A, B", "1"),
        ("A", "A / 4 % 2", "A / 8, A % 4"),
        ("A, B", "A % 8, B / 3 % 2", "A / 8, B / 6, B % 3"),
        ("A / 8, B, A % 8", "A", "B"),
        ("A, B, D", "A % 2, D", "A / 2, B"),
        ("D # 64", "D # 64 % 16", "D # 64 / 16"),
        ("A, D # 64", "D # 64", "A"),
        ("A, D # 64", "A % 2, D # 64 / 8 % 2", "A / 2, D # 64 / 16, D # 64 % 8"),
        ("8, A", "2, A", "4"),
        ("A, B", "[A, B] % 12", "A"),
        ("A, B", "[A, B] / 12 % 4", "A / 4, B"),
    ],
)
def test_division_of(dividend: str, part: str, left: str):
    found = divide(parse(dividend, AXES), parse(part, AXES))
    assert found is not None
    assert equivalent(found, parse(left, AXES)) is True


@pytest.mark.parametrize(
    ("dividend", "part"),
    [
        ("A, B", "C"),
        ("A, B", "B, A"),
        ("A / 2", "A % 4"),
        ("A, A % 8", "B"),
        ("D # 64", "D"),
        ("R # 32", "R # 64 / 32"),
        ("A, B", "4"),
        ("A", "A, A"),
    ],
)
def test_what_is_not_there_cannot_be_carved(dividend: str, part: str):
    assert divide(parse(dividend, AXES), parse(part, AXES)) is None


@given(strategies.layouts(), strategies.layouts())
def test_refined_lists_keep_their_cells(a: Mapping, b: Mapping):
    for view in (normal, digits):
        new_a, new_b = common_refinement(view(a), view(b))
        assert equivalent(from_factors(new_a), a) is True
        assert equivalent(from_factors(new_b), b) is True


def test_refinement_cuts_both_at_the_borders_of_the_other():
    a, b = normal(parse("A / 8, B", AXES)), normal(parse("A / 16, A / 8 % 2, 2, B % 6", AXES))
    axis_a, axis_b = Axis("A", 32), Axis("B", 12)
    new_a, new_b = common_refinement(a, b)
    assert new_a == (Digit(axis_a, 8, 4), Digit(axis_b, 6, 2), Digit(axis_b, 1, 6))
    assert [f.size for f in new_b] == [4, 2, 6]
    swapped = common_refinement(normal(parse("A", AXES)), normal(parse("A % 8, A / 8", AXES)))
    assert [f.size for f in swapped[0]] == [8, 4]


def test_refinement_cuts_padding_as_digits_of_the_padded_expression():
    r = Pad(Axis("R", 13), 16)
    new, _ = common_refinement(normal(parse("R # 16", AXES)), normal(parse("A / 8, 4", AXES)))
    assert new == (Digit(r, 4, 4), Digit(r, 1, 4))


def test_refinement_past_the_data_leaves_the_data_whole():
    new, _ = common_refinement(normal(parse("R # 64", AXES)), normal(parse("A / 8, 16", AXES)))
    assert new == (Padded((), 4, Padding.TOP), Padded((Digit(Axis("R", 13), 1, 13),), 16, Padding.TOP))
