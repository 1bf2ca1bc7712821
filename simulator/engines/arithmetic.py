"""What the ALUs of the vector engine compute, on float32 and int32 arrays (domain: section 8).

float32 results carry no subnormals; transcendental functions are computed in float64 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.values import F32, flushed, to_i32

Numbers = NDArray[Any]
Binary = Callable[[Numbers, Numbers], Numbers]
_WORD = 32
_Q31 = 31


def _f32(result: Numbers) -> F32:
    return flushed(np.ascontiguousarray(result, dtype=np.float32))


def _wide(function: Callable[[Numbers], Numbers]) -> Callable[[Numbers], F32]:
    def computed(a: Numbers) -> F32:
        with np.errstate(all="ignore"):
            return _f32(function(a.astype(np.float64)).astype(np.float32))

    return computed


def _float(function: Binary) -> Binary:
    def computed(a: Numbers, b: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return _f32(function(a, b))

    return computed


def _saturated(function: Binary) -> Binary:
    def computed(a: Numbers, b: Numbers) -> Numbers:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        return np.clip(wide, -(1 << (_WORD - 1)), (1 << (_WORD - 1)) - 1).astype(np.int32)

    return computed


def _wrapped(function: Binary) -> Binary:
    def computed(a: Numbers, b: Numbers) -> Numbers:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        return (wide & 0xFFFFFFFF).astype(np.uint32).view(np.int32)

    return computed


def _bits(function: Binary) -> Binary:
    def computed(a: Numbers, b: Numbers) -> Numbers:
        out = function(np.ascontiguousarray(a).view(np.uint32), np.ascontiguousarray(b).view(np.uint32))
        return np.ascontiguousarray(out).view(a.dtype)

    return computed


def _erf(a: Numbers) -> Numbers:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(a))


UNARY: dict[str, Callable[[Numbers], F32]] = {
    "exp": _wide(np.exp),
    "negexp": _wide(lambda a: np.exp(-a)),
    "sqrt": _wide(np.sqrt),
    "tanh": _wide(np.tanh),
    "sigmoid": _wide(lambda a: 1 / (1 + np.exp(-a))),
    "erf": _wide(_erf),
    "log": _wide(np.log),
    "sin": _wide(np.sin),
    "cos": _wide(np.cos),
}

FLOAT: dict[str, Binary] = {
    "addf": _float(np.add),
    "subf": _float(np.subtract),
    "mulf": _float(np.multiply),
    "divf": _float(np.divide),
    "add": _float(np.add),
    "min": _float(np.minimum),
    "max": _float(np.maximum),
    "absmin": _float(lambda a, b: np.minimum(np.abs(a), np.abs(b))),
    "absmax": _float(lambda a, b: np.maximum(np.abs(a), np.abs(b))),
    "bitand": _bits(np.bitwise_and),
    "bitor": _bits(np.bitwise_or),
    "bitxor": _bits(np.bitwise_xor),
}

INTEGER: dict[str, Binary] = {
    "addfxp": _wrapped(np.add),
    "addfxpsat": _saturated(np.add),
    "subfxp": _wrapped(np.subtract),
    "subfxpsat": _saturated(np.subtract),
    "mulint": _wrapped(np.multiply),
    "mulfxp": _saturated(lambda a, b: (a * b + (1 << (_Q31 - 1))) >> _Q31),
    "leftshift": _wrapped(np.left_shift),
    "leftshiftsat": _saturated(np.left_shift),
    "logicrightshift": _wrapped(lambda a, b: (a & 0xFFFFFFFF) >> b),
    "arithrightshift": _wrapped(np.right_shift),
    "arithrightshiftround": _wrapped(lambda a, b: np.where(b > 0, (a + ((1 << b) >> 1)) >> b, a)),
    "min": np.minimum,
    "max": np.maximum,
    "absmin": lambda a, b: np.minimum(np.abs(a), np.abs(b)),
    "absmax": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}

SHORT_NAMES = {"mul": "mulf", "sub": "subf", "div": "divf", "fma": "fmaf"}
"""The kernel file's short names for f32 (`add` is already an op of its own)."""


def fma(a: Numbers, b: Numbers, c: Numbers) -> F32:
    """A x b + c, rounded once."""
    with np.errstate(all="ignore"):
        return _f32((a.astype(np.float64) * b + c).astype(np.float32))


def fixed_to_float(a: Numbers, int_width: int) -> F32:
    """i32 with 31 - int_width fraction bits to f32."""
    return _f32((a.astype(np.float64) / 2.0 ** (_Q31 - int_width)).astype(np.float32))


def float_to_fixed(a: Numbers, int_width: int) -> NDArray[np.int32]:
    """f32 to i32 with 31 - int_width fraction bits: nearest, ties away, clamped."""
    with np.errstate(all="ignore"):
        return to_i32((a.astype(np.float64) * 2.0 ** (_Q31 - int_width)).astype(np.float64))
