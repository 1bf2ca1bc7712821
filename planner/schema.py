"""JSON Schema of the file forms; the kernel's is built from the tables that read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from models.hardware import Hardware
from models.plan import Plan
from planner.case_schema import cases_schema
from planner.readers.document import DOCUMENT_ROWS
from planner.readers.operations import OPERATION_ROWS
from planner.readers.step_tables import STEP_TABLES, object_schema
from planner.readers.table import Table
from planner.readers.vector_tables import VECTOR_TABLES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SchemaKind = Literal["kernel", "plan", "hardware", "cases"]
SCHEMA_KINDS: dict[str, SchemaKind] = {kind: kind for kind in get_args(SchemaKind)}


def schema(kind: SchemaKind) -> dict[str, Any]:
    """The JSON Schema of a kernel file, a plan, a hardware preset's values or a case file."""
    made = {
        "kernel": kernel_schema,
        "plan": Plan.model_json_schema,
        "hardware": Hardware.model_json_schema,
        "cases": cases_schema,
    }[kind]()
    return {"$schema": DIALECT, "title": kind} | made


def json_schema(kind: str) -> dict[str, Any]:
    """`schema` for a kind that is only text; a KeyError for any other."""
    return schema(SCHEMA_KINDS[kind])


def kernel_schema() -> dict[str, Any]:
    """The schema of kernel files, with steps, vector ops and operations under `$defs`."""
    return object_schema(DOCUMENT_ROWS) | {
        "$defs": {
            "operation": {"anyOf": [object_schema(rows) for rows in OPERATION_ROWS.values()]},
            "step": _one_key(STEP_TABLES),
            "vector_op": _one_key(VECTOR_TABLES),
        }
    }


def _one_key(tables: Mapping[str, Table]) -> dict[str, Any]:
    forms: list[dict[str, Any]] = [{"enum": [name for name, table in tables.items() if table.bare]}]
    forms += [
        {"type": "object", "properties": {name: _value(table)}, "required": [name], "additionalProperties": False}
        for name, table in tables.items()
    ]
    return {"anyOf": forms}


def _value(table: Table) -> dict[str, Any]:
    forms = [kind.schema for _, kind in (f for f in (table.scalar, table.items) if f)]
    forms += [object_schema(dict(table.rows))] if table.fields else []
    forms += [{"type": "null"}] if table.bare else []
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
