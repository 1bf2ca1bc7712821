"""Element values: what the bits of each type mean, and how one type turns into another (domain: section 4).

A stream carries bit patterns in the `CONTAINER` of its type, so that a pure move never changes a bit; engines that
compute decode them to float32 or int32 and encode the result. f32 and bf16 have no subnormals and one NaN (0x7fc0).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES

Raw = NDArray[Any]
Bits = NDArray[np.bool_]
F32 = NDArray[np.float32]
I32 = NDArray[np.int32]

CONTAINER: dict[str, type[np.generic]] = {
    "i4": np.uint8,
    "i5": np.int8,
    "i8": np.uint8,
    "i9": np.int16,
    "i16": np.uint16,
    "i32": np.uint32,
    "f8e4m3": np.uint8,
    "f8e5m2": np.uint8,
    "bf16": np.uint16,
    "f32": np.uint32,
    "f4e2m1": np.uint8,
}
"""What holds one element of a stream: its bits, or for the staged i5 and i9 a wider checked integer."""

_SIGNED = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i5": np.int8, "i9": np.int16}
_NARROW_FLOATS = {
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f4e2m1": ml_dtypes.float4_e2m1fn,
}
_F8E4M3_MAX = 448.0
_F8E5M2_INFINITY = 0x7C
_NAN_BF16, _NAN_F32 = np.uint16(0x7FC0), np.uint32(0x7FC00000)


def integer_range(dtype: str) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = DTYPES[dtype].bits
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def flushed(values: F32) -> F32:
    """Replaces float32 subnormals by zeros of their sign; NaN becomes the canonical one. May return its argument."""
    bits = values.view(np.uint32)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    small = (magnitude < 0x00800000) & (magnitude != 0)
    if small.any():
        bits = np.where(small, bits & np.uint32(0x80000000), bits)
    nan = magnitude > 0x7F800000
    if nan.any():
        bits = np.where(nan, _NAN_F32, bits)
    return bits.view(np.float32)


def decode(raw: Raw, dtype: str) -> NDArray[Any]:
    """Bit patterns to numbers: float32 for floats, int32 for integers."""
    if dtype == "bf16":
        return flushed((raw.astype(np.uint32) << np.uint32(16)).view(np.float32))
    if dtype == "f32":
        return flushed(np.ascontiguousarray(raw).view(np.float32))
    if dtype in _NARROW_FLOATS:
        return np.asarray(_table(dtype)[raw])
    if dtype == "i4":
        return (raw.astype(np.int32) ^ 8) - 8
    return np.ascontiguousarray(raw).view(_SIGNED[dtype]).astype(np.int32)


def encode(values: NDArray[Any], dtype: str) -> Raw:
    """Numbers to bit patterns, rounded as the chip rounds; integers keep their low bits.

    Raises:
        ValueError: a value outside i5 or i9, which only checked arithmetic produces.

    """
    if DTYPES[dtype].is_float:
        return _ENCODERS[dtype](np.ascontiguousarray(values, dtype=np.float32))
    wide = np.asarray(values).astype(np.int64)
    if dtype in ("i5", "i9"):
        low, high = integer_range(dtype)
        if wide.size and (wide.min() < low or wide.max() > high):
            raise ValueError(f"{dtype} holds {low} to {high}")
        return wide.astype(CONTAINER[dtype])
    mask = (1 << DTYPES[dtype].bits) - 1
    return np.asarray((wide & mask).astype(CONTAINER[dtype]))


def to_i32(values: F32) -> I32:
    """float32 to i32: nearest, ties away from zero, clamped; NaN gives 0."""
    wide = values.astype(np.float64)
    rounded = np.sign(wide) * np.floor(np.abs(wide) + 0.5)
    low, high = integer_range("i32")
    whole: I32 = np.nan_to_num(np.clip(rounded, low, high), nan=0.0).astype(np.int64).astype(np.int32)
    return whole


def convert(raw: Raw, dtype: str, wanted: str) -> Raw:
    """Bit patterns of one type to those of another, by value."""
    if dtype == wanted:
        return raw
    numbers = decode(raw, dtype)
    if DTYPES[dtype].is_float and not DTYPES[wanted].is_float:
        numbers = to_i32(numbers)
    return encode(numbers, wanted)


def is_nan(raw: Raw, dtype: str) -> Bits:
    """Where a bit pattern is not a number."""
    if not DTYPES[dtype].is_float:
        return np.zeros(raw.shape, dtype=np.bool_)
    return np.asarray(np.isnan(decode(raw, dtype)))


def _table(dtype: str) -> F32:
    bits = DTYPES[dtype].bits
    patterns = np.arange(1 << 8, dtype=np.uint8) & np.uint8((1 << bits) - 1)
    return np.asarray(patterns.view(_NARROW_FLOATS[dtype]).astype(np.float32))


def _encode_f32(values: F32) -> Raw:
    return flushed(values).view(np.uint32)


def _encode_bf16(values: F32) -> Raw:
    bits = flushed(values).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(values)
    return np.where(nan, _NAN_BF16, rounded) if nan.any() else rounded


def _encode_f8e4m3(values: F32) -> Raw:
    limited = np.clip(values, -_F8E4M3_MAX, _F8E4M3_MAX)  # ml_dtypes gives NaN beyond 464, the chip saturates
    return limited.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def _encode_f8e5m2(values: F32) -> Raw:
    """By hand: ml_dtypes rounds halves to even, the chip away from zero."""
    bits = values.view(np.uint32)
    sign = ((bits >> np.uint32(24)) & np.uint32(0x80)).astype(np.uint8)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    rounded = ((magnitude + np.uint32(1 << 20)) >> np.uint32(21)).astype(np.int64) - ((127 - 15) << 2)
    size = np.abs(values.astype(np.float64))
    tiny = np.floor(np.fmin(size, 1.0) * 2.0**16 + 0.5).astype(np.int64)
    pattern = np.where(size < 2.0**-14, tiny, np.minimum(rounded, _F8E5M2_INFINITY))
    pattern = np.where(np.isnan(values), 0x7E, pattern).astype(np.uint8)
    return np.asarray(pattern | sign)


def _encode_f4e2m1(values: F32) -> Raw:
    return values.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)


_ENCODERS = {
    "f32": _encode_f32,
    "bf16": _encode_bf16,
    "f8e4m3": _encode_f8e4m3,
    "f8e5m2": _encode_f8e5m2,
    "f4e2m1": _encode_f4e2m1,
}
