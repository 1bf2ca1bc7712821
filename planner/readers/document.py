"""The top of a kernel file: name, axes, layouts, tensors, and the operations in their scope."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from typing import Any

from models import kernel as k
from models.dtypes import STAGED_ONLY
from models.mapping import MappingError
from planner.readers.context import BAD, Bad, Context, Converted, describe
from planner.readers.nodes import Node
from planner.readers.operations import Operations
from planner.readers.program import STATEMENT_SCHEMA, statements
from planner.readers.remaining import remaining
from planner.readers.scalars import (
    AXIS,
    AXIS_PATTERN,
    DTYPE,
    MAPPING,
    NAME,
    NAME_PATTERN,
    TEXT,
    VARIABLE,
    VARIABLE_PATTERN,
    Kind,
    choice,
    mapping_fault,
    padding_comment,
    plain_text,
    whole,
)
from planner.readers.semantics import check
from planner.readers.table import Row, build, read_fields
from planner.readers.texts import Texts, layout_order

MAX_AXIS_SIZE = 2**31
AXIS_SIZE = whole(1, MAX_AXIS_SIZE, "axis_size")
TENSOR_ROWS = {
    "dtype": Row(DTYPE, required=True),
    "element": Row(MAPPING, required=True),
    "role": Row(choice("input", "output")),
    "chip": Row(MAPPING),
    "pad": Row(choice("poison", "0", "-inf", "+inf", "min", "max")),
}


def _named(pattern: str, what: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "patternProperties": {f"^{pattern}$": what}, "additionalProperties": False}


_TENSOR_SCHEMA = {
    "type": "object",
    "properties": {name: row.kind.schema for name, row in TENSOR_ROWS.items()},
    "required": [name for name, row in TENSOR_ROWS.items() if row.required],
    "additionalProperties": False,
}


def _later(_ctx: Context, node: Node, _path: k.SourcePath) -> Converted:
    """Fields that are read in the order they depend on each other, not in file order."""
    return node


DOCUMENT_ROWS = {
    "kernel": Row(NAME, required=True),
    "description": Row(TEXT),
    "hardware": Row(TEXT),
    "axes": Row(Kind(_later, _named(AXIS_PATTERN, AXIS_SIZE.schema)), required=True),
    "layouts": Row(Kind(_later, _named(VARIABLE_PATTERN, MAPPING.schema))),
    "tensors": Row(Kind(_later, _named(NAME_PATTERN, _TENSOR_SCHEMA)), required=True),
    "ops": Row(Kind(_later, {"type": "array", "items": {"$ref": "#/$defs/operation"}})),
    "program": Row(Kind(_later, {"type": "array", "items": STATEMENT_SCHEMA, "minItems": 1})),
}


def document(ctx: Context, root: Node, axes: Dict[str, int]) -> k.Kernel | None:
    """The kernel of a document; `axes` override declared sizes.

    When the context holds faults, the kernel is what is left beside them, None when that is nothing.
    """
    values = read_fields(ctx, root, DOCUMENT_ROWS, (), "a kernel")
    nodes = {key.text: value for key, value in root.pairs}
    declared, broken = _axes(ctx, nodes.get("axes"), axes)
    ctx.texts = Texts(declared)
    ctx.texts.broken_axes |= broken
    _layouts(ctx, nodes.get("layouts"))
    tensors = _tensors(ctx, nodes.get("tensors"))
    ops: tuple[k.Op, ...] = ()
    if "program" in nodes and "ops" in nodes:
        ctx.fault("conflicting_fields", nodes["program"], "a kernel has `ops` or a `program`", "both", "one of them")
    elif "program" in nodes:
        statements(ctx, nodes["program"], declared, tensors)
    else:
        ops = _operations(ctx, root, nodes, tensors)
    head = _head(values, nodes)
    if head is None or (not ops and any(f.severity == "error" for f in ctx.faults)):
        return None
    sound = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    made = build(ctx, root, k.Kernel, head | {"axes": declared, "tensors": sound, "ops": ops})
    return made if isinstance(made, k.Kernel) else None


def _head(values: Converted, nodes: Dict[str, Node]) -> dict[str, Any] | None:
    """Name, description and hardware; None when the hardware is unknown, by which all operations are judged."""
    if isinstance(values, dict):
        return {n: v for n, v in values.items() if n in ("kernel", "description", "hardware")}
    return None if "hardware" in nodes else {"kernel": "unnamed"}


def _operations(
    ctx: Context, root: Node, nodes: Dict[str, Node], tensors: Dict[str, k.Tensor | None]
) -> tuple[k.Op, ...]:
    operations = Operations(ctx)
    if "ops" not in nodes:
        ctx.fault("missing_field", root, "a kernel needs `ops`", "nothing", "ops, or a program")
    ops = operations.read(nodes["ops"], ("ops",)) if "ops" in nodes else BAD
    check(ctx, tensors, operations)
    if isinstance(ops, Bad) or any(f.severity == "error" for f in ctx.faults):
        return remaining(ctx, tensors, operations)
    return tuple(ops)


def _pairs(ctx: Context, node: Node | None, what: str, name: Kind) -> list[tuple[str, Node]]:
    if node is None:
        return []
    if node.kind != "mapping":
        ctx.fault("wrong_type", node, f"{what} are a mapping of names", describe(node), "name: value")
        return []
    out = []
    for key, value in node.pairs:
        text = name.convert(ctx, key, ())
        if text is not BAD:
            out.append((text, value))
    return out


def _axes(ctx: Context, node: Node | None, overrides: Dict[str, int]) -> tuple[dict[str, int], set[str]]:
    """Axis sizes, and the axes whose size is at fault: those stay known, so that their uses are not faults too."""
    broken: set[str] = set()
    out: dict[str, int] = {}
    for name, value in _pairs(ctx, node, "axes", AXIS):
        ctx.place(("axes", name), value)
        size = AXIS_SIZE.convert(ctx, value, ("axes", name))
        out[name] = 1 if size is BAD else size
        if size is BAD:
            broken.add(name)
    where = node if node is not None else (1, 1)
    for name, size in overrides.items():
        if name not in out:
            ctx.unknown("unknown_axis", where, "axis", name, out)
        elif not 1 <= size <= MAX_AXIS_SIZE:
            ctx.fault("axis_size", where, f"axis {name} set to {size}", str(size), f"1 to {MAX_AXIS_SIZE}")
        else:
            out[name] = size
    return out, broken


def _layouts(ctx: Context, node: Node | None) -> None:
    nodes: dict[str, Node] = {}
    for name, value in _pairs(ctx, node, "layouts", VARIABLE):
        ctx.place(("layouts", name), value)
        if not padding_comment(ctx, value) and plain_text(ctx, value, "mapping text") is not None:
            nodes[name] = value
        else:
            ctx.texts.broken.add(name)
    order, cycle = layout_order({name: value.text for name, value in nodes.items()})
    if cycle:
        shape = " -> ".join(cycle[:8])
        ctx.fault("layout_cycle", nodes[cycle[0]], f"layouts contain each other: {shape}", shape, "no cycle")
        ctx.texts.broken.update(nodes)
    for name in order:
        try:
            ctx.texts.declare(name, nodes[name].text)
        except MappingError as error:
            mapping_fault(ctx, nodes[name], error)
            ctx.texts.broken.add(name)


def _tensors(ctx: Context, node: Node | None) -> dict[str, k.Tensor | None]:
    out: dict[str, k.Tensor | None] = {}
    for name, value in _pairs(ctx, node, "tensors", NAME):
        path = ("tensors", name)
        ctx.place(path, value)
        values = read_fields(ctx, value, TENSOR_ROWS, path, f"the tensor `{name}`")
        record = build(ctx, value, k.Tensor, values) if isinstance(values, dict) else None
        out[name] = record if isinstance(record, k.Tensor) else None
        if isinstance(values, dict) and values["dtype"] in STAGED_ONLY:
            out[name] = None
            place = ctx.at[*path, "dtype"]
            wanted = values["dtype"].replace("5", "4").replace("9", "8")
            ctx.fault(
                "staged_dtype", place, f"{values['dtype']} is never in memory", values["dtype"], "a memory type", wanted
            )
    return out
