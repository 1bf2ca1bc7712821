"""The fetch adapter's law: table look-ups, casts and zero points on the way in (domain: section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.dtypes import DTYPES
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseError, CaseFunction, judged, stream_dtype

CASTS: dict[str, tuple[str, ...]] = {
    "i4": ("i32",),
    "i8": ("i32",),
    "i16": ("i32",),
    "f8e4m3": ("f32",),
    "f8e5m2": ("f32",),
    "bf16": ("f32",),
    "f32": ("bf16",),
}
"""Fetch casts by source type; a cast to the same type is a no-op."""

TABLES: dict[str, tuple[str, ...]] = {
    "f4e2m1": ("f8e4m3", "f8e5m2"),
    "f8e4m3": ("bf16",),
    "f8e5m2": ("bf16",),
}
"""Fixed decoding tables by source type."""

ZERO_POINTS: dict[str, str] = {"i4": "i5", "i8": "i9"}
"""Zero-point subtraction: what the source type becomes."""


def cast(ground: Ground, stream: Stream, dtype: str) -> Outcome:
    """Converts each element as it is fetched; takes no steps of its own."""
    del ground
    legal = (stream.dtype, *CASTS.get(stream.dtype, ()))
    return _typed(stream, dtype, legal, "fetch_cast_types", "fetch cast")


def table_lookup(ground: Ground, stream: Stream, dtype: str) -> Outcome:
    """Decodes by the fixed table of the types. Steps are given by the flits after collect: see `lookup_steps`."""
    del ground
    return _typed(stream, dtype, TABLES.get(stream.dtype, ()), "fetch_table_types", "table look-up")


def lookup_steps(hardware: Hardware, flits: int) -> int:
    """Steps of a fetch with a table look-up that gives so many flits (cycles page), rounded up."""
    return -(-flits * hardware.fetch.table_lookup_tenths_per_flit // 10)


def zero_point_sub(ground: Ground, stream: Stream, dtype: str, zero_point: int) -> Outcome:
    """Subtracts a zero point and widens by one bit; only a contraction may follow."""
    del ground
    wanted = ZERO_POINTS.get(stream.dtype)
    outcome = _typed(stream, dtype, (wanted,) if wanted else (), "zero_point_types", "zero-point subtraction")
    findings = list(outcome.findings)
    bits = DTYPES[stream.dtype].bits
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if wanted and not low <= zero_point <= high:
        nearest = min(max(zero_point, low), high)
        findings.append(
            Finding(
                "zero_point_range",
                f"zero point {zero_point} is outside of {stream.dtype}, {low} to {high}",
                str(zero_point),
                f"{low} to {high}",
                str(nearest),
            )
        )
    return Outcome(tuple(findings), outcome.stream, settings={"zero_point": zero_point})


def _typed(stream: Stream, dtype: str, legal: tuple[str, ...], rule: str, what: str) -> Outcome:
    out = replace(stream, dtype=dtype)
    if dtype in legal:
        return Outcome((), out)
    wanted = "one of " + ", ".join(legal) if legal else f"another source type: none starts from {stream.dtype}"
    finding = Finding(
        rule,
        f"there is no {what} from {stream.dtype} to {dtype}",
        f"{stream.dtype} -> {dtype}",
        wanted,
        legal[-1] if legal else "",
    )
    return Outcome((finding,), out)


def _of(case: dict[str, Any]) -> Stream:
    return Stream(stream_dtype(case), ONE, ONE, ONE, ONE, ONE)


def _cast_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    return judged(cast(Ground(hardware, {}), _of(case), stream_dtype(case, "out_dtype")), {})


def _table_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    return judged(table_lookup(Ground(hardware, {}), _of(case), stream_dtype(case, "out_dtype")), {})


def _zero_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    zero = case.get("zero_point")
    if not isinstance(zero, int):
        raise CaseError(f"case {case.get('id', '?')}: `zero_point` is {zero}, must be a whole number")
    return judged(zero_point_sub(Ground(hardware, {}), _of(case), stream_dtype(case, "out_dtype"), zero), {})


CASES: dict[str, CaseFunction] = {
    "fetch_cast": _cast_case,
    "fetch_table_lookup": _table_case,
    "zero_point_sub": _zero_case,
}
