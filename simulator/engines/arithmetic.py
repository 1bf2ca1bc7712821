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
_TURN = float(np.array(0x40C90FDA, np.uint32).view(np.float32))
"""The greatest float32 below 2 pi."""


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
    known, where = np.unique(a, return_inverse=True)  # a Python call for each different value only
    return np.array([erf(x) for x in known.tolist()])[where].reshape(a.shape)


def _circular(function: Callable[[Numbers], Numbers]) -> Callable[[Numbers], Numbers]:
    """Sine and cosine answer within one turn to either side only (the vendor's own emulation of the op)."""
    return lambda a: np.where(np.abs(a) <= _TURN, function(a), np.nan)


def _smaller_size(a: Numbers, b: Numbers) -> Numbers:
    """The operand itself, sign and all: AbsMin and AbsMax compare sizes only."""
    return np.where(_size(a) < _size(b), a, b)


def _larger_size(a: Numbers, b: Numbers) -> Numbers:
    return np.where(_size(a) > _size(b), a, b)


def _size(a: Numbers) -> Numbers:
    return np.abs(a) if a.dtype == np.float32 else np.abs(a.astype(np.int64))


def _rounding_shift(a: Numbers, b: Numbers) -> Numbers:
    """To the nearest, ties away from zero."""
    half = np.where(b > 0, np.int64(1) << np.maximum(b - 1, 0), 0)
    return np.where(a < 0, -((-a + half) >> b), (a + half) >> b)


UNARY: dict[str, Callable[[Numbers], F32]] = {
    "exp": _wide(np.exp),
    "negexp": _wide(lambda a: np.exp(-a)),
    "sqrt": _wide(np.sqrt),
    "tanh": _wide(np.tanh),
    "sigmoid": _wide(lambda a: 1 / (1 + np.exp(-a))),
    "erf": _wide(_erf),
    "log": _wide(np.log),
    "sin": _wide(_circular(np.sin)),
    "cos": _wide(_circular(np.cos)),
}
"""By name, in lower case."""

FLOAT: dict[str, Binary] = {
    "addf": _float(np.add),
    "subf": _float(np.subtract),
    "mulf": _float(np.multiply),
    "divf": _float(np.divide),
    "add": _float(np.add),
    "min": _float(np.fmin),
    "max": _float(np.fmax),
    "absmin": _float(_smaller_size),
    "absmax": _float(_larger_size),
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
    "arithrightshiftround": _wrapped(_rounding_shift),
    "min": np.minimum,
    "max": np.maximum,
    "absmin": _smaller_size,
    "absmax": _larger_size,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}

SHORT_NAMES = {"mul": "mulf", "sub": "subf", "div": "divf", "fma": "fmaf"}
"""The kernel file's short names for f32 (`add` is already an op of its own)."""


def binary(given: object, dtype: str) -> Binary:
    """The function of a binary op by its name in a kernel file; a division where none is given (`fp_div`)."""
    name = str(given or "divf").lower()
    table = FLOAT if dtype == "f32" else INTEGER
    return table[SHORT_NAMES.get(name, name)]


def fma(a: Numbers, b: Numbers, c: Numbers) -> F32:
    """A x b + c, rounded once: the sum in float64 is rounded to odd, so that the second rounding cannot go wrong."""
    with np.errstate(all="ignore"):
        product, addend = a.astype(np.float64) * b, np.asarray(c, dtype=np.float64)
        total = product + addend
        back = total - product
        left = (product - (total - back)) + (addend - back)
    bits = np.ascontiguousarray(total).view(np.int64)
    off = np.isfinite(total) & (left != 0) & (bits & 1 == 0) & (total != 0)
    nudged = np.where((left > 0) == (total > 0), bits + 1, bits - 1)
    odd = np.where(off, nudged, bits).view(np.float64)
    with np.errstate(all="ignore"):
        return _f32(odd.astype(np.float32))


def fixed_to_float(a: Numbers, int_width: int) -> F32:
    """i32 with 31 - int_width fraction bits to f32."""
    return _f32((a.astype(np.float64) / 2.0 ** (_Q31 - int_width)).astype(np.float32))


def float_to_fixed(a: Numbers, int_width: int) -> NDArray[np.int32]:
    """f32 to i32 with 31 - int_width fraction bits: nearest, ties away, clamped."""
    with np.errstate(all="ignore"):
        return to_i32((a.astype(np.float64) * 2.0 ** (_Q31 - int_width)).astype(np.float64))
