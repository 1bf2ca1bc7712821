"""The operations of a kernel file: dma, reshape, pass and loop (kernel-file page, operations)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models import kernel as k
from models.kernel import SourcePath
from planner.readers.context import BAD, Bad, Context, Converted, describe, shown
from planner.readers.nodes import Node
from planner.readers.scalars import AXIS, MAPPING, NAME, PARAMETER, VARIABLE, Kind, choice
from planner.readers.step_tables import PLACE, step
from planner.readers.table import Row, build, list_of, read_fields

MAX_STEPS = 1_000
_UNITS = {name: Row(MAPPING) for name in ("chip", "cluster", "slice")}
_STEPS = list_of(step, "steps", 1, MAX_STEPS, {"$ref": "#/$defs/step"})
_SOURCES = list_of(PLACE.convert, "two tensors to interleave", 2, 2, PLACE.schema)
_DEFAULTS = {"chip": k.DEFAULT_CHIP, "cluster": k.DEFAULT_CLUSTER, "slice": k.DEFAULT_SLICE}


def _read(ctx: Context, node: Node, path: SourcePath) -> Converted:
    return (_SOURCES if node.kind == "list" else PLACE).convert(ctx, node, path)


def _nested(_ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """The operations of a loop, read later by Operations, which counts the loops around them."""
    return node


_READ = Kind(_read, {"anyOf": [PLACE.schema, _SOURCES.schema]})
_OPS = Kind(_nested, {"type": "array", "items": {"$ref": "#/$defs/operation"}, "minItems": 1})

OPERATION_ROWS: dict[str, dict[str, Row]] = {
    "dma": {"dma": Row(NAME, required=True, record_name="name")}
    | {"read": Row(PLACE, required=True), "write": Row(PLACE, required=True)}
    | _UNITS
    | {"element": Row(MAPPING), "passes": Row(choice(k.AUTO))},
    "reshape": {"reshape": Row(NAME, required=True, record_name="name"), "of": Row(NAME, required=True)}
    | _UNITS
    | {"lane": Row(MAPPING), "element": Row(MAPPING)},
    "pass": {
        "pass": Row(NAME, required=True, record_name="name"),
        "read": Row(_READ, required=True),
        "interleave": Row(AXIS),
        "context": Row(choice(k.AUTO, "main", "sub")),
        "steps": Row(_STEPS, required=True),
    },
    "loop": {
        "loop": Row(VARIABLE, required=True, record_name="name"),
        "count": Row(PARAMETER, required=True),
        "ops": Row(_OPS, required=True),
    },
}


@dataclass(frozen=True, slots=True)
class Placed:
    """A dma, reshape or pass in program order: its path, and the loops around it as (variable, count)."""

    path: SourcePath
    op: k.DmaOp | k.ReshapeOp | k.PassOp
    loops: tuple[tuple[str, int], ...] = ()


class Operations:
    """Reads lists of operations; `placed` has all that could be read, `failed` the nodes of the others."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.placed: list[Placed] = []
        self.failed: list[Node] = []

    def read(self, node: Node, path: SourcePath, loops: tuple[tuple[str, int], ...] = ()) -> Converted:
        """A list of operations; BAD when one of them is at fault."""
        if node.kind != "list":
            self.failed.append(node)
            return self.ctx.fault("wrong_type", node, "a list of operations is wanted here", describe(node), "a list")
        out = []
        for i, item in enumerate(node.items):
            self.ctx.place((*path, i), item)
            out.append(self._operation(item, (*path, i), loops))
            # A loop fails with what is in it, which has been listed already.
            if out[-1] is BAD and all(key.text != "loop" for key, _ in item.pairs):
                self.failed.append(item)
            self.ctx.op = ""
        return BAD if BAD in out else tuple(out)

    def _operation(self, node: Node, path: SourcePath, loops: tuple[tuple[str, int], ...]) -> Converted:
        kind = self._kind(node)
        if isinstance(kind, Bad):
            return BAD
        if kind == "loop":
            return self._loop(node, path, loops)
        values = read_fields(self.ctx, node, OPERATION_ROWS[kind], path, f"a {kind}")
        if isinstance(values, Bad) or not _CHECKS[kind](self.ctx, node, values):
            return BAD
        op = build(self.ctx, node, _RECORDS[kind], values)
        if op is not BAD:
            self.placed.append(Placed(path, op, loops))
        return op

    def _kind(self, node: Node) -> str | Bad:
        if node.kind != "mapping":
            return self.ctx.fault(
                "wrong_type", node, "an operation is a mapping", describe(node), ", ".join(OPERATION_ROWS)
            )
        named = {key.text: value for key, value in node.pairs if key.text in OPERATION_ROWS}
        if not named:
            key = node.pairs[0][0] if node.pairs else node
            return self.ctx.unknown("unknown_operation", key, "the operation", key.text, OPERATION_ROWS)
        if len(named) > 1:
            both = ", ".join(named)
            return self.ctx.fault("conflicting_fields", node, "an operation is of one kind", both, "one of them")
        kind, value = next(iter(named.items()))
        self.ctx.op = shown(value.text)
        return kind

    def _loop(self, node: Node, path: SourcePath, loops: tuple[tuple[str, int], ...]) -> Converted:
        rows = {name: row for name, row in OPERATION_ROWS["loop"].items() if name != "ops"}
        inner = [(key, value) for key, value in node.pairs if key.text == "ops"]
        head = Node("mapping", node.line, node.column, pairs=[p for p in node.pairs if p[0].text != "ops"])
        values = read_fields(self.ctx, head, rows, path, "a loop")
        name, count = ("", 1) if isinstance(values, Bad) else (values["name"], values["count"])
        if name in dict(loops):
            values = self.ctx.fault(
                "duplicate_operation", node, f"the loop variable `{name}` is taken by a loop around", name, "a new name"
            )
        if not inner:
            return self.ctx.fault("missing_field", node, "a loop needs `ops`", "nothing", "ops")
        self.ctx.place((*path, "ops"), inner[0][1])
        ops = self.read(inner[0][1], (*path, "ops"), (*loops, (name, count)))
        if isinstance(values, Bad) or ops is BAD:
            return BAD
        if not ops:
            return self.ctx.fault("wrong_length", inner[0][1], "a loop without operations", "0", "1 or more")
        return build(self.ctx, node, k.LoopOp, values | {"ops": ops})


