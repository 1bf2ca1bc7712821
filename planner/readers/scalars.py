"""Converters of single values: one per kind of field, each with its JSON Schema."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from models.dtypes import DTYPES
from models.kernel import AUTO, SourcePath
from models.linear import LinearError, parse_linear
from models.mapping import MappingError
from planner.readers.context import BAD, Context, Converted, describe, shown
from planner.readers.nodes import Node

MAX_INT = 2**63 - 1
MAX_PARAMETER = 2**31
MAX_NAME = 255
NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_.-]*"
VARIABLE_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
AXIS_PATTERN = r"[A-Z][A-Za-z0-9_]*"
RESERVED = frozenset({"auto", "stash"})
_INT = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# Plain words that a reader of another YAML version takes for a boolean, a date or nothing.
_NO_TEXT = re.compile(r"(true|false|yes|no|on|off|null|~|)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*", re.IGNORECASE | re.DOTALL)
_PADDING_COMMENT = re.compile(r"#\s*[0-9{]")

Converter = Callable[[Context, Node, SourcePath], Converted]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how a node becomes it, and its JSON Schema."""

    convert: Converter
    schema: dict[str, Any] = field(default_factory=dict)


def plain_text(ctx: Context, node: Node, what: str = "text") -> str | None:
    """The text of a scalar; None after a fault for anything that another reader would not take for text."""
    if node.kind != "scalar" or (node.plain and _NO_TEXT.fullmatch(node.text)):
        quoted = f'"{node.text}"' if node.kind == "scalar" and node.text else _quoted_layout(node)
        ctx.fault("wrong_type", node, f"{what} is wanted here", describe(node), what, quoted)
        return None
    return node.text


def _quoted_layout(node: Node) -> str:
    # `slice: {Grid}` without quotes is a YAML mapping with one empty value.
    if node.kind == "mapping" and len(node.pairs) == 1 and not node.pairs[0][1].text:
        return f'"{{{node.pairs[0][0].text}}}"'
    return ""


