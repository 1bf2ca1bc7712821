"""Digits against the cells of the text that they are written as."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cells import cells
from models.factors import equivalent
from models.parse import parse
from planner.search.parts import (
    Part,
    fill,
    joined,
    of_mapping,
    size_of,
    take_major,
    take_minor,
    whole_axis,
    without,
    written,
)

AXES = {"A": 12, "B": 8}
BOTH = (whole_axis("A", 12), whole_axis("B", 8))


def same(text, other):
    return equivalent(parse(text, AXES), parse(other, AXES))


@given(st.sampled_from([1, 2, 3, 4, 6, 12, 24, 48, 96]))
def test_a_cut_list_reads_the_same_cells(size):
    for take, inside in ((take_major, 96 // size), (take_minor, size)):
        cut = take(BOTH, size)
        if cut is not None:
            assert size_of(cut[0]) * size_of(cut[1]) == 96
            assert size_of(cut[1]) == inside
            assert same(written((*cut[0], *cut[1])), "A, B")


def test_a_cut_that_no_digit_allows_is_none():
    assert take_major(BOTH, 5) is None
    assert take_major(BOTH, 8) is None
    assert take_minor(BOTH, 12) is None


def test_padding_is_part_of_the_axis():
    part = whole_axis("A", 12, 16)
    outer, inner = part.cut(4)
    assert (str(part), str(outer), str(inner)) == ("A # 16", "A # 16 / 4", "A # 16 % 4")
    live = cells(parse("A # 16 / 4, A # 16 % 4", AXES), np.arange(16))
    assert int((live.kind == live.kind[0]).sum()) == 12


def test_neighbours_that_read_on_are_joined():
    assert joined((Part("B", 8, 4, 2, 8), Part("B", 8, 1, 4, 8), *fill(1))) == (whole_axis("B", 8),)
    assert written((Part("B", 8, 1, 2, 8), Part("B", 8, 2, 4, 8))) == "B % 2, B / 2"


def test_what_is_taken_out_leaves_the_rest_in_order():
    left = without(BOTH, [Part("B", 8, 2, 2, 8)])
    assert written(left) == "A, B / 4, B % 2"
    assert without(BOTH, BOTH) == ()


@pytest.mark.parametrize("text", ["A", "B / 2, A", "1 # 4, B % 4", "A # 16 / 4, B", "A # 16 % 4"])
def test_mappings_of_digits_are_read_back(text):
    parts = of_mapping(parse(text, AXES), AXES)
    assert parts is not None
    assert same(written(parts), text)


@pytest.mark.parametrize("text", ["[A, B] / 8 % 3", "A = 5", "3, A"])
def test_other_mappings_are_none_or_the_same(text):
    parts = of_mapping(parse(text, AXES), AXES)
    assert parts is None or same(written(parts), text)
