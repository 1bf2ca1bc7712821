"""The vector ops of a kernel file as tables (kernel-file page, steps; op names and ALUs of domain section 8)."""

from __future__ import annotations

from functools import partial
from typing import Any

from models.kernel import SourcePath
from models.vector_ops import Guard, VectorOp
from planner.readers.context import BAD, Context, Converted, describe, shown
from planner.readers.nodes import Node
from planner.readers.scalars import (
    AXIS,
    MAPPING,
    NAME_PATTERN,
    Kind,
    choice,
    constant,
    named,
    whole,
)
from planner.readers.table import Row, Table, list_of, one_key, read_fields, read_table
from planner.readers.vendor_spellings import ALUS, PRODUCTS, modes, spelled

MAX_INT_WIDTH = 31
MAX_VECTOR_OPS = 1_000
STASH = "stash"

_LOGIC = ("BitAnd", "BitOr", "BitXor", "LeftShift", "LogicRightShift", "ArithRightShift")
_FXP = (
    *("AddFxp", "AddFxpSat", "SubFxp", "SubFxpSat", "LeftShift", "LeftShiftSat", "MulFxp", "MulInt"),
    *("LogicRightShift", "ArithRightShift", "ArithRightShiftRound"),
)
_UNARY = ("Exp", "NegExp", "Sqrt", "Tanh", "Sigmoid", "Erf", "Log", "Sin", "Cos")
_BINARY = ("AddF", "SubF", "MulF", "DivF")
_CLIP = ("Min", "AbsMin", "Max", "AbsMax", "AddFxp", "AddFxpSat", "Add")
_BINARY_MODES = ("00", "01", "10", "11")
_TERNARY_MODES = ("012", "002", "102", "112", "020", "021", "120")
_TAGS = ("Equal", "Less", "Greater", "LessUnsigned", "GreaterUnsigned", "True", "False")
_NULLS = ("null", "~", "")
_TAGS_WITHOUT_CONSTANT = ("True", "False")
_LOGIC_ALUS = ("LogicAnd", "LogicOr", "LogicXor", "LogicLshift", "LogicRshift")
_FXP_ALUS = ("FxpAdd", "FxpLshift", "FxpMul", "FxpRshift")
_FP_ALUS = ("FpExp", "FpFpu", "FpFma", "FpMul0", "FpMul1")
_CLIP_ALUS = ("ClipMin", "ClipMax", "ClipAdd")
# Short names that mean one op of their stage; fxp's `mul` would be MulFxp or MulInt, so it stays unknown.
_SHORT = {
    "fp": {"add": "AddF", "sub": "SubF", "mul": "MulF", "div": "DivF", "fma": "FmaF"},
    "fxp": {"add": "AddFxp", "sub": "SubFxp"},
}


def op_name(names: tuple[str, ...], stage: str = "") -> Kind:
    """An op name of a stage in vISA's spelling, matched without case."""
    known = {n.lower(): n for n in names}
    known |= {short: full for short, full in _SHORT.get(stage, {}).items() if full in names}

    def convert(ctx: Context, node: Node, _path: SourcePath) -> Converted:
        if node.kind != "scalar":
            return ctx.fault("wrong_type", node, "an op name is wanted here", describe(node), ", ".join(names))
        found = known.get(node.text.lower())
        return found if found is not None else ctx.unknown("unknown_op_name", node, "the op", node.text, names)

    products = PRODUCTS if "MulF" in names else {}
    known |= {own.lower(): own for own in products.values()}
    return spelled(Kind(convert, {"type": "string", "examples": list(names)}), products)


def _alu(*names: str) -> Row:
    held = {vendor: own for vendor, own in ALUS.items() if own in names}
    return Row(spelled(choice("auto", *names), held))


