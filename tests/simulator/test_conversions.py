"""Conversions, bit by bit: all codes of the narrow floats, all of bf16, and the borders between neighbours.

The oracle knows a type as a list of its exact values (fractions) and rounds by comparing distances.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from simulator.values import convert, decode, encode, flushed, to_i32

Exact = Fraction | float


def exact(code: int, exponent_bits: int, mantissa_bits: int, *, infinities: bool) -> Exact:
    """The value of a code of a small binary float: a fraction, or a float for infinities and NaN."""
    sign = -1 if code >> (exponent_bits + mantissa_bits) & 1 else 1
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = code & (1 << mantissa_bits) - 1
    top, bias = (1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1
    if infinities and exponent == top:
        return float("nan") if mantissa else sign * float("inf")
    if not infinities and exponent_bits == 4 and exponent == top and mantissa == 7:
        return float("nan")
    if exponent == 0:
        return sign * Fraction(mantissa, 1 << mantissa_bits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)


FORMATS = {
    "f8e4m3": {"exponent_bits": 4, "mantissa_bits": 3, "infinities": False},
    "f8e5m2": {"exponent_bits": 5, "mantissa_bits": 2, "infinities": True},
    "f4e2m1": {"exponent_bits": 2, "mantissa_bits": 1, "infinities": False},
    "bf16": {"exponent_bits": 8, "mantissa_bits": 7, "infinities": True},
}


@cache
def codes(dtype: str) -> dict[int, Exact]:
    bits = {"f4e2m1": 4, "bf16": 16}.get(dtype, 8)
    return {c: exact(c, **FORMATS[dtype]) for c in range(1 << bits)}


def same(found: np.float32, wanted: Exact) -> bool:
    if isinstance(wanted, Fraction):
        return bool(np.isfinite(found)) and Fraction(float(found)) == wanted
    return bool(np.isnan(found)) if np.isnan(wanted) else float(found) == wanted


# Decoding ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2", "f4e2m1"])
def test_every_code_of_a_narrow_float_has_its_value(dtype):
    table = codes(dtype)
    found = decode(np.array(list(table), dtype=np.uint8), dtype)
    assert [c for c, v in table.items() if not same(found[c], v)] == []


def test_every_code_of_bf16_has_its_value_and_subnormals_are_zeros_of_their_sign():
    found = decode(np.arange(1 << 16, dtype=np.uint16), "bf16")
    for code, value in codes("bf16").items():
        if code >> 7 & 0xFF == 0:
            assert found[code] == 0
            assert np.signbit(found[code]) == (code >> 15 == 1)
        else:
            assert same(found[code], value), hex(code)


@pytest.mark.parametrize("wanted", ["f8e4m3", "f8e5m2"])
def test_the_table_from_f4e2m1_to_f8_keeps_every_value(wanted):
    source, target = codes("f4e2m1"), codes(wanted)
    found = convert(np.arange(16, dtype=np.uint8), "f4e2m1", wanted)
    assert all(target[int(found[c])] == source[c] for c in source)
    assert int(found[8]) == 0x80, "the sign of zero"


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_the_table_from_f8_to_bf16_keeps_every_value(dtype):
    source, target = codes(dtype), codes("bf16")
    found = convert(np.arange(256, dtype=np.uint8), dtype, "bf16")
    for code, value in source.items():
        if isinstance(value, float) and np.isnan(value):
            assert int(found[code]) == 0x7FC0
        else:
            assert target[int(found[code])] == value


def test_a_fetch_cast_of_every_bf16_code_to_f32_and_back_is_the_code():
    raw = np.arange(1 << 16, dtype=np.uint16)
    back = convert(convert(raw, "bf16", "f32"), "f32", "bf16")
    exponent, mantissa = raw >> 7 & 0xFF, raw & 0x7F
    plain = (exponent != 0) & ~((exponent == 0xFF) & (mantissa != 0))
    assert np.array_equal(back[plain], raw[plain])
    assert set(back[(exponent == 0xFF) & (mantissa != 0)].tolist()) == {0x7FC0}
    assert set(back[exponent == 0].tolist()) == {0, 0x8000}


@pytest.mark.parametrize(("dtype", "bits"), [("i4", 4), ("i8", 8), ("i16", 16)])
def test_integers_widen_by_their_sign(dtype, bits):
    raw = np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)
    wanted = [c - (1 << bits) if c >> (bits - 1) else c for c in range(1 << bits)]
    assert decode(convert(raw, dtype, "i32"), "i32").tolist() == wanted


@pytest.mark.parametrize(("dtype", "bits"), [("i4", 4), ("i8", 8), ("i16", 16)])
def test_integers_narrow_to_their_low_bits(dtype, bits):
    values = np.array(
        [0, 1, -1, 2**31 - 1, -(2**31), 1 << bits, (1 << bits) - 1, -(1 << (bits - 1)) - 1], dtype=np.int32
    )
    assert encode(values, dtype).tolist() == [int(v) % (1 << bits) for v in values]


# Rounding ---------------------------------------------------------------------------------------------------


def rounded(value: Fraction, dtype: str, away: bool) -> int:
    """The code of the nearest value; a tie goes away from zero, or to the even code."""
    finite = sorted((v, c) for c, v in codes(dtype).items() if isinstance(v, Fraction) and c >> 7 != 1)
    sizes = [v for v, _ in finite]
    size = abs(value)
    at = bisect_left(sizes, size)
    if at == len(sizes):
        return finite[-1][1]
    if sizes[at] == size or at == 0:
        return finite[at][1]
    low, high = finite[at - 1], finite[at]
    below, above = size - low[0], high[0] - size
    if below == above:
        return high[1] if away or low[1] % 2 else low[1]
    return low[1] if below < above else high[1]


def borders(dtype: str) -> np.ndarray:
    """Every value of a type, every middle between neighbours, and the f32 right beside each."""
    values = sorted({abs(v) for v in codes(dtype).values() if isinstance(v, Fraction)})
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    points = np.array([float(v) for v in values + middles], dtype=np.float32)
    assert all(Fraction(float(p)) == v for p, v in zip(points, values + middles, strict=True)), "exact in f32"
    beside = [np.nextafter(points, np.float32(x)) for x in (np.inf, -np.inf)]
    return np.concatenate([points, *beside])


def test_f8e4m3_rounds_to_even_at_every_border_and_saturates():
    numbers = borders("f8e4m3")
    for sign in (1, -1):
        found = encode(np.float32(sign) * numbers, "f8e4m3")
        for number, code in zip(numbers, found.tolist(), strict=True):
            wanted = rounded(Fraction(float(number)), "f8e4m3", away=False)
            assert code & 0x7F == wanted, number
    top = np.array([448.1, 464.0, 500.0, 1e30, np.inf], dtype=np.float32)
    assert set(encode(top, "f8e4m3").tolist()) == {0x7E}
    assert set(encode(-top, "f8e4m3").tolist()) == {0xFE}


def test_f8e5m2_rounds_halves_away_from_zero_at_every_border_and_overflows():
    numbers = borders("f8e5m2")
    for sign in (1, -1):
        found = encode(np.float32(sign) * numbers, "f8e5m2")
        for number, code in zip(numbers, found.tolist(), strict=True):
            assert code & 0x7F == rounded(Fraction(float(number)), "f8e5m2", away=True), number
    assert encode(np.array([2.25], np.float32), "f8e5m2")[0] == encode(np.array([2.5], np.float32), "f8e5m2")[0]
    halfway = np.float32(57344 + 4096)
    top = np.array([halfway, 1e30, np.inf], dtype=np.float32)
    assert set(encode(top, "f8e5m2").tolist()) == {0x7C}
    assert encode(np.nextafter(top[:1], np.float32(0)), "f8e5m2")[0] == 0x7B


def test_bf16_rounds_to_the_nearest_even_at_the_borders_of_every_code():
    """A code's bits are the upper half of a float32: between neighbours the lower half decides."""
    low = np.arange(1 << 16, dtype=np.uint32)
    finite = low[(low >> 7 & 0xFF != 0xFF) & (low >> 7 & 0xFF != 0)]
    for rest in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        found = encode((finite << 16 | rest).view(np.float32), "bf16").astype(np.uint32)
        up = (rest > 0x8000) | ((rest == 0x8000) & (finite & 1 == 1))
        assert np.array_equal(found, finite + up), hex(rest)