def free_text(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """Any text."""
    text = plain_text(ctx, node)
    if text is None:
        return BAD
    if node.plain and _FLOAT.fullmatch(text):
        return ctx.fault("wrong_type", node, "text is wanted here", text, "text", f'"{text}"')
    return text


def named(pattern: str, what: str) -> Converter:
    """A name of the given pattern."""

    def convert(ctx: Context, node: Node, _path: SourcePath) -> Converted:
        text = plain_text(ctx, node, what)
        if text is None:
            return BAD
        if len(text) > MAX_NAME or not re.fullmatch(pattern, text) or text in RESERVED:
            near = re.sub(r"[^A-Za-z0-9_.-]", "_", text[:40])
            near = near if re.fullmatch(pattern, near) and near not in RESERVED else ""
            return ctx.fault("bad_name", node, f"`{shown(text)}` is no {what}", text, f"a {what}: {pattern}", near)
        return text

    return convert


def mapping_text(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """Mapping text, with layouts written out."""
    if padding_comment(ctx, node):
        return BAD
    text = plain_text(ctx, node, "mapping text")
    if text is None:
        return BAD
    try:
        return ctx.texts.read(text)[0]
    except MappingError as error:
        return mapping_fault(ctx, node, error)


def mapping_fault(ctx: Context, node: Node, error: MappingError) -> Converted:
    """Reports a MappingError at its place in the file."""
    where = column_of(node, error.column)
    if _follows(ctx, node.text, error):
        return BAD
    known = {"unknown_axis": ctx.texts.scope.axes, "unknown_layout": ctx.texts.expansions}.get(error.rule)
    if known is not None and error.found:
        what = error.rule.removeprefix("unknown_")
        return ctx.unknown(error.rule, where, what, error.found, known)
    near = _nearest_size(error)
    return ctx.fault(error.rule, where, error.message, error.found, error.wanted, near)


def _follows(ctx: Context, text: str, error: MappingError) -> bool:
    """Whether an axis or a layout is at fault for this, and has been reported already."""
    if error.rule == "unknown_layout":
        return error.found in ctx.texts.broken
    words = set(re.findall(AXIS_PATTERN, text)) if ctx.texts.broken_axes else set()
    return error.rule != "mapping_syntax" and not words.isdisjoint(ctx.texts.broken_axes)


def _nearest_size(error: MappingError) -> str:
    divisor = re.fullmatch(r"a divisor of ([0-9]{1,12})", error.wanted)
    if not divisor or not error.found.isdecimal():
        return ""
    size, n = int(divisor[1]), int(error.found)
    divisors = {d for k in range(1, math.isqrt(size) + 1) if size % k == 0 for d in (k, size // k)}
    return str(min(divisors, key=lambda d: (abs(d - n), d)))


def column_of(node: Node, column: int) -> tuple[int, int]:
    """Line and column in the file of a column in a scalar's text; the scalar's own where that is not exact."""
    if not node.exact or column < 1:
        return node.line, node.column
    return node.line, node.column + (0 if node.plain else 1) + column - 1


def padding_comment(ctx: Context, node: Node) -> bool:
    """Reports the unquoted value whose padding YAML took for a comment."""
    if not _PADDING_COMMENT.match(node.comment):
        return False
    whole = f"{node.text} {node.comment}".split(",")[0].rstrip(" }]")
    near = f'"{whole}"'
    ctx.fault(
        "unquoted_padding",
        node,
        f"YAML takes `{shown(node.comment)}` for a comment: the value is only `{shown(node.text)}`",
        f"{node.text} {node.comment}",
        "quoted mapping text",
        shown(near),
    )
    return True


def mapping_or_auto(ctx: Context, node: Node, path: SourcePath) -> Converted:
    """Mapping text or `auto`."""
    return AUTO if node.text == AUTO and not padding_comment(ctx, node) else mapping_text(ctx, node, path)


def dtype(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """An element type."""
    text = plain_text(ctx, node, "an element type")
    if text is None:
        return BAD
    return text if text in DTYPES else ctx.unknown("unknown_dtype", node, "element type", text, DTYPES)


def choice(*values: str) -> Kind:
    """One of some words; a plain number such as `0` stands for its text."""

    def convert(ctx: Context, node: Node, _path: SourcePath) -> Converted:
        if node.kind != "scalar":
            return ctx.fault("wrong_type", node, "a word is wanted here", describe(node), " | ".join(values))
        by_case = {v.lower(): v for v in values}
        found = by_case.get(node.text.lower())
        return found if found is not None else ctx.unknown("wrong_choice", node, "the value", node.text, values)

    return Kind(convert, {"enum": list(values)})


def whole(low: int, high: int, rule: str = "number_out_of_range") -> Kind:
    """A whole number from low to high."""

    def convert(ctx: Context, node: Node, _path: SourcePath) -> Converted:
        wanted = f"a whole number from {low} to {high}"
        if node.kind != "scalar" or not node.plain or not _INT.fullmatch(node.text):
            return ctx.fault("wrong_type", node, "a whole number is wanted here", describe(node), wanted)
        number = to_int(node.text)
        if number is None or not low <= number <= high:
            near = "" if number is None else str(min(max(number, low), high))
            return ctx.fault(rule, node, f"{shown(node.text)} is out of range", node.text, wanted, near)
        return number

    return Kind(convert, {"type": "integer", "minimum": low, "maximum": high})


def to_int(text: str) -> int | None:
    """A whole number of YAML 1.2, or None where its magnitude is over MAX_INT."""
    # int() of very long text is slow, and refused beyond 4,300 digits.
    if len(text.lstrip("+-0xo")) > len(str(2**64)) + 3:
        return None
    base = {"0x": 16, "0o": 8}.get(text[:2], 10)
    number = int(text, base)
    return number if abs(number) <= MAX_INT else None


def boolean(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """`true` or `false`."""
    if node.kind == "scalar" and node.plain and node.text.lower() in ("true", "false"):
        return node.text.lower() == "true"
    return ctx.fault("wrong_type", node, "true or false is wanted here", describe(node), "true | false")


def constant(ctx: Context, node: Node) -> Converted | None:
    """A number as an operand; None when the scalar is no number."""
    if node.kind != "scalar" or not node.plain or not _FLOAT.fullmatch(node.text):
        if node.plain and _INT.fullmatch(node.text):
            return _bounded(ctx, node, to_int(node.text))
        return None
    if _INT.fullmatch(node.text):
        return _bounded(ctx, node, to_int(node.text))
    number = math.inf if node.text.lower().strip("+-.") in ("inf", "nan") else float(node.text)
    return _bounded(ctx, node, number if math.isfinite(number) else None)


def _bounded(ctx: Context, node: Node, number: float | None) -> Converted:
    if number is None:
        return ctx.fault("number_out_of_range", node, f"{shown(node.text)} is no finite number", node.text, "a number")
    return number


def start(ctx: Context, node: Node, _path: SourcePath) -> Converted:
    """A linear expression of loop variables."""
    text = plain_text(ctx, node, "a linear expression")
    if text is None:
        return BAD
    try:
        parse_linear(text)
    except LinearError as error:
        where = column_of(node, error.column)
        return ctx.fault("start_syntax", where, error.message, error.found, error.wanted)
    return text


NAME = Kind(named(NAME_PATTERN, "name"), {"type": "string", "pattern": f"^{NAME_PATTERN}$"})
VARIABLE = Kind(named(VARIABLE_PATTERN, "loop variable"), {"type": "string", "pattern": f"^{VARIABLE_PATTERN}$"})
AXIS = Kind(named(AXIS_PATTERN, "axis name"), {"type": "string", "pattern": f"^{AXIS_PATTERN}$"})
TEXT = Kind(free_text, {"type": "string"})
MAPPING = Kind(mapping_text, {"type": ["string", "integer"], "description": "mapping text"})
MAPPING_OR_AUTO = Kind(mapping_or_auto, {"type": ["string", "integer"], "description": "mapping text or auto"})
DTYPE = Kind(dtype, {"enum": list(DTYPES)})
BOOLEAN = Kind(boolean, {"type": "boolean"})
START = Kind(start, {"type": ["string", "integer"], "description": "linear in loop variables"})
PARAMETER = whole(1, MAX_PARAMETER)