def _take_apart(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    """`MulF(FpMul0)` is the operation and its ALU."""
    op, paren, alu = str(values.get("op")).partition("(")
    if not paren:
        return True
    stated = values.get("alu", "auto")
    values |= {"op": op, "alu": alu.removesuffix(")")}
    if stated in ("auto", values["alu"]):
        return True
    ctx.fault("conflicting_fields", node, f"`{op}` names its ALU twice", f"{values['alu']}, {stated}", "one of them")
    return False


def _scalar_operand(ctx: Context, node: Node, path: SourcePath) -> Converted:
    number = constant(ctx, node)
    if number is not None:
        return number
    if node.kind == "scalar" and node.text == STASH:
        return STASH
    return named(NAME_PATTERN, "number, VRF tensor or stash")(ctx, node, path)


def _optional_operand(ctx: Context, node: Node, path: SourcePath) -> Converted:
    if node.kind == "scalar" and node.plain and node.text in _NULLS:
        return None
    return _scalar_operand(ctx, node, path)


def _immediate(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    number = constant(ctx, node)
    return number if number is not None else ctx.fault("wrong_type", node, "a number is wanted here", describe(node))


_OPERAND_SCHEMA: dict[str, Any] = {"type": ["number", "string"]}
_WHEN = list_of(choice("one", "zero", "ignore").convert, "tag bits", 4, 4, {"enum": ["one", "zero", "ignore"]})
_GUARD_ROWS = {
    "when": Row(_WHEN, required=True),
    "imm": Row(Kind(_immediate, {"type": "number"})),
    "rf": Row(Kind(_scalar_operand, {"type": "string"})),
}
GUARD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: row.kind.schema for name, row in _GUARD_ROWS.items()},
    "required": ["when"],
    "additionalProperties": False,
}


def _guard(ctx: Context, node: Node, path: SourcePath) -> Converted:
    values = read_fields(ctx, node, _GUARD_ROWS, path, "a guarded operand")
    if not isinstance(values, dict):
        return BAD
    if ("imm" in values) == ("rf" in values):
        rule = "conflicting_fields" if "imm" in values else "missing_field"
        return ctx.fault(rule, node, "a guard takes imm or rf", ", ".join(values), "one of imm, rf")
    if "rf" in values and not isinstance(values["rf"], str):
        return ctx.fault("wrong_type", node, "rf names a VRF tensor or the stash", str(values["rf"]), "a name")
    return Guard(**values)


_GUARDS = list_of(_guard, "guards", 1, 4, GUARD_SCHEMA)


def _guards(ctx: Context, node: Node, path: SourcePath) -> Converted:
    guards = _GUARDS.convert(ctx, node, path)
    if guards is BAD:
        return BAD
    if any(g.rf is not None for g in guards[:-1]) or (len(guards) == 4 and guards[-1].rf is None):
        return ctx.fault(
            "wrong_length",
            node,
            "guards are up to three immediates, then at most one register",
            ", ".join("imm" if g.rf is None else "rf" for g in guards),
            "imm, imm, imm, rf",
        )
    return guards


def _operand(ctx: Context, node: Node, path: SourcePath) -> Converted:
    if node.kind == "list":
        return _guards(ctx, node, (*path[:-1], "guards"))
    return _scalar_operand(ctx, node, path)


def _split_guards(ctx: Context, node: Node, values: dict[str, Any]) -> bool:
    if not _take_apart(ctx, node, values):
        return False
    if isinstance(values.get("operand"), tuple):
        values["guards"] = values.pop("operand")
    given = [n for n in ("operand", "guards", "operands") if n in values]
    if len(given) > 1:
        ctx.fault("conflicting_fields", node, "an op takes operand or operands", ", ".join(given), "one of them")
        return False
    # Only op(s, s) works without an operand.
    if not given and values.get("mode") != "00":
        ctx.fault("missing_field", node, f"`{values.get('op', 'the op')}` needs an operand", "nothing", "operand")
        return False
    return True


def _comparison(ctx: Context, node: Node, path: SourcePath) -> Converted:
    key, value = (node, None) if node.kind != "mapping" or len(node.pairs) != 1 else node.pairs[0]
    name = op_name(_TAGS).convert(ctx, key, path)
    if name is BAD:
        return BAD
    if value is None or (value.plain and value.text in _NULLS):
        if name in _TAGS_WITHOUT_CONSTANT:
            return {name: None}
        return ctx.fault("missing_field", node, f"`{name}` compares with a constant", shown(name), f"{{{name}: 0}}")
    number = _immediate(ctx, value, path)
    return BAD if number is BAD else {name: number}


_OPERAND = Row(Kind(_operand, {"anyOf": [_OPERAND_SCHEMA, {"type": "array", "items": GUARD_SCHEMA}]}))
_OPERANDS = list_of(_optional_operand, "operands", 1, 4, {"type": ["number", "string", "null"]})
_COMPARISONS = list_of(_comparison, "comparisons", 1, 4, {"type": ["object", "string"]})
_MODE = Row(spelled(choice(*_BINARY_MODES), modes(_BINARY_MODES)))
_TIME_PACKET = {"time": Row(MAPPING, required=True), "packet": Row(MAPPING, required=True)}


