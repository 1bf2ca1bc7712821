"""Fetches that read at an offset of their own in place of a switch."""

from models.layout import Stream
from models.mapping import ONE, text
from models.parse import parse
from planner.engines.switch_lifting import lifted_time

AXES = {"A": 4, "B": 8}


def stream(slice_, time):
    return Stream("bf16", ONE, ONE, parse(slice_, AXES), parse(time, AXES), parse("1 # 16", AXES))


def test_copies_take_a_digit_from_time():
    found = lifted_time(stream("64, 4", "B, A"), parse("64, A", AXES), None)
    assert found is not None
    assert text(found) == "B"


def test_another_number_of_slices_is_no_lifting():
    assert lifted_time(stream("64, 4", "B, A"), parse("16, A", AXES), None) is None
