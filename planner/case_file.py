"""Reads case files: tables of engine configurations with the verdict each must get (case-file page)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from models.dtypes import DTYPES
from models.faults import Fault, FaultError
from planner.files import MAX_CASES_BYTES, read_bounded
from planner.readers.nodes import Node, NodeError, compose, walk

MOST_AXIS = 2**31
_MOST_DIGITS = 4000
_NULLS = ("", "~", "null", "Null", "NULL")
_SCALARS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(rf"[-+]?[0-9]{{1,{_MOST_DIGITS}}}"), int),
    (re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
)
"""Types of unquoted text by the core schema of YAML 1.2; the rest is text."""
_EATEN_PADDING = re.compile(r"#[ \t]*[0-9{]")


def _known_dtype(name: str) -> str:
    if name not in DTYPES:
        raise ValueError(f"no element type, which are {', '.join(DTYPES)}")
    return name


DTypeName = Annotated[str, AfterValidator(_known_dtype)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True)


class Expect(_Record):
    """The verdict; every other key is compared with the result's field of that name."""

    ok: bool
    rule: str | None = None
    cells: dict[int, dict[str, int] | str] | None = None
    bitmap: dict[int, list[int]] | None = None
    live: dict[int, int] | None = None
    equivalent_to: list[str] | None = None
    not_equivalent_to: list[str] | None = None


class Case(_Record):
    """One configuration of one engine; which fields an engine takes is in the table of the case-file page."""

    id: str
    engine: str
    expect: Expect
    axes: dict[str, Annotated[int, Field(ge=1, le=MOST_AXIS)]] = Field(default_factory=dict)
    expr: str | None = None
    dtype: DTypeName | None = None
    out_dtype: DTypeName | None = None
    weight_dtype: DTypeName | None = None
    context: str | None = None
    zero_point: int | None = None
    slice: str | None = None
    time: str | None = None
    packet: str | None = None
    in_slice: str | None = None
    in_time: str | None = None
    out_slice: str | None = None
    out_time: str | None = None
    out_packet: str | None = None
    lane: str | None = None
    element: str | None = None
    trf_element: str | None = None
    pre_reduce_time: str | None = None
    mode: str | None = None
    reduce: str | None = None
    op: str | None = None
    config: dict[str, str | int] | None = None


class CaseFile(BaseModel):
    """A case file; keys that start with `x_` are notes, here and in cases."""

    model_config = ConfigDict(frozen=True, extra="allow")

    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class PlacedCase:
    """A case with its place; `fields` are those that it states, without notes."""

    case: Case
    fields: dict[str, Any]
    file: str
    line: int


def read_cases(path: str | Path) -> list[PlacedCase]:
    """The cases of a file in its order.

    Raises:
        FaultError: unreadable_file, file_too_large, case_form, unquoted_padding and the faults of YAML; every malformed
            case of the file is named.

    """
    path = Path(path)
    file = str(path)
    try:
        root, errors = compose(read_bounded(path, MAX_CASES_BYTES))
    except NodeError as error:
        raise FaultError([_node_fault(file, error)]) from None
    faults = [_node_fault(file, error) for error in errors]
    table = _table(root)
    if root is None or table is None:
        raise FaultError([*faults, _fault(file, 1, "a case file is a mapping with a list `cases`")])
    faults += [*_unknown_fields(file, root), *_eaten_paddings(file, root)]
    out = []
    for node in table.items:
        fields = _value(node)
        try:
            case = Case.model_validate(_without_notes(fields))
            stated = {"axes": case.axes} | case.model_dump(exclude_unset=True)
            out.append(PlacedCase(case, stated, file, node.line))
        except ValidationError as error:
            faults += [_fault(file, node.line, f"{_place(e['loc'])}: {e['msg']}", e["input"]) for e in error.errors()]
    if faults:
        raise FaultError(faults)
    return out


def _table(root: Node | None) -> Node | None:
    """The list under `cases`."""
    for key, value in root.pairs if root else ():
        if key.text == "cases" and value.kind == "list":
            return value
    return None


def _unknown_fields(file: str, root: Node) -> Iterator[Fault]:
    for key, _ in root.pairs:
        if key.text != "cases" and not key.text.startswith("x_"):
            yield _fault(file, key.line, f"unknown field `{key.text}`")


def _eaten_paddings(file: str, root: Node) -> Iterator[Fault]:
    """Unquoted mappings whose padding YAML took for a comment: `packet: C # 64`."""
    for name, node in walk(root):
        if _EATEN_PADDING.match(node.comment):
            message = f"`{name}: {node.text} {node.comment}` lost its padding to a YAML comment; quote the mapping"
            yield Fault(rule="unquoted_padding", file=file, line=node.line, column=node.column, message=message)


def _value(node: Node) -> Any:  # noqa: ANN401 - any YAML value
    """The value of a node; keys that are numbers become numbers."""
    if node.kind == "list":
        return [_value(item) for item in node.items]
    if node.kind == "mapping":
        return {_value(key): _value(value) for key, value in node.pairs}
    if not node.plain:
        return node.text
    if node.text in _NULLS:
        return None
    convert = next((convert for form, convert in _SCALARS if form.fullmatch(node.text)), str)
    return convert(node.text)


def _without_notes(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    if isinstance(value, dict):
        return {k: _without_notes(v) for k, v in value.items() if not str(k).startswith("x_")}
    return value


def _place(loc: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in loc) or "case"


def _node_fault(file: str, error: NodeError) -> Fault:
    return Fault(
        rule=error.rule,
        file=file,
        line=error.line,
        column=error.column,
        found=error.found,
        wanted=error.wanted,
        message=error.message,
    )


def _fault(file: str, line: int, message: str, found: Any = "") -> Fault:  # noqa: ANN401 - shown as it stands
    shown = found if isinstance(found, str | int | float) else ""
    return Fault(rule="case_form", file=file, line=line, found=str(shown)[:80], message=message)
