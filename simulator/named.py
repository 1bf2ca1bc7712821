"""Arrays over named axes, the reference's only notion of a tensor."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from simulator.linear import digit_of
from simulator.values import convert, decode, encode

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Named:
    """Values over named axes: float64 for floats, int64 for integers, each exactly of its `dtype`.

    `picks` gives, for an axis of which only a part is present, the indices that are; `error` bounds how far an order
    of summation may move each value (None: not at all).
    """

    axes: tuple[str, ...]
    values: Numbers
    dtype: str
    picks: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    error: Numbers | None = None
    folded: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    """For an axis that is summed up in parts only: for every index the first of its part, whose total it carries."""

    def aligned(self, axes: tuple[str, ...]) -> Named:
        """The same over other axes, which must include its own; new ones have size 1."""
        order = [self.axes.index(a) for a in axes if a in self.axes]
        shape = tuple(self.values.shape[self.axes.index(a)] if a in self.axes else 1 for a in axes)
        error = None if self.error is None else self.error.transpose(order).reshape(shape)
        return replace(self, axes=axes, values=self.values.transpose(order).reshape(shape), error=error)

    def taken(self, axis: str, indices: NDArray[np.int64]) -> Named:
        """A part of one axis."""
        at = self.axes.index(axis)
        error = None if self.error is None else self.error.take(indices, at)
        return replace(self, values=self.values.take(indices, at), error=error, picks={**self.picks, axis: indices})

    def tile(self, text: str, start: int, length: int) -> Named:
        """The part whose digit lies in [start, start + length)."""
        digit = digit_of(text)
        if digit.axis not in self.axes:
            return self
        size = self.values.shape[self.axes.index(digit.axis)]
        value = digit.value(np.arange(size))
        return self.taken(digit.axis, np.flatnonzero((value >= start) & (value < start + length)))


def from_raw(raw: Numbers, dtype: str, axes: tuple[str, ...]) -> Named:
    """A tensor from its bit patterns."""
    wide = np.float64 if DTYPES[dtype].is_float else np.int64
    return Named(axes, decode(raw, dtype).astype(wide), dtype)


def rounded(values: Numbers, dtype: str) -> Numbers:
    """Exact numbers rounded once to a type, as numbers again."""
    wide, narrow = (np.float64, values.astype(np.float32)) if DTYPES[dtype].is_float else (np.int64, values)
    with np.errstate(all="ignore"):
        # A scalar comes back with a dimension: bit patterns are views.
        return decode(encode(narrow, dtype), dtype).astype(wide).reshape(np.shape(values))


def cast(value: Named, dtype: str) -> Named:
    """Converts by the chip's rules; a bound is carried through both ends of its interval."""

    def turned(numbers: Numbers) -> Numbers:
        narrow = numbers.astype(np.float32) if DTYPES[value.dtype].is_float else numbers
        raw = convert(encode(narrow, value.dtype), value.dtype, dtype)
        return decode(raw, dtype).astype(np.float64 if DTYPES[dtype].is_float else np.int64).reshape(numbers.shape)

    if value.dtype == dtype:
        return value
    return spread(value, turned, dtype)


def spread(value: Named, function: Callable[[Numbers], Numbers], dtype: str) -> Named:
    """Applies a monotone function; the error is how far it moves at the ends of the interval."""
    values = function(value.values)
    if value.error is None:
        return replace(value, values=values, dtype=dtype)
    ends = [np.abs(function(value.values + sign * value.error) - values) for sign in (-1, 1)]
    return replace(value, values=values, dtype=dtype, error=np.maximum(*ends))


def contract(left: Named, right: Named, kept: frozenset[str], *, bounded: bool) -> Named:
    """Products summed over every axis that is not kept, in float64: exact for integers below 2^53."""
    letters = dict(zip(dict.fromkeys((*left.axes, *right.axes)), string.ascii_letters, strict=False))
    out = tuple(a for a in letters if a in kept)
    terms = ["".join(letters[a] for a in axes) for axes in (left.axes, right.axes, out)]
    spec = f"{terms[0]},{terms[1]}->{terms[2]}"
    a, b = left.values.astype(np.float64), right.values.astype(np.float64)
    values = np.einsum(spec, a, b, optimize=True)
    floats = DTYPES[left.dtype].is_float
    dtype = "f32" if floats else "i32"
    if not floats:
        return Named(out, rounded(values.astype(np.int64), "i32"), dtype)
    error = None
    if bounded:
        summed = [a for a in letters if a not in kept]
        sizes = {a: n for side in (left, right) for a, n in zip(side.axes, side.values.shape, strict=True)}
        count = int(np.prod([sizes[a] for a in summed], dtype=np.int64))
        error = count * 2.0**-24 * np.einsum(spec, np.abs(a), np.abs(b), optimize=True)
    return Named(out, rounded(values, "f32"), dtype, {**left.picks, **right.picks}, error)
