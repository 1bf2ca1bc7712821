"""The ALUs against exact arithmetic: what is rounded once, and where integers stop."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simulator.engines import arithmetic

RNG = np.random.default_rng(11)


def nearest_f32(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, ties to the even one, by comparing neighbours."""
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    finite = [x for x in around if np.isfinite(x)]
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.uint32)) & 1))


def test_a_fused_multiply_add_is_rounded_once():
    """Cases where the float64 sum lies on a tie of float32 but for bits that float64 drops, and random ones."""
    one, tiny = np.float32(1 + 2**-12), np.float32(2.0**-60)
    a = np.concatenate([[one, one, one], RNG.normal(size=3000)]).astype(np.float32)
    b = np.concatenate([[one, one, one], RNG.normal(size=3000)]).astype(np.float32)
    c = np.concatenate([[tiny, -tiny, 0], RNG.normal(size=3000) * 10.0 ** RNG.integers(-12, 3, 3000)]).astype(
        np.float32
    )
    found = arithmetic.fma(a, b, c)
    for x, y, z, got in zip(a, b, c, found, strict=True):
        assert got == nearest_f32(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))), (x, y, z)
    assert found[0] != found[1], "the tie falls to either side"


@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
def test_float_operations_are_rounded_to_the_nearest(name):
    a, b = (RNG.normal(size=800).astype(np.float32) for _ in range(2))
    exact = {"addf": Fraction.__add__, "subf": Fraction.__sub__, "mulf": Fraction.__mul__, "divf": Fraction.__truediv__}
    for x, y, got in zip(a, b, arithmetic.FLOAT[name](a, b), strict=True):
        assert got == nearest_f32(exact[name](Fraction(float(x)), Fraction(float(y))))


def test_results_below_the_smallest_normal_number_are_zeros_of_their_sign():
    small = np.array([2.0**-100, -(2.0**-100)], dtype=np.float32)
    found = arithmetic.FLOAT["mulf"](small, np.full(2, 2.0**-40, np.float32))
    assert found.tolist() == [0.0, 0.0]
    assert np.signbit(found).tolist() == [False, True]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0, 0),
        (1, 0),
        (2, 1),
        (5, 1),
        (6, 2),
        (-1, 0),
        (-2, -1),
        (-5, -1),
        (-6, -2),
        (2**31 - 1, 2**29),
        (-(2**31), -(2**29)),
    ],
)
def test_a_rounding_shift_by_two_goes_to_the_nearest_ties_away(value, wanted):
    two = np.array([2], dtype=np.int32)
    assert arithmetic.INTEGER["arithrightshiftround"](np.array([value], np.int32), two).tolist() == [wanted]


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (1 << 30, 1 << 30, 1 << 29),
        (-(1 << 31), -(1 << 31), 2**31 - 1),
        (3, 1 << 29, 1),  # 0.75
        (1, 1 << 30, 1),  # a tie, up
        (-1, 1 << 30, 0),  # a tie, up
    ],
)
def test_a_q31_product_is_the_nearest(a, b, wanted):
    assert arithmetic.INTEGER["mulfxp"](np.array([a], np.int32), np.array([b], np.int32)).tolist() == [wanted]


@pytest.mark.parametrize(("name", "wanted"), [("absmin", 2), ("absmax", -3)])
def test_sizes_are_compared_and_operands_are_given(name, wanted):
    assert arithmetic.INTEGER[name](np.array([2], np.int32), np.array([-3], np.int32)).tolist() == [wanted]
    assert arithmetic.FLOAT[name](np.array([2], np.float32), np.array([-3], np.float32)).tolist() == [wanted]


def test_the_larger_of_a_number_and_no_number_is_the_number():
    nan, one = np.array([np.nan], np.float32), np.array([1], np.float32)
    assert arithmetic.FLOAT["max"](nan, one).tolist() == arithmetic.FLOAT["min"](one, nan).tolist() == [1.0]


def test_sine_gives_no_number_beyond_one_turn():
    turn = np.array([0x40C90FDA, 0x40C90FDB], dtype=np.uint32).view(np.float32)
    assert np.isnan(arithmetic.UNARY["sin"](turn)).tolist() == [False, True]
