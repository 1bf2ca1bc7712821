"""JSON Schema of case files: which keys each engine takes (case-file page)."""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": ["string", "integer"]}
_TAKES = {
    "mapping": "expr",
    "fetch": "dtype context element out_time out_packet",
    "fetch_cast": "dtype out_dtype",
    "fetch_table_lookup": "dtype out_dtype",
    "zero_point_sub": "dtype out_dtype zero_point",
    "switch": "dtype in_slice in_time packet out_slice out_time config",
    "collect": "dtype time packet out_time out_packet",
    "to_trf": "dtype time packet lane element",
    "to_vrf": "dtype element time packet",
    "multiplier_operands": "dtype weight_dtype",
    "contract_outer": "dtype time packet lane trf_element out_time out_packet",
    "contract_packet": "dtype packet out_packet",
    "contract_time": "time out_time",
    "contract_lane": "lane time packet out_time out_packet pre_reduce_time mode",
    "vector_narrow_split": "time packet out_time out_packet",
    "vector_widen_concat": "time packet out_time out_packet",
    "vector_narrow_trim": "packet out_packet",
    "vector_widen_pad": "packet out_packet",
    "intra_slice_reduce": "dtype slice time packet reduce op out_time out_packet",
    "inter_slice_reduce": "dtype slice time op out_slice out_time",
    "cast": "dtype out_dtype packet out_packet",
    "transpose": "dtype time packet out_time out_packet",
    "commit_trim": "dtype packet out_packet",
    "commit_cast": "dtype out_dtype packet",
    "commit": "dtype context time packet element",
}


def cases_schema() -> dict[str, Any]:
    """The schema of case files; keys that start with `x_` are notes and hold anything."""
    return {
        "type": "object",
        "properties": {"cases": {"type": "array", "items": {"oneOf": [_case(*row) for row in _TAKES.items()]}}},
        "required": ["cases"],
        "patternProperties": {"^x_": True},
    }


def _case(engine: str, takes: str) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(takes.split(), _TEXT)
    if "config" in fields:
        fields["config"] = {"type": ["string", "object"]}
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "engine": {"const": engine},
            "axes": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            "expect": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
        }
        | fields,
        "required": ["id", "engine", "axes", "expect"],
        "patternProperties": {"^x_": True},
        "additionalProperties": False,
    }
