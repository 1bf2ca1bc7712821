"""The host's side: input tensors laid out in HBM by their mappings, padding filled as the tensor says."""

from __future__ import annotations

import numpy as np

from models.cells import KIND_OF_PADDING, LIVE
from models.dtypes import DTYPES
from models.kernel import Tensor
from models.mapping import Padding
from simulator.bench import Bench
from simulator.inputs import named_axes
from simulator.layouts import numbered
from simulator.memories import HbmTensor
from simulator.values import CONTAINER, Raw, encode, integer_range


def fill_hbm(bench: Bench, values: dict[str, Raw]) -> None:
    """Puts every tensor of the kernel into HBM: inputs with their values, outputs unwritten."""
    for name, tensor in bench.plan.kernel.tensors.items():
        bench.memories.hbm[name] = _laid_out(bench, tensor, values.get(name))


def _laid_out(bench: Bench, tensor: Tensor, values: Raw | None) -> HbmTensor:
    layouts, axes = bench.layouts, bench.plan.kernel.axes
    shape = (layouts.size(tensor.chip), layouts.size(tensor.element))
    raw = np.zeros(shape, dtype=CONTAINER[tensor.dtype])
    poison = np.ones(shape, dtype=np.bool_)
    if values is None:
        return HbmTensor(tensor.dtype, raw, poison)
    cells = layouts.plain_identity((tensor.chip, tensor.element))
    number = np.broadcast_to(numbered(cells, named_axes(tensor, axes), axes), shape)
    kind = np.broadcast_to(cells.kind, shape)
    raw[...] = np.where(kind == LIVE, values.ravel()[number], raw)
    poison[kind == LIVE] = False
    poison[kind == KIND_OF_PADDING[Padding.ZERO]] = False
    if tensor.pad != "poison":
        top = kind == KIND_OF_PADDING[Padding.TOP]
        raw[top], poison[top] = pad_value(tensor.pad, tensor.dtype), False
    return HbmTensor(tensor.dtype, raw, poison)


def pad_value(pad: str, dtype: str) -> Raw:
    """The bit pattern that the host writes into padding."""
    if pad in ("-inf", "+inf"):
        number: float = -np.inf if pad == "-inf" else np.inf
        return encode(np.array(number, np.float32), dtype)
    if pad == "0":
        return encode(np.zeros(()), dtype)
    if DTYPES[dtype].is_float:
        number = _LARGEST[dtype]
        return encode(np.array(-number if pad == "min" else number, np.float32), dtype)
    low, high = integer_range(dtype)
    return encode(np.array(low if pad == "min" else high), dtype)


_LARGEST = {
    "f32": float(np.finfo(np.float32).max),
    "bf16": float(np.array(0x7F7F0000, np.uint32).view(np.float32)),
    "f8e4m3": 448.0,
    "f8e5m2": 57344.0,
    "f4e2m1": 6.0,
}