def _binary(name: str, names: tuple[str, ...], alus: tuple[str, ...], stage: str = "") -> Table:
    rows = {
        "op": Row(op_name(names, stage), required=True),
        "operand": _OPERAND,
        "operands": Row(_OPERANDS),
        "mode": _MODE,
        "alu": _alu(*alus),
    }
    return Table(rows, partial(VectorOp, name=name), check=_split_guards)


def _zip(name: str, names: tuple[str, ...], alus: tuple[str, ...], stage: str = "") -> Table:
    kind = op_name(names, stage)
    rows = {"op": Row(kind, required=True), "mode": _MODE, "alu": _alu(*alus)}
    return Table(rows, partial(VectorOp, name=name), scalar=("op", kind), check=_take_apart)


def _one(name: str, kind: Kind) -> Table:
    return Table({}, partial(VectorOp, name=name), scalar=("value", kind), fields=False)


def _of(name: str, rows: dict[str, Row], **rest: Any) -> Table:  # noqa: ANN401 - the fields of Table
    return Table(rows, partial(VectorOp, name=name), **rest)


_UNARY_NAME = op_name(_UNARY)
_WIDTH = whole(0, MAX_INT_WIDTH)

VECTOR_TABLES: dict[str, Table] = {
    "tag": _of(
        "tag", {}, scalar=("value", spelled(choice("zero"), {})), items=("comparisons", _COMPARISONS), fields=False
    ),
    "logic": _binary("logic", _LOGIC, _LOGIC_ALUS),
    "fxp": _binary("fxp", _FXP, _FXP_ALUS, "fxp"),
    "fxp_to_fp": _one("fxp_to_fp", _WIDTH),
    "narrow_split": _of("narrow_split", _TIME_PACKET),
    "narrow_trim": _one("narrow_trim", MAPPING),
    "fp_unary": _of(
        "fp_unary",
        {"op": Row(_UNARY_NAME, required=True, record_name="value"), "alu": _alu(*_FP_ALUS)},
        scalar=("value", _UNARY_NAME),
    ),
    "fp_binary": _binary("fp_binary", _BINARY, _FP_ALUS, "fp"),
    "fp_ternary": _of(
        "fp_ternary",
        {
            "op": Row(op_name(("FmaF",), "fp"), required=True),
            "operands": Row(_OPERANDS, required=True),
            "mode": Row(spelled(choice(*_TERNARY_MODES), modes(_TERNARY_MODES))),
            "alu": _alu(*_FP_ALUS),
        },
    ),
    "intra_slice_reduce": _of(
        "intra_slice_reduce",
        {
            "axis": Row(AXIS, required=True),
            "op": Row(op_name(("Add", "AddSat", "Max", "Min")), required=True),
        }
        | _TIME_PACKET,
    ),
    "fp_div": _of(
        "fp_div",
        {
            "op": Row(op_name(("DivF",), "fp")),
            "operand": _OPERAND,
            "operands": Row(_OPERANDS),
            "mode": _MODE,
        },
        check=_split_guards,
    ),
    "widen_pad": _one("widen_pad", MAPPING),
    "widen_concat": _of("widen_concat", _TIME_PACKET),
    "fp_to_fxp": _one("fp_to_fxp", _WIDTH),
    "clip": _binary("clip", _CLIP, _CLIP_ALUS),
    "filter": _one("filter", MAPPING),
    "inter_slice_reduce": _of(
        "inter_slice_reduce",
        {
            "op": Row(op_name(("Add", "AddSat", "Max", "Min", "Mul")), required=True),
            "slice": Row(MAPPING, required=True),
            "time": Row(MAPPING, required=True),
        },
    ),
    "stash": _of("stash", {}, bare=True, fields=False),
    "unzip": _of(
        "unzip",
        {"axis": Row(AXIS, required=True), "tile_time": Row(MAPPING), "split_time": Row(MAPPING)},
        scalar=("axis", AXIS),
    ),
    "logic_zip": _zip("logic_zip", _LOGIC, _LOGIC_ALUS),
    "fxp_zip": _zip("fxp_zip", _FXP, _FXP_ALUS, "fxp"),
    "fp_zip": _zip("fp_zip", _BINARY, _FP_ALUS, "fp"),
    "clip_zip": _zip("clip_zip", _CLIP, _CLIP_ALUS),
}


def vector_op(ctx: Context, node: Node, path: SourcePath) -> Converted:
    """One vector op."""
    found = one_key(ctx, node, VECTOR_TABLES, "unknown_vector_op", "the vector op")
    if not isinstance(found, tuple):
        return BAD
    key, value = found
    return read_table(ctx, value, VECTOR_TABLES[key.text], path, f"`{key.text}`")
