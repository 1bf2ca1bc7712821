"""The steps of a pass as tables (kernel-file page, steps)."""

from __future__ import annotations

from typing import Any

from models import kernel as k
from models.kernel import SourcePath
from planner.readers.context import BAD, Context, Converted
from planner.readers.nodes import Node
from planner.readers.scalars import (
    BOOLEAN,
    DTYPE,
    MAPPING,
    MAPPING_OR_AUTO,
    MAX_INT,
    MAX_PARAMETER,
    NAME,
    NAME_PATTERN,
    PARAMETER,
    START,
    Kind,
    choice,
    named,
    whole,
)
from planner.readers.table import Row, Table, list_of, one_key, read_table
from planner.readers.vector_tables import MAX_VECTOR_OPS, vector_op

MAX_OPERANDS = 64
_KINDS = (
    *("Forwarding", "Broadcast01", "Broadcast1", "Transpose", "InterTranspose"),
    *("TransposedBroadcast1", "CustomBroadcast"),
)
_TILE_ROWS = {
    "tensor": Row(NAME, required=True),
    "tile": Row(MAPPING, required=True),
    "length": Row(PARAMETER, required=True),
    "start": Row(START),
}
_RING_NUMBER = whole(-MAX_PARAMETER, MAX_PARAMETER)
"""Which numbers cut the ring is the switch's own law; it names the rule that a 0 breaks."""
_CONFIG_ROWS = {"kind": Row(choice(*_KINDS), required=True)} | {
    name: Row(_RING_NUMBER) for name in ("slice1", "slice0", "time0", "ring_size")
}


def object_schema(rows: dict[str, Row]) -> dict[str, Any]:
    """The JSON Schema of a mapping with these fields."""
    return {
        "type": "object",
        "properties": {name: row.kind.schema for name, row in rows.items()},
        "required": [name for name, row in rows.items() if row.required],
        "additionalProperties": False,
    }


def _place(ctx: Context, node: Node, path: SourcePath) -> Converted:
    if node.kind == "scalar":
        return NAME.convert(ctx, node, path)
    return read_table(ctx, node, Table(_TILE_ROWS, k.Tile), path, "a tile")


def _config(ctx: Context, node: Node, path: SourcePath) -> Converted:
    if node.kind == "scalar":
        return choice(k.AUTO).convert(ctx, node, path)
    return read_table(ctx, node, Table(_CONFIG_ROWS, k.SwitchConfig), path, "a switch configuration")


def _with(ctx: Context, node: Node, path: SourcePath) -> Converted:
    return k.AUTO if node.text == k.AUTO else named(NAME_PATTERN, "TRF tensor")(ctx, node, path)


PLACE = Kind(_place, {"anyOf": [NAME.schema, object_schema(_TILE_ROWS)]})
_CONFIG = Kind(_config, {"anyOf": [{"const": k.AUTO}, object_schema(_CONFIG_ROWS)]})
_STREAM = {"time": Row(MAPPING, required=True), "packet": Row(MAPPING, required=True)}
_EXPECTED = {"time": Row(MAPPING), "packet": Row(MAPPING)}
_UNITS = {name: Row(MAPPING) for name in ("chip", "cluster", "slice")}
_REGION = Row(choice(k.AUTO, "full", "first_half", "second_half"))
_VIA = Row(choice(k.AUTO, "pipeline", "short"))
_WRITE = Row(NAME, required=True)
_MAPPING = Row(MAPPING, required=True)
_OPERANDS = list_of(NAME.convert, "TRF tensors", 1, MAX_OPERANDS, NAME.schema)


def _check_operands(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    if (values.get("with_") == k.AUTO) == ("operands" in values):
        return True
    rule = "missing_field" if "operands" not in values else "conflicting_fields"
    ctx.fault(rule, node, "`with: auto` chooses among `operands`", "one of the two", "with: auto and operands")
    return False


def _dtype_step(record: type[k.Record]) -> Table:
    return Table({"dtype": Row(DTYPE, required=True)}, record, scalar=("dtype", DTYPE))


def _vector(ctx: Context, node: Node, path: SourcePath) -> Converted:
    return _VECTOR_OPS.convert(ctx, node, path)


_VECTOR_OPS = list_of(vector_op, "vector ops", 1, MAX_VECTOR_OPS, {"$ref": "#/$defs/vector_op"})

STEP_TABLES: dict[str, Table] = {
    "fetch": Table(_STREAM | _UNITS, k.Fetch),
    "fetch_table_lookup": _dtype_step(k.FetchTableLookup),
    "fetch_cast": _dtype_step(k.FetchCast),
    "fetch_zero_point_sub": Table(
        {"dtype": Row(DTYPE, required=True), "zero_point": Row(whole(-MAX_INT, MAX_INT), required=True)},
        k.FetchZeroPointSub,
    ),
    "switch": Table(
        {"slice": _MAPPING, "time": Row(MAPPING_OR_AUTO), "config": Row(_CONFIG)},
        k.Switch,
        scalar=("time", choice(k.AUTO)),
    ),
    "collect": Table(_EXPECTED, k.Collect, bare=True),
    "to_trf": Table({"write": _WRITE, "lane": _MAPPING, "element": _MAPPING, "region": _REGION, "via": _VIA}, k.ToTrf),
    "to_vrf": Table({"write": _WRITE, "element": _MAPPING, "via": _VIA}, k.ToVrf),
    "contract_outer": Table(
        {"with": Row(Kind(_with, NAME.schema), required=True, record_name="with_")}
        | _STREAM
        | {"operands": Row(_OPERANDS)},
        k.ContractOuter,
        check=_check_operands,
    ),
    "contract_packet": Table({"packet": _MAPPING}, k.ContractPacket),
    "contract_time": Table({"time": _MAPPING}, k.ContractTime),
    "contract_lane": Table(
        {"mode": Row(choice(k.AUTO, "interleaved", "sequential"))} | _EXPECTED, k.ContractLane, bare=True
    ),
    "vector": Table({}, k.Vector, items=("ops", Kind(_vector, _VECTOR_OPS.schema)), fields=False),
    "cast": _dtype_step(k.Cast),
    "transpose": Table(_STREAM, k.Transpose),
    "commit": Table(
        {
            "write": Row(PLACE, required=True),
            "element": _MAPPING,
            "slice": Row(MAPPING),
            "packet": Row(MAPPING),
            "cast": Row(DTYPE),
            "relu": Row(BOOLEAN),
        },
        k.Commit,
    ),
}


def step(ctx: Context, node: Node, path: SourcePath) -> Converted:
    """One step of a pass: a bare word or a one-key mapping."""
    key = node.text if node.kind == "scalar" else node.pairs[0][0].text if node.pairs else ""
    ctx.step = key if key in STEP_TABLES else ""
    found = _step(ctx, node, path)
    ctx.step = ""
    return found


def _step(ctx: Context, node: Node, path: SourcePath) -> Converted:
    found = one_key(ctx, node, STEP_TABLES, "unknown_step", "the step")
    if not isinstance(found, tuple):
        return BAD
    key, value = found
    return read_table(ctx, value, STEP_TABLES[key.text], path, f"`{key.text}`")
