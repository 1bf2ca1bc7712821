"""The vector engine's operations by name, as exact mathematics: float64 for f32, int64 for i32 (domain: section 8)."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np

from simulator.named import Numbers

LOWEST, HIGHEST = -(2**31), 2**31 - 1
Function = Callable[..., Numbers]


def wrap(values: Numbers) -> Numbers:
    """Keeps the low 32 bits."""
    return (values - LOWEST) % 2**32 + LOWEST


def clamp(values: Numbers) -> Numbers:
    """Keeps the nearest i32."""
    return np.clip(values, LOWEST, HIGHEST)


def _nearest_away(numerator: Numbers, denominator: Numbers) -> Numbers:
    """A quotient to the nearest integer, ties away from zero."""
    return np.asarray(np.sign(numerator) * ((2 * np.abs(numerator) + denominator) // (2 * denominator)))


def _smaller_size(a: Numbers, b: Numbers) -> Numbers:
    """The operand itself, sign and all."""
    return np.where(abs(a) < abs(b), a, b)


def _larger_size(a: Numbers, b: Numbers) -> Numbers:
    return np.where(abs(a) > abs(b), a, b)


def _in_turn(function: Function) -> Function:
    """Sine and cosine give no number beyond one turn."""
    return lambda a: np.where(np.abs(np.float32(a)) < np.float32(2 * np.pi), function(a), np.nan)


FLOAT: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "min": np.fmin,
    "max": np.fmax,
    "absmin": _smaller_size,
    "absmax": _larger_size,
    "fmaf": lambda a, b, c: np.asarray(np.longdouble(a) * b + c),
    "exp": np.exp,
    "negexp": lambda a: np.exp(-a),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "erf": np.vectorize(erf, otypes=[np.float64]),
    "log": np.log,
    "sin": _in_turn(np.sin),
    "cos": _in_turn(np.cos),
}

INTEGER: dict[str, Function] = {
    "addfxp": lambda a, b: wrap(a + b),
    "addfxpsat": lambda a, b: clamp(a + b),
    "subfxp": lambda a, b: wrap(a - b),
    "subfxpsat": lambda a, b: clamp(a - b),
    "mulint": lambda a, b: wrap(a * b),
    "mulfxp": lambda a, b: clamp(np.floor_divide(a * b + 2**30, 2**31)),
    "leftshift": lambda a, b: wrap(a * 2**b),
    "leftshiftsat": lambda a, b: clamp(a * 2**b),
    "logicrightshift": lambda a, b: wrap(np.floor_divide(a % 2**32, 2**b)),
    "arithrightshift": lambda a, b: np.floor_divide(a, 2**b),
    "arithrightshiftround": lambda a, b: _nearest_away(a, 2**b),
    "min": np.minimum,
    "max": np.maximum,
    "absmin": _smaller_size,
    "absmax": _larger_size,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}

BITS: dict[str, Function] = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}
"""Those that work on the bit patterns of f32 too."""

_FULL_NAMES = {"mul": "mulf", "sub": "subf", "div": "divf", "fma": "fmaf"}


def full_name(given: str | None) -> str:
    """The operation that a kernel file names, in lower case; a division where it names none."""
    name = (given or "divf").lower()
    return _FULL_NAMES.get(name, name)


def to_fixed(int_width: int) -> Function:
    """f32 to i32 with 31 - int_width fraction bits: nearest, ties away, clamped."""

    def turned(values: Numbers) -> Numbers:
        scaled = values * 2.0 ** (31 - int_width)
        whole = np.where(scaled < 0, np.ceil(scaled - 0.5), np.floor(scaled + 0.5))
        return clamp(np.nan_to_num(whole, nan=0.0, posinf=HIGHEST, neginf=LOWEST)).astype(np.int64)

    return turned