def _dma(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    if "element" in values:
        values |= {name: values.get(name, text) for name, text in _DEFAULTS.items()}
        return True
    if layout := [name for name in _DEFAULTS if name in values]:
        ctx.fault("missing_field", node, "a dma that creates a tensor needs `element`", ", ".join(layout), "element")
    return not layout


def _reshape(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    if "element" not in values:
        ctx.fault("missing_field", node, "a reshape needs `element`", "nothing", "element")
    return "element" in values


def _pass(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    several = isinstance(values["read"], tuple)
    if several and "interleave" not in values:
        ctx.fault("missing_field", node, "a pass that reads two tensors needs `interleave`", "nothing", "interleave")
    elif not several and "interleave" in values:
        ctx.fault("conflicting_fields", node, "`interleave` needs two tensors to read", "one tensor", "[lhs, rhs]")
    elif several and values["interleave"] not in ctx.texts.scope.axes:
        axes = ctx.texts.scope.axes
        ctx.unknown("unknown_axis", node, "axis", values["interleave"], axes)
        return False
    return several == ("interleave" in values)


_CHECKS = {"dma": _dma, "reshape": _reshape, "pass": _pass}
_RECORDS: dict[str, Any] = {"dma": k.DmaOp, "reshape": k.ReshapeOp, "pass": k.PassOp}
