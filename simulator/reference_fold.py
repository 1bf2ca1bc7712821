"""Reductions on named axes: sums, maxima and the like over a whole axis, or over the parts of it that a unit holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.mapping import axis_names, terms
from models.parse import parse
from simulator.linear import digit_of
from simulator.named import Named, Numbers, rounded
from simulator.reference_tables import HIGHEST, LOWEST, clamp, wrap

Ints = NDArray[np.int64]
_ROUNDING = 2.0**-24
_MOST_FRACTION_BITS = 32


def slice_part(places: tuple[str, ...], axis: str, axes: dict[str, int]) -> Ints:
    """For every index of an axis the part of it that units stand for: the first index that the same unit holds."""
    index = np.arange(axes[axis], dtype=np.int64)
    return sum((_share(t, index) for text in places for t in digits(text, axis, axes)), start=0 * index)


def digits(text: str, axis: str, axes: dict[str, int]) -> list[str]:
    """The terms of a mapping that are digits of an axis.

    Raises:
        LookupError: the axis stands inside something else.

    """
    found = [str(t) for t in terms(parse(text or "1", axes)) if axis in axis_names(t)]
    if any(digit_of(t).axis != axis or "," in t for t in found):
        raise LookupError(f"`{text}` holds {axis} inside another expression, the reference cannot tell its parts")
    return found


def _share(term: str, index: Ints) -> Ints:
    """What a digit contributes to an index."""
    digit = digit_of(term)
    return digit.value(index) * int(np.prod([n for sign, n in digit.steps if sign == "/"], dtype=np.int64))


def fold_slices(value: Named, before: str, after: str, op: str, axes: dict[str, int]) -> Named:
    """Folds the digits that a Slice had and no longer has."""
    for axis in sorted(axis_names(parse(before, axes))):
        gone = set(digits(before, axis, axes)) - set(digits(after, axis, axes))
        if not gone:
            continue
        if axis not in value.axes:
            copies = np.broadcast_to(value.values[..., None], (*value.values.shape, axes[axis]))
            value = replace(value, axes=(*value.axes, axis), values=copies)
        own = value.folded.get(axis, np.arange(axes[axis], dtype=np.int64))
        value = fold(value, axis, own - sum(_share(t, own) for t in gone), op)
    return value


def fold(value: Named, axis: str, part: Ints, op: str) -> Named:
    """Folds an axis, or the parts of it: `part` gives for every index the first one of its part.

    A part's result stands at all of its indices; an axis that is folded whole goes. The bound of a sum is that of any
    order; where every order gives the same there is none.
    """
    at = value.axes.index(axis)
    size = value.values.shape[at]
    present = value.picks.get(axis, np.arange(size, dtype=np.int64))
    part, index = part[present], present
    first = value.folded.get(axis, index) == index
    keys, place = np.unique(part, return_inverse=True)
    order = np.flatnonzero(first)[np.argsort(place[first], kind="stable")]
    starts = np.searchsorted(place[order], np.arange(len(keys)))
    values = np.moveaxis(value.values, at, 0)[order]
    error = None if value.error is None else np.moveaxis(value.error, at, 0)[order]
    result, bound = _FOLDS[op.lower()](values, error, starts, value.dtype)
    if len(keys) == 1:
        left = tuple(a for a in value.axes if a != axis)
        kept = {a: f for a, f in value.folded.items() if a != axis}
        picks = {a: p for a, p in value.picks.items() if a != axis}
        return replace(
            value, axes=left, values=result[0], error=None if bound is None else bound[0], folded=kept, picks=picks
        )
    spread = np.moveaxis(result[place], 0, at)
    wide = None if bound is None else np.moveaxis(bound[place], 0, at)
    return replace(value, values=spread, error=wide, folded={**value.folded, axis: part})


Folded = tuple[Numbers, Numbers | None]


def _added(values: Numbers, error: Numbers | None, starts: Ints, dtype: str) -> Folded:
    if dtype == "i32":
        return wrap(np.add.reduceat(values, starts, axis=0)), None
    with np.errstate(all="ignore"):
        total = np.add.reduceat(values, starts, axis=0)
        sizes = np.add.reduceat(np.abs(values), starts, axis=0)
        out = rounded(total, "f32")
        if error is None and _exact(values, sizes):
            return out, None
        count = np.diff(np.append(starts, len(values))).reshape(-1, *[1] * (values.ndim - 1))
        given = 0.0 if error is None else np.add.reduceat(error, starts, axis=0)
        return out, count * _ROUNDING * sizes + given


def _exact(values: Numbers, sizes: Numbers) -> bool:
    """Whether every order of summation gives the same: all values are multiples of one step that f32 can count."""
    if not np.isfinite(values).all():
        return False
    for bits in range(_MOST_FRACTION_BITS):
        scaled = values * 2.0**bits
        if sizes.size and float(sizes.max()) * 2.0**bits >= 1 / _ROUNDING:
            return False
        if (scaled == np.floor(scaled)).all():
            return True
    return False


def _saturated(values: Numbers, error: Numbers | None, starts: Ints, dtype: str) -> Folded:
    """A clamped sum; where only some orders of summation run over, any i32 may come out."""
    del error, dtype
    total = np.add.reduceat(values, starts, axis=0)
    up = np.add.reduceat(np.maximum(values, 0), starts, axis=0)
    down = np.add.reduceat(np.minimum(values, 0), starts, axis=0)
    open_ = ((up > HIGHEST) & (down < 0)) | ((down < LOWEST) & (up > 0))
    return clamp(total), np.where(open_, float(HIGHEST - LOWEST), 0.0) if open_.any() else None


def _multiplied(values: Numbers, error: Numbers | None, starts: Ints, dtype: str) -> Folded:
    with np.errstate(all="ignore"):
        out = rounded(np.multiply.reduceat(values, starts, axis=0), dtype)
        given = 0.0 if error is None else np.abs(out) * np.add.reduceat(error / np.abs(values), starts, axis=0)
        return out, len(values) * 2 * _ROUNDING * np.abs(out) + given


def _extreme(function: np.ufunc) -> Callable[..., Folded]:
    def folded(values: Numbers, error: Numbers | None, starts: Ints, dtype: str) -> Folded:
        del dtype
        bound = None if error is None else np.maximum.reduceat(error, starts, axis=0)
        out: Any = function.reduceat(values, starts, axis=0)
        return out, bound

    return folded


_FOLDS: dict[str, Callable[..., Folded]] = {
    "add": _added,
    "addsat": _saturated,
    "mul": _multiplied,
    "max": _extreme(np.fmax),
    "min": _extreme(np.fmin),
}