def test_bf16_has_no_subnormals_and_one_nan():
    small = np.array([0x00000001, 0x007FFFFF, 0x80000001, 0x807FFFFF], dtype=np.uint32).view(np.float32)
    assert encode(small, "bf16").tolist() == [0, 0, 0x8000, 0x8000]
    nans = np.array([0x7FC00000, 0x7F800001, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    assert encode(nans, "bf16").tolist() == [0x7FC0] * 3
    assert flushed(nans).view(np.uint32).tolist() == [0x7FC00000] * 3


def test_i32_is_the_nearest_integer_ties_away_clamped():
    rng = np.random.default_rng(1)
    numbers = np.concatenate(
        [
            np.array(
                [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 2147483520.0, 2147483648.0, -2147483648.0, 1e30, -1e30]
            ),
            rng.normal(size=500) * 10.0 ** rng.integers(-3, 10, 500),
        ]
    ).astype(np.float32)
    for number, found in zip(numbers, to_i32(numbers).tolist(), strict=True):
        value = Fraction(float(number))
        whole = int(abs(value) + Fraction(1, 2)) * (1 if value >= 0 else -1)
        assert found == min(max(whole, -(2**31)), 2**31 - 1), number
    assert to_i32(np.array([np.nan, np.inf, -np.inf], np.float32)).tolist() == [0, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize(("dtype", "staged", "bits"), [("i4", "i5", 4), ("i8", "i9", 8)])
def test_every_zero_point_of_every_code_fits_one_more_bit(dtype, staged, bits):
    raw = np.arange(1 << bits, dtype=np.uint8)
    for zero in range(-(1 << (bits - 1)), 1 << (bits - 1)):
        found = decode(encode(decode(raw, dtype) - zero, staged), staged)
        assert found.tolist() == [(c - (1 << bits) if c >> (bits - 1) else c) - zero for c in range(1 << bits)]
