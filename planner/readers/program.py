"""The `program:` of a kernel file: statements, each a text or a mapping that also states the result's layout."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from typing import Any

from models import kernel as k
from models.mapping import Axis, MappingError, nodes
from planner.program.expand import ProgramError, Scope, expand
from planner.program.grammar import GrammarError, parse_statement
from planner.program.operations import Node as Operation
from planner.program.operations import Value
from planner.program.tree import Statement
from planner.readers.context import Bad, Context, describe
from planner.readers.nodes import Node
from planner.readers.scalars import MAPPING, TEXT
from planner.readers.table import Row, read_fields

MAX_STATEMENTS = 1_000
STATED = ("cluster", "slice", "element")
STATEMENT_ROWS = {"do": Row(TEXT, required=True)} | {name: Row(MAPPING) for name in STATED}
STATEMENT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {name: row.kind.schema for name, row in STATEMENT_ROWS.items()},
            "required": ["do"],
            "additionalProperties": False,
        },
    ]
}


def statements(ctx: Context, node: Node, axes: Dict[str, int], tensors: Dict[str, k.Tensor | None]) -> None:
    """Reads and expands all statements into `ctx.program`; every fault stands at its token."""
    if node.kind != "list":
        ctx.fault("wrong_type", node, "a program is a list of statements", describe(node), "a list")
        return
    if not 1 <= len(node.items) <= MAX_STATEMENTS:
        ctx.fault("wrong_length", node, "statements of a program", str(len(node.items)), f"1 to {MAX_STATEMENTS}")
        return
    values = _values(ctx, tensors)
    outputs = {n for n, t in tensors.items() if t is not None and t.role == "output"}
    scope = Scope(
        dict(axes),
        {n: v for n, v in values.items() if n not in outputs},
        {n: v for n, v in values.items() if n in outputs},
    )
    made = [found for i, item in enumerate(node.items) if (found := _statement(ctx, item, i, scope)) is not None]
    missing = [n for n in outputs if n not in scope.values]
    if missing and len(made) == len(node.items):
        ctx.fault("output_never_written", node, f"no statement computes `{missing[0]}`", missing[0], "a statement")
    ctx.program = tuple(made)


def _values(ctx: Context, tensors: Dict[str, k.Tensor | None]) -> dict[str, Value]:
    out = {}
    for name, tensor in tensors.items():
        if tensor is not None:
            try:
                mapping = ctx.texts.read(tensor.element)[1]
            except MappingError:
                continue
            axes = [n.name for n in nodes(mapping) if isinstance(n, Axis)]
            out[name] = Value(name, tensor.dtype, tuple(dict.fromkeys(axes)))
    return out


def _statement(ctx: Context, node: Node, index: int, scope: Scope) -> Operation | None:
    text, stated = node, {}
    if node.kind == "mapping":
        values = read_fields(ctx, node, STATEMENT_ROWS, ("program", index), "a statement")
        if isinstance(values, Bad):
            return None
        text = next(value for key, value in node.pairs if key.text == "do")
        stated = {name: values[name] for name in STATED if name in values}
    if text.kind != "scalar":
        ctx.fault("wrong_type", text, "a statement is text", describe(text), "name = function(...)")
        return None
    try:
        statement = parse_statement(text.text)
        ctx.op = statement.name
        return expand(_at(statement, text, stated), scope)
    except GrammarError as error:
        ctx.fault("program_syntax", _place(text, error.column), error.message, error.found, error.wanted)
    except ProgramError as error:
        ctx.fault(error.rule, _place(text, error.column), error.message, error.found, error.wanted)
    finally:
        ctx.op = ""
    return None


def _at(statement: Statement, node: Node, stated: dict[str, str]) -> Statement:
    return replace(
        statement,
        line=node.line,
        column=node.column,
        cluster=stated.get("cluster"),
        slice=stated.get("slice"),
        element=stated.get("element"),
    )


def _place(node: Node, column: int) -> tuple[int, int]:
    """Where a token stands: its column is that of the text, behind a quotation mark where there is one."""
    return node.line, node.column + (0 if node.plain else 1) + column - 1 if node.exact else node.column
