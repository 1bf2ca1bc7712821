"""What the host puts into HBM: seeded inputs that make equality exact, or given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.faults import Fault, FaultError
from models.kernel import Kernel, PassOp, Tensor
from models.mapping import Axis, Mapping, nodes, terms
from models.parse import parse
from simulator.bench import flat
from simulator.values import CONTAINER, Raw, encode, integer_range, is_nan

_SMALL = 4  # sums of products of such integers stay exact in float32 far beyond any kernel's size


def named_axes(tensor: Tensor, axes: dict[str, int]) -> tuple[str, ...]:
    """The axes of an HBM tensor in the order in which its mappings name them first, outermost first."""
    found: dict[str, None] = {}
    for text in (tensor.chip, tensor.element):
        for term in terms(parse(text, axes)):
            found.update(dict.fromkeys(_axes_in_order(term)))
    return tuple(found)


def declared_shape(tensor: Tensor, axes: dict[str, int]) -> tuple[int, ...]:
    """The shape of a tensor on its named axes, at their declared sizes."""
    return tuple(axes[name] for name in named_axes(tensor, axes))


def make_inputs(kernel: Kernel, given: dict[str, NDArray[Any]] | None, seed: int, *, random: bool) -> dict[str, Raw]:
    """Bit patterns of every input tensor on its named axes.

    Raises:
        FaultError: input_unknown, input_missing or input_shape, when `given` does not fit the kernel.

    """
    wanted = {name: t for name, t in kernel.tensors.items() if t.role == "input"}
    if given is not None:
        return _given(kernel, wanted, given)
    style = _random if random else (_integers if _sums(kernel) else _distinct)
    out = {}
    for i, (name, tensor) in enumerate(wanted.items()):
        rng = np.random.default_rng([seed, i])
        shape = declared_shape(tensor, kernel.axes)
        out[name] = style(rng, shape, tensor.dtype)
    return out


def _sums(kernel: Kernel) -> bool:
    """Whether the kernel computes at all: only then must values stay small."""
    return any(
        step.step in ("contract_outer", "vector", "fetch_zero_point_sub")
        for op in flat(kernel.ops)
        if isinstance(op, PassOp)
        for step in op.steps
    )


def _integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Raw:
    values = rng.integers(-_SMALL, _SMALL + 1, shape)
    if values.size and np.ptp(values) == 0:
        values.flat[0] = _SMALL - 1 if values.flat[0] == _SMALL else _SMALL
    if dtype == "f4e2m1":
        values = np.where(values == 0, 1, values)
    return encode(values, dtype)


def _distinct(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Raw:
    """A different value in every cell as far as the type allows, in no order that a layout could imitate."""
    count = int(np.prod(shape))
    bits = DTYPES[dtype].bits
    patterns = np.arange(min(1 << bits, max(4 * count, 1 << 16)), dtype=np.uint32)
    if bits == 32:
        patterns = patterns + np.uint32(0x3F800000)
    raw = patterns.astype(CONTAINER[dtype])
    raw = raw[~is_nan(raw, dtype)]
    repeats = -(-count // raw.size)
    picked = np.concatenate([rng.permutation(raw) for _ in range(repeats)])[:count]
    return picked.reshape(shape)


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Raw:
    if DTYPES[dtype].is_float:
        return encode(rng.normal(size=shape).astype(np.float32), dtype)
    low, high = integer_range(dtype)
    return encode(rng.integers(low, high + 1, shape), dtype)


def _given(kernel: Kernel, wanted: dict[str, Tensor], given: dict[str, NDArray[Any]]) -> dict[str, Raw]:
    faults = [
        Fault(rule="input_unknown", found=name, wanted=", ".join(wanted), message=f"`{name}` is no input of the kernel")
        for name in given.keys() - wanted.keys()
    ]
    out = {}
    for name, tensor in wanted.items():
        shape = declared_shape(tensor, kernel.axes)
        if name not in given:
            faults.append(Fault(rule="input_missing", wanted=name, message=f"no values for input `{name}`"))
        elif given[name].shape != shape:
            order = ", ".join(named_axes(tensor, kernel.axes))
            message = f"input `{name}` must have one dimension per axis: {order}"
            faults.append(Fault(rule="input_shape", found=str(given[name].shape), wanted=str(shape), message=message))
        else:
            out[name] = encode(given[name], tensor.dtype)
    if faults:
        raise FaultError(faults)
    return out


def _axes_in_order(expr: Mapping) -> list[str]:
    return [node.name for node in reversed(list(nodes(expr))) if isinstance(node, Axis)][::-1]
