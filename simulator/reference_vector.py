"""What the vector engine's chain means on named axes, by the rules of section 8, in float64 or exact integers.

Ways, lanes and flits mean nothing here: narrowing and widening leave an array as it is, a guarded operand is a choice
by a condition, unzip takes an axis of size 2 apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models.vector_ops import VectorOp
from simulator.named import Named, Numbers, rounded, spread
from simulator.reference_fold import fold, fold_slices, slice_part
from simulator.reference_tables import BITS, FLOAT, HIGHEST, INTEGER, LOWEST, Function, full_name, to_fixed

_LAYOUT_ONLY = frozenset({"narrow_split", "narrow_trim", "widen_concat", "widen_pad", "filter"})
_BINARY = ("fp_binary", "fp_div", "clip", "fxp", "logic")

Find = Callable[[str], Named]
"""Finds a tensor of the VRF."""


@dataclass
class State:
    """A chain on its way: the array (or one for each group of a pair), tags over the same axes, the stash.

    `places` are the texts of Chip, Cluster and Slice that the stream is spread over.
    """

    groups: list[Named]
    find: Find
    axes: dict[str, int]
    places: tuple[str, ...]
    tags: list[Named | None] = field(default_factory=lambda: [None])
    stash: Named | None = None

    @property
    def value(self) -> Named:
        """The one array, outside of pairs."""
        return self.groups[0]


def run_chain(
    ops: Sequence[VectorOp], value: Named, find: Find, axes: dict[str, int], places: tuple[str, ...]
) -> tuple[Named, tuple[str, ...]]:
    """The value behind a chain, and the texts it is spread over then.

    Raises:
        LookupError: an op without a meaning here.

    """
    state = State([value], find, axes, places)
    for op in ops:
        _whole(op, state)
    return state.value, state.places


def _whole(op: VectorOp, state: State) -> None:
    """Ops on the stream as a whole; all others work on each group."""
    if op.name == "stash":
        state.stash = state.value
    elif op.name == "tag":
        state.tags[0] = _tagged(op, state.value) if op.comparisons else None
    elif op.name == "unzip":
        _unzip(state, str(op.axis or op.value))
    elif op.name.endswith("_zip"):
        pair = [state.groups[int(d)] for d in op.mode or "01"]
        state.groups, state.tags = [_calculated(op, pair)], [None]
    elif op.name == "intra_slice_reduce":
        axis = str(op.axis or op.value)
        kept = slice_part(state.places, axis, state.axes)
        state.groups, state.tags = [fold(state.value, axis, kept, str(op.op))], [None]
    elif op.name == "inter_slice_reduce":
        state.groups = [fold_slices(state.value, state.places[-1], str(op.slice), str(op.op), state.axes)]
        state.places, state.tags = (*state.places[:-1], str(op.slice)), [None]
    elif op.name not in _LAYOUT_ONLY:
        for i in range(len(state.groups)):
            state.groups[i] = _on_group(op, state, i)


def _unzip(state: State, axis: str) -> None:
    value = state.value
    at = value.axes.index(axis)
    left = tuple(a for a in value.axes if a != axis)

    def part(i: int) -> Named:
        error = None if value.error is None else value.error.take(i, at)
        return replace(value, axes=left, values=value.values.take(i, at), error=error)

    state.groups = [part(0), part(1)]
    state.tags = [None, Named((), np.array(8), "i32")]


def _on_group(op: VectorOp, state: State, group: int) -> Named:
    value = state.groups[group]
    if op.name == "fp_unary":
        return _evaluated(FLOAT[str(op.value or op.op).lower()], [value], "f32")
    if op.name == "fxp_to_fp":
        scale = 2.0 ** (31 - int(op.value or 0))
        return replace(value, values=rounded(value.values / scale, "f32"), dtype="f32")
    if op.name == "fp_to_fxp":
        return spread(value, to_fixed(int(op.value or 0)), "i32")
    listed = list(op.operands or ())
    size = len(listed) // len(state.groups) if listed else 0
    own = listed[group * size : (group + 1) * size] if len(state.groups) > 1 else listed
    if own and own[0] is None:
        return value
    if op.name == "fp_ternary":
        found = [value, *(_look(state, value, o) for o in (own or listed))]
        return _evaluated(FLOAT["fmaf"], [found[int(d)] for d in op.mode or "012"], "f32")
    if op.name not in _BINARY:
        raise LookupError(f"vector op `{op.name}` has no meaning in the reference")
    if op.guards:
        return _guarded(op, state, group)
    mode = op.mode or "01"
    other = value if mode == "00" else _look(state, value, own[0] if own else op.operand)
    return _calculated(op, [(value, other)[int(d)] for d in mode])


def _look(state: State, value: Named, operand: object) -> Named:
    """A constant, the stash, or a VRF tensor, of which the part is taken that the stream has."""
    if operand == "stash" and state.stash is not None:
        return state.stash
    if operand is None:
        raise LookupError("an op has no operand")
    if not isinstance(operand, str):
        number = np.float32(operand) if value.dtype == "f32" else np.int64(operand)  # type: ignore[arg-type]
        return Named((), rounded(np.array(number).astype(value.values.dtype), value.dtype), value.dtype)
    found = state.find(operand)
    for axis, picks in value.picks.items():
        if axis in found.axes and axis not in found.picks:
            found = found.taken(axis, picks)
    return found


# Conditions -------------------------------------------------------------------------------------------------


def _tagged(op: VectorOp, value: Named) -> Named:
    """Bit i of the tag says whether comparison i holds; the unsigned ones compare the 32 bits as they are."""
    tags = np.zeros(value.values.shape, dtype=np.int64)
    for i, comparison in enumerate(op.comparisons):
        ((name, constant),) = comparison.items()
        tags += _holds(name, constant, value) * (1 << i)
    return replace(value, values=tags, dtype="i32", error=None)


def _holds(name: str, constant: float | int | None, value: Named) -> Numbers:
    if name in ("True", "False"):
        return np.full(value.values.shape, name == "True")
    border = np.array(constant, dtype=np.float32 if value.dtype == "f32" else np.int64)
    numbers = value.values
    if name.endswith("Unsigned"):
        numbers, border = _unsigned(numbers, value.dtype), _unsigned(border, value.dtype)
    if name.startswith("Less"):
        return np.asarray(numbers < border)
    return np.asarray(numbers > border if name.startswith("Greater") else numbers == border)


def _unsigned(numbers: Numbers, dtype: str) -> Numbers:
    if dtype == "i32":
        return numbers % 2**32
    return np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32).reshape(numbers.shape).astype(np.int64)


def _guarded(op: VectorOp, state: State, group: int) -> Named:
    """From the last guard to the first, each takes over where it holds: so the first one wins."""
    value, tags = state.groups[group], state.tags[group]
    result = value
    for guard in reversed(op.guards or ()):
        other = _look(state, value, guard.rf if guard.rf is not None else guard.imm)
        changed = _calculated(op, [(value, other)[int(d)] for d in op.mode or "01"])
        bits = np.zeros((), dtype=np.int64) if tags is None else tags.aligned(changed.axes).values
        hit = np.ones(bits.shape, dtype=bool)
        for i, wanted in enumerate(guard.when):
            hit &= (wanted == "ignore") | ((bits // 2**i % 2 == 1) == (wanted == "one"))
        result = _chosen(hit, changed, result.aligned(changed.axes))
    return result


def _chosen(hit: Numbers, yes: Named, no: Named) -> Named:
    error = None
    if yes.error is not None or no.error is not None:
        sides = [0.0 if n.error is None else n.error for n in (yes, no)]
        error = np.where(hit, *sides)
    return replace(yes, values=np.where(hit, yes.values, no.values), error=error)


# Arithmetic -------------------------------------------------------------------------------------------------


def _calculated(op: VectorOp, arguments: list[Named]) -> Named:
    dtype, name = arguments[0].dtype, full_name(op.op)
    if dtype == "f32" and name in BITS:
        return _on_bits(BITS[name], arguments)
    return _evaluated((FLOAT if dtype == "f32" else INTEGER)[name], arguments, dtype)


def _on_bits(function: Function, arguments: list[Named]) -> Named:
    axes = tuple(dict.fromkeys(a for n in arguments for a in n.axes))
    sides = [np.ascontiguousarray(n.aligned(axes).values, dtype=np.float32).view(np.uint32) for n in arguments]
    out = np.ascontiguousarray(function(*sides)).view(np.float32)
    return replace(arguments[0].aligned(axes), values=rounded(out, "f32"))


def _evaluated(function: Function, arguments: list[Named], dtype: str) -> Named:
    """Computes on aligned axes and rounds once; a bound comes from the corners of the arguments' intervals."""
    axes = tuple(dict.fromkeys(a for n in arguments for a in n.axes))
    sides = [n.aligned(axes) for n in arguments]
    picks: dict[str, Any] = {a: p for n in arguments for a, p in n.picks.items()}
    folded = {a: p for n in arguments for a, p in n.folded.items()}
    with np.errstate(all="ignore"):
        values = rounded(function(*(n.values for n in sides)), dtype)
    if all(n.error is None for n in sides):
        return Named(axes, values, dtype, picks, folded=folded)
    if dtype != "f32":
        # only an order of saturating sums leaves an i32 open, and then altogether
        unsure = np.asarray(sum(np.zeros(()) if n.error is None else n.error for n in sides))
        return Named(axes, values, dtype, picks, np.where(unsure > 0, float(HIGHEST - LOWEST), 0.0), folded)
    error = np.abs(values) * 2.0**-23
    with np.errstate(all="ignore"):
        for corner in np.ndindex(*(2,) * len(sides)):
            ends = [
                n.values + (2 * c - 1) * (0 if n.error is None else n.error) for n, c in zip(sides, corner, strict=True)
            ]
            error = np.fmax(error, np.abs(function(*ends) - values) + np.abs(values) * 2.0**-23)
    return Named(axes, values, dtype, picks, error, folded)
