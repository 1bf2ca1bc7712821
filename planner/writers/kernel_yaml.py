"""Writes a kernel back as a kernel file: reading it gives an equal kernel (kernel-file page)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from models.kernel import (
    AUTO,
    ContractOuter,
    DmaOp,
    Kernel,
    LoopOp,
    Op,
    PassOp,
    Record,
    ReshapeOp,
    Step,
    Switch,
    Tensor,
    Vector,
)
from models.vector_ops import Guard, VectorOp

# Line breaks of older YAML would be folded inside a quoted text.
_BREAKS = re.compile("[\x85\u2028\u2029]")
_VALUE_STEPS = {"fetch_table_lookup": "dtype", "fetch_cast": "dtype", "cast": "dtype"}


def kernel_text(kernel: Kernel) -> str:
    """The kernel in kernel-file form, one operation or step a line; fields at their defaults are left out."""
    lines = [f"kernel: {_flow(kernel.kernel)}"]
    lines += [f"description: {_flow(kernel.description)}"] if kernel.description else []
    lines.append(f"hardware: {_flow(kernel.hardware)}")
    lines.append(f"axes: {_flow(kernel.axes)}")
    lines.append("tensors:" if kernel.tensors else "tensors: {}")
    lines += [f"  {_flow(name)}: {_flow(_given(tensor))}" for name, tensor in kernel.tensors.items()]
    lines.append("ops:" if kernel.ops else "ops: []")
    lines += _operations(kernel.ops, "  ")
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    # Without ASCII escapes: JSON writes one character as two surrogates, which YAML does not join again.
    text = json.dumps(value, ensure_ascii=False)
    return _BREAKS.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _given(record: Record | Tensor) -> dict[str, Any]:
    """The fields that are not at their defaults, as plain data, by their names in the file."""
    return record.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _operations(ops: tuple[Op, ...], indent: str) -> Iterator[str]:
    for op in ops:
        if isinstance(op, LoopOp):
            yield f"{indent}- loop: {_flow(op.name)}"
            yield f"{indent}  count: {op.count}"
            yield f"{indent}  ops:"
            yield from _operations(op.ops, indent + "    ")
        elif isinstance(op, PassOp):
            yield from _pass(op, indent)
        else:
            yield f"{indent}- {_flow(_one_line(op))}"


def _one_line(op: DmaOp | ReshapeOp) -> dict[str, Any]:
    fields = _given(op)
    return {op.kind: fields.pop("name")} | fields


def _pass(op: PassOp, indent: str) -> Iterator[str]:
    fields = _given(op)
    fields.pop("name")
    fields.pop("steps")
    yield f"{indent}- pass: {_flow(op.name)}"
    yield from (f"{indent}  {name}: {_flow(value)}" for name, value in fields.items())
    yield f"{indent}  steps:"
    yield from (f"{indent}    - {_flow(_step(step))}" for step in op.steps)


def _step(step: Step) -> dict[str, Any] | str:
    if isinstance(step, Vector):
        return {"vector": [_vector_op(op) for op in step.ops]}
    if isinstance(step, Switch) and step.slice is None:
        return {"switch": AUTO}
    fields = _given(step)
    if step.step in _VALUE_STEPS:
        return {step.step: fields[_VALUE_STEPS[step.step]]}
    if isinstance(step, ContractOuter):
        fields = {"with": step.with_} | fields
    return {step.step: fields} if fields else step.step


def _vector_op(op: VectorOp) -> dict[str, Any] | str:
    fields = op.model_dump(mode="json", exclude_defaults=True, exclude={"name", "comparisons", "guards"})
    if op.comparisons:
        return {op.name: [_comparison(c) for c in op.comparisons]}
    if op.guards is not None:
        fields["operand"] = [_guard(g) for g in op.guards]
    if set(fields) == {"value"}:
        return {op.name: op.value}
    if "value" in fields:
        fields["op"] = fields.pop("value")
    return {op.name: fields} if fields else op.name


def _comparison(comparison: dict[str, Any]) -> dict[str, Any] | str:
    ((name, constant),) = comparison.items()
    return name if constant is None else {name: constant}


def _guard(guard: Guard) -> dict[str, Any]:
    return guard.model_dump(mode="json", exclude_none=True)
