"""Outputs in HBM against the reference, cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES
from models.plan import Values
from simulator.bench import Bench
from simulator.inputs import declared_shape, named_axes
from simulator.layouts import numbered
from simulator.named import Named, Numbers
from simulator.values import decode

_MANTISSA_BITS = {"f32": 23, "bf16": 7, "f8e4m3": 3, "f8e5m2": 2, "f4e2m1": 1}


def compare_output(bench: Bench, name: str, wanted: Named | None) -> Values:
    """Compares every live cell of an output, or those in the sample; a poisoned one differs whatever it holds."""
    tensor, held = bench.plan.kernel.tensors[name], bench.memories.hbm[name]
    cells = bench.layouts.plain_identity((tensor.chip, tensor.element))
    live = np.broadcast_to(cells.kind == LIVE, held.raw.shape)
    count = int(live.sum())
    if wanted is None:
        bench.report.add("unwritten_output", f"nothing in the kernel writes output `{name}`", found=name)
        return Values(ok=False, max_abs_error=0.0, elements=count)
    axes = named_axes(tensor, bench.plan.kernel.axes)
    if not set(wanted.axes) <= set(axes):
        foreign = ", ".join(sorted(set(wanted.axes) - set(axes)))
        message = f"output `{name}` has no axis {foreign}, which what the kernel writes there has"
        bench.report.add("unknown_reference", message, found=foreign)
        return Values(ok=False, max_abs_error=0.0, elements=count)
    shape = declared_shape(tensor, bench.plan.kernel.axes)
    sampled = {} if bench.sample is None else bench.sample.of_tensor(name)
    number = np.broadcast_to(numbered(cells, axes, bench.plan.kernel.axes), held.raw.shape)[live]
    lost = held.poison[live]
    if lost.any():
        message = f"{int(lost.sum())} of {count} live cells of output `{name}` hold nothing defined"
        bench.report.add("unwritten_output", message, found=int(lost.sum()), wanted=0)
    aligned = wanted.aligned(axes)
    taken, at, shape = _in_sample(number, dict(zip(axes, shape, strict=True)), sampled)
    found = decode(held.raw[live][taken], tensor.dtype).astype(wanted.values.dtype)
    expected = np.broadcast_to(aligned.values, shape).ravel()[at]
    error = None if aligned.error is None else np.broadcast_to(aligned.error, shape).ravel()[at]
    verdict = _verdict(found, expected, error, lost[taken], tensor.dtype)
    return verdict.model_copy(update={"elements": count, "sampled": None if bench.sample is None else len(found)})


def _in_sample(
    number: NDArray[np.int64], sizes: dict[str, int], sampled: dict[str, NDArray[np.int64]]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], tuple[int, ...]]:
    """Which of the numbered cells are in the sample, their numbers in the thinned array, and its shape."""
    if not sampled:
        return np.ones(len(number), dtype=np.bool_), number, tuple(sizes.values())
    thin = {axis: len(sampled[axis]) if axis in sampled else size for axis, size in sizes.items()}
    taken = np.ones(len(number), dtype=np.bool_)
    at = np.zeros(len(number), dtype=np.int64)
    for axis, index in zip(sizes, np.unravel_index(number, tuple(sizes.values())), strict=True):
        place = index
        if axis in sampled:
            places = np.full(sizes[axis], -1, dtype=np.int64)
            places[sampled[axis]] = np.arange(len(sampled[axis]))
            place = places[index]
            taken &= place >= 0
        at = at * thin[axis] + place
    return taken, at[taken], tuple(thin.values())


def _verdict(found: Numbers, expected: Numbers, error: Numbers | None, lost: NDArray[np.bool_], dtype: str) -> Values:
    with np.errstate(all="ignore"):
        off = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    close = same if error is None else same | (off <= error + ulp(expected, dtype))
    finite = off[~lost & ~same & np.isfinite(off)]
    return Values(
        ok=bool((close & ~lost).all()),
        max_abs_error=float(finite.max()) if finite.size else 0.0,
        elements=int(found.size),
    )


def ulp(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """The step between neighbouring numbers of a type at each value; 0 for integers."""
    if not DTYPES[dtype].is_float:
        return np.zeros(values.shape)
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    return np.asarray(np.ldexp(1.0, exponent - 1 - _MANTISSA_BITS[dtype]))
