"""Conversions by the rules of domain section 4, against exact arithmetic where a rule is general."""

import math

import ml_dtypes
import numpy as np
import pytest

from simulator import values


def f32(*numbers):
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (1.0, 0x3F80),
        (1.00390625, 0x3F80),  # a tie, to even
        (1.01171875, 0x3F82),  # a tie, to even upwards
        (1e-40, 0x0000),
        (-1e-40, 0x8000),
        (math.nan, 0x7FC0),
        (math.inf, 0x7F80),
        (3.4e38, 0x7F80),
    ],
)
def test_f32_to_bf16(number, bits):
    assert values.encode(f32(number), "bf16").tolist() == [bits]


def test_bf16_agrees_with_ml_dtypes_on_normal_numbers():
    numbers = np.random.default_rng(1).normal(size=4096).astype(np.float32) * 1e3
    assert np.array_equal(values.encode(numbers, "bf16"), numbers.astype(ml_dtypes.bfloat16).view(np.uint16))


@pytest.mark.parametrize(
    ("number", "wanted"), [(449, 448), (1e9, 448), (math.inf, 448), (-math.inf, -448), (0.3, 0.3125)]
)
def test_f32_to_f8e4m3_saturates(number, wanted):
    raw = values.encode(f32(number), "f8e4m3")
    assert values.decode(raw, "f8e4m3").tolist() == [wanted]


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (2.25, 2.5),
        (-2.25, -2.5),
        (2.2, 2.0),
        (57344, 57344),
        (61439, 57344),
        (61440, math.inf),
        (-1e9, -math.inf),
        (0, 0),
    ],
)
def test_f32_to_f8e5m2_rounds_halves_away(number, wanted):
    assert values.decode(values.encode(f32(number), "f8e5m2"), "f8e5m2").tolist() == [wanted]


def test_f8e5m2_is_the_nearest_everywhere():
    """Against a search over all finite values, ties to the larger magnitude."""
    finite = np.arange(0x7C, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64)
    numbers = np.abs(np.random.default_rng(2).normal(size=500) * 2.0 ** np.random.default_rng(3).integers(-18, 15, 500))
    numbers = numbers.astype(np.float32)
    for number, got in zip(numbers, values.decode(values.encode(numbers, "f8e5m2"), "f8e5m2"), strict=True):
        distance = np.abs(finite - float(number))
        assert got == finite[np.flatnonzero(distance == distance.min()).max()]


@pytest.mark.parametrize(("number", "wanted"), [(2.5, 3), (-2.5, -3), (2.4, 2), (1e12, 2**31 - 1), (-1e12, -(2**31))])
def test_f32_to_i32(number, wanted):
    assert values.to_i32(f32(number)).tolist() == [wanted]


def test_integers_keep_the_low_bits():
    numbers = np.array([300, -129, 7, -8, 9], np.int64)
    assert values.decode(values.encode(numbers, "i8"), "i8").tolist() == [44, 127, 7, -8, 9]
    assert values.decode(values.encode(numbers, "i4"), "i4").tolist() == [-4, -1, 7, -8, -7]


def test_staged_integers_are_checked():
    assert values.encode(np.array([-256, 255]), "i9").tolist() == [-256, 255]
    with pytest.raises(ValueError, match="i9 holds"):
        values.encode(np.array([256]), "i9")


def test_f4_and_f8_decode_exactly():
    assert values.decode(np.arange(8, dtype=np.uint8), "f4e2m1").tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    patterns = np.arange(256, dtype=np.uint8)
    for name, dtype in (("f8e4m3", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2)):
        wanted = patterns.view(dtype).astype(np.float32)
        assert np.array_equal(values.decode(patterns, name), wanted, equal_nan=True)


def test_a_move_keeps_every_bit():
    raw = np.arange(65536, dtype=np.uint16)
    assert values.convert(raw, "bf16", "bf16") is raw


def test_subnormals_and_nan_are_canonical():
    odd = np.array([0x00000001, 0x80000001, 0x7F800001], np.uint32).view(np.float32)
    assert values.flushed(odd).view(np.uint32).tolist() == [0, 0x80000000, 0x7FC00000]
