"""What the vector engine's ops mean on named axes, by the rules of section 8 and in float64 or exact integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import erf
from typing import Any

import numpy as np

from models.vector_ops import VectorOp
from simulator.named import Named, Numbers, rounded, spread

_MIN, _MAX = -(2**31), 2**31 - 1
Function = Callable[..., Numbers]


def _wrap(values: Numbers) -> Numbers:
    return (values - _MIN) % 2**32 + _MIN


def _clamp(values: Numbers) -> Numbers:
    return np.clip(values, _MIN, _MAX)


FLOAT: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "min": np.minimum,
    "max": np.maximum,
    "absmin": lambda a, b: np.minimum(abs(a), abs(b)),
    "absmax": lambda a, b: np.maximum(abs(a), abs(b)),
    "fmaf": lambda a, b, c: a * b + c,
    "exp": np.exp,
    "negexp": lambda a: np.exp(-a),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "erf": np.vectorize(erf, otypes=[np.float64]),
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
}

INTEGER: dict[str, Function] = {
    "addfxp": lambda a, b: _wrap(a + b),
    "addfxpsat": lambda a, b: _clamp(a + b),
    "subfxp": lambda a, b: _wrap(a - b),
    "subfxpsat": lambda a, b: _clamp(a - b),
    "mulint": lambda a, b: _wrap(a * b),
    "mulfxp": lambda a, b: _clamp(np.floor_divide(a * b + 2**30, 2**31)),
    "leftshift": lambda a, b: _wrap(a * 2**b),
    "leftshiftsat": lambda a, b: _clamp(a * 2**b),
    "logicrightshift": lambda a, b: _wrap(np.floor_divide(a % 2**32, 2**b)),
    "arithrightshift": lambda a, b: np.floor_divide(a, 2**b),
    "arithrightshiftround": lambda a, b: np.floor_divide(2 * a + 2**b, 2 ** (b + 1)),
    "min": np.minimum,
    "max": np.maximum,
    "absmin": lambda a, b: np.minimum(abs(a), abs(b)),
    "absmax": lambda a, b: np.maximum(abs(a), abs(b)),
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}

_FULL_NAMES = {"mul": "mulf", "sub": "subf", "div": "divf", "fma": "fmaf"}
_BITS = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}
_LAYOUT_ONLY = frozenset({"tag", "narrow_split", "narrow_trim", "widen_concat", "widen_pad"})

Look = Callable[[Any], Named]
"""Finds an operand: a constant, a tensor or the stash."""


def apply(op: VectorOp, value: Named, look: Look) -> Named:
    """One op of the chain; those that only move data between ways mean nothing on named axes.

    Raises:
        LookupError: an op without a meaning here.

    """
    if op.name in _LAYOUT_ONLY:
        return value
    if op.name == "fp_unary":
        return _evaluated(FLOAT[str(op.value or op.op).lower()], [value], "f32")
    if op.name == "fp_ternary":
        found = [value, *(look(o) for o in op.operands or ())]
        return _evaluated(FLOAT["fmaf"], [found[int(d)] for d in op.mode or "012"], "f32")
    if op.name == "fxp_to_fp":
        scale = 2.0 ** (31 - int(op.value or 0))
        return replace(value, values=rounded(value.values / scale, "f32"), dtype="f32")
    if op.name == "fp_to_fxp":
        return spread(value, _to_fixed(int(op.value or 0)), "i32")
    if op.name not in ("fp_binary", "fp_div", "clip", "fxp", "logic"):
        raise LookupError(f"vector op `{op.name}` has no meaning in the reference")
    return _binary(op, value, look)


def _binary(op: VectorOp, value: Named, look: Look) -> Named:
    given = (op.op or "divf").lower()
    name = _FULL_NAMES.get(given, given)
    pair = [value, look(op.operand)]
    arguments = [pair[int(d)] for d in op.mode or "01"]
    if value.dtype == "f32" and name in _BITS:
        return _on_bits(_BITS[name], arguments)
    table = FLOAT if value.dtype == "f32" else INTEGER
    return _evaluated(table[name], arguments, value.dtype)


def _to_fixed(int_width: int) -> Function:
    def turned(values: Numbers) -> Numbers:
        scaled = values * 2.0 ** (31 - int_width)
        whole = np.where(scaled < 0, np.ceil(scaled - 0.5), np.floor(scaled + 0.5))
        return _clamp(np.nan_to_num(whole, nan=0.0, posinf=_MAX, neginf=_MIN)).astype(np.int64)

    return turned


def _on_bits(function: Function, arguments: list[Named]) -> Named:
    axes = tuple(dict.fromkeys(a for n in arguments for a in n.axes))
    sides = [np.ascontiguousarray(n.aligned(axes).values, dtype=np.float32).view(np.uint32) for n in arguments]
    out = np.ascontiguousarray(function(*sides)).view(np.float32)
    return replace(arguments[0].aligned(axes), values=rounded(out, "f32"))


def _evaluated(function: Function, arguments: list[Named], dtype: str) -> Named:
    """Computes on aligned axes and rounds once; a bound comes from the corners of the arguments' intervals."""
    axes = tuple(dict.fromkeys(a for n in arguments for a in n.axes))
    sides = [n.aligned(axes) for n in arguments]
    picks = {a: p for n in arguments for a, p in n.picks.items()}
    with np.errstate(all="ignore"):
        values = rounded(function(*(n.values for n in sides)), dtype)
    if dtype != "f32" or all(n.error is None for n in sides):
        return Named(axes, values, dtype, picks)
    error = np.abs(values) * 2.0**-23
    with np.errstate(all="ignore"):
        for corner in np.ndindex(*(2,) * len(sides)):
            ends = [
                n.values + (2 * c - 1) * (0 if n.error is None else n.error) for n, c in zip(sides, corner, strict=True)
            ]
            error = np.fmax(error, np.abs(function(*ends) - values) + np.abs(values) * 2.0**-23)
    return Named(axes, values, dtype, picks, error)
