"""One-key mappings and their fields as tables, read by one walker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from models.kernel import SourcePath
from planner.readers.context import BAD, Bad, Context, Converted, describe
from planner.readers.nodes import Node
from planner.readers.scalars import Converter, Kind


@dataclass(frozen=True, slots=True)
class Row:
    """A field: its kind, whether it must be given, and its name in the record where that differs."""

    kind: Kind
    required: bool = False
    record_name: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What stands after one key: fields, or a scalar or list that stands for one field, or nothing at all.

    `check` sees the converted fields before the record is built and may report a fault or rewrite them.
    """

    rows: Mapping[str, Row]
    build: Callable[..., Any]
    bare: bool = False
    scalar: tuple[str, Kind] | None = None
    items: tuple[str, Kind] | None = None
    check: Callable[[Context, Node, dict[str, Any]], bool] | None = None
    fields: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def read_fields(ctx: Context, node: Node, rows: Mapping[str, Row], path: SourcePath, what: str) -> dict[str, Any] | Bad:
    """Converts the fields of a mapping node; BAD when any of them is at fault, each of them reported."""
    if node.kind != "mapping":
        return ctx.fault("wrong_type", node, f"{what} takes fields", describe(node), ", ".join(rows))
    values: dict[str, Any] = {}
    good = True
    for key, value in node.pairs:
        row = rows.get(key.text)
        if row is None:
            ctx.unknown("unknown_field", key, f"the field of {what}", key.text, rows)
            good = False
            continue
        name = row.record_name or key.text
        ctx.place((*path, key.text), value)
        ctx.place((*path, name), value)
        values[name] = row.kind.convert(ctx, value, (*path, name))
    for name, row in rows.items():
        if row.required and (row.record_name or name) not in values:
            ctx.fault("missing_field", node, f"{what} needs `{name}`", "nothing", name)
            good = False
    return BAD if not good or BAD in values.values() else values


def read_table(ctx: Context, node: Node | None, table: Table, path: SourcePath, what: str) -> Converted:
    """Reads what stands after a key into the table's record; `node` is None for a bare word."""
    if node is None or (node.kind == "scalar" and node.plain and not node.text and table.bare):
        values: dict[str, Any] | Bad = {}
    elif node.kind == "scalar" and table.scalar is not None:
        values = _single(ctx, node, table.scalar, path)
    elif node.kind == "list" and table.items is not None:
        values = _single(ctx, node, table.items, path)
    elif not table.fields:
        return ctx.fault("wrong_type", node, f"{what} takes no fields", describe(node), _forms(table))
    else:
        values = read_fields(ctx, node, table.rows, path, what)
    if isinstance(values, Bad) or (node is not None and table.check and not table.check(ctx, node, values)):
        return BAD
    return build(ctx, node, table.build, table.extra | values)


def _single(ctx: Context, node: Node, form: tuple[str, Kind], path: SourcePath) -> dict[str, Any] | Bad:
    name, kind = form
    ctx.place((*path, name), node)
    value = kind.convert(ctx, node, (*path, name))
    return BAD if value is BAD else {name: value}


def _forms(table: Table) -> str:
    return " or ".join(name for name, _ in (f for f in (table.scalar, table.items) if f)) or "the bare word"


def build(ctx: Context, node: Node | None, make: Callable[..., Any], values: dict[str, Any]) -> Converted:
    """Builds a record; what the record itself still refuses becomes a fault."""
    try:
        return make(**values)
    except ValidationError as error:
        where = node if node is not None else (0, 0)
        for e in error.errors():
            name = ".".join(str(part) for part in e["loc"])
            ctx.fault("wrong_type", where, f"{name}: {e['msg']}", str(e.get("input")))
        return BAD


def one_key(
    ctx: Context, node: Node, tables: Mapping[str, Table], rule: str, what: str
) -> tuple[Node, Node | None] | Bad:
    """The key and the value of a bare word or a one-key mapping, the key being one of the tables'."""
    if node.kind == "scalar":
        key: Node = node
        value = None
    elif node.kind == "mapping" and len(node.pairs) == 1:
        key, value = node.pairs[0]
    else:
        keys = ", ".join(k.text for k, _ in node.pairs[:8]) if node.kind == "mapping" else describe(node)
        return ctx.fault("wrong_type", node, f"{what} is a bare word or one key with its fields", keys, "one key")
    if key.text not in tables:
        return ctx.unknown(rule, key, what, key.text, tables)
    if value is None and not tables[key.text].bare:
        wanted = ", ".join(tables[key.text].rows) or _forms(tables[key.text])
        return ctx.fault("missing_field", key, f"`{key.text}` needs its fields", "a bare word", wanted)
    return key, value


def list_of(convert: Converter, what: str, low: int, high: int, item_schema: dict[str, Any]) -> Kind:
    """A list of low to high items, each converted; BAD when one is."""

    def read(ctx: Context, node: Node, path: SourcePath) -> Converted:
        if node.kind != "list":
            return ctx.fault("wrong_type", node, f"a list of {what} is wanted here", describe(node), "a list")
        wanted = f"{low} to {high}" if high != low else str(low)
        if not low <= len(node.items) <= high:
            return ctx.fault(
                "wrong_length", node, f"a list of {what} of the wrong length", str(len(node.items)), wanted
            )
        out = []
        for i, item in enumerate(node.items):
            ctx.place((*path, i), item)
            out.append(convert(ctx, item, (*path, i)))
        return BAD if BAD in out else tuple(out)

    return Kind(read, {"type": "array", "items": item_schema, "minItems": low})
