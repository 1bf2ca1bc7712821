"""Linear expressions: against Python's own arithmetic, their bounds by enumeration, and what is refused."""

from itertools import product

import pytest

from models.linear import LinearError, parse_linear

TEXTS = ("4 * i", "i*4+2", "- i + 3 * 2 * j - 1", "7", "i - i", "2*i + i*3 - j", " + 5 ")


@pytest.mark.parametrize("text", TEXTS)
def test_value_is_that_of_arithmetic(text):
    linear = parse_linear(text)
    for i, j in product(range(3), range(4)):
        assert linear.value({"i": i, "j": j}) == eval(text.strip(), {}, {"i": i, "j": j})


@pytest.mark.parametrize("text", TEXTS)
def test_bounds_are_those_of_all_values(text):
    linear = parse_linear(text)
    values = [linear.value({"i": i, "j": j}) for i, j in product(range(3), range(4))]
    assert linear.bounds({"i": 3, "j": 4}) == (min(values), max(values))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("4 *", 4),
        ("4 i", 3),
        ("i * j", 5),
        ("4 * (i)", 5),
        ("i ** 2", 4),
        ("i / 2", 3),
        ("--i", 2),
        ("1 + 9999999999", 5),
        ("65536 * 65536", 1),
        ("i;import os", 2),
        ("1" * 5_000, 1),
    ],
)
def test_anything_else_is_refused_with_its_column(text, column):
    with pytest.raises(LinearError) as caught:
        parse_linear(text)
    assert caught.value.column == column
