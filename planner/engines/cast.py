"""The laws of the Cast Engine and of the commit cast: narrowing the element type (domain: section 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, optional, stream_dtype
from planner.engines.collect import one_flit
from planner.engines.shapes import disagreement, elements_in, kept, padded, size_bytes

CASTS: dict[str, tuple[str, ...]] = {
    "i32": ("i4", "i8", "i16"),
    "f32": ("f8e5m2", "f8e4m3", "bf16"),
}
"""What the Cast Engine makes of each type."""

COMMIT_CASTS: dict[str, tuple[str, ...]] = {"f32": ("bf16",)}
BY_ENGINE, BY_COMMIT = "engine", "commit"
"""Where a cast that ends a pass is done; the Cast Engine occupies the Vector Engine, the commit does not."""
COMMIT_CAST_BYTES = (16, 32)
"""Bytes of a trimmed packet that the commit cast takes."""


def law(ground: Ground, stream: Stream, dtype: str, out_packet: Mapping | None = None) -> Outcome:
    """One narrower element for each, the packet padded up to one flit; steps are its flits."""
    wanted = padded(stream.packet, elements_in(dtype, ground.hardware.geometry.flit_bytes))
    findings = kept(
        [
            illegal_cast("cast_types", "the Cast Engine", CASTS, stream.dtype, dtype),
            one_flit(ground.hardware, stream.dtype, stream.packet),
            None
            if out_packet is None
            else disagreement("cast_packet_mismatch", "the packet after the cast", out_packet, wanted),
        ]
    )
    return Outcome(findings, replace(stream, dtype=dtype, packet=wanted), stream.time.size)


def illegal_cast(
    rule: str, engine: str, table: dict[str, tuple[str, ...]], dtype: str, out_dtype: str
) -> Finding | None:
    """A finding where the table has no such cast."""
    legal = table.get(dtype, ())
    if out_dtype in legal:
        return None
    wanted = ", ".join(f"{a} -> {b}" for a, row in table.items() for b in row)
    return Finding(
        rule,
        f"{engine} cannot cast {dtype} to {out_dtype}",
        f"{dtype} -> {out_dtype}",
        f"one of {wanted}",
        f"{dtype} -> {legal[-1]}" if legal else "",
    )


def commit_cast(dtype: str, out_dtype: str, packet: Mapping) -> tuple[Finding, ...]:
    """The commit cast takes f32 to bf16, on a trimmed packet of 16 or 32 bytes before the cast."""
    size = size_bytes(dtype, packet.size)
    findings = [illegal_cast("commit_cast_types", "the commit adapter", COMMIT_CASTS, dtype, out_dtype)]
    if size not in COMMIT_CAST_BYTES:
        wanted = " or ".join(map(str, COMMIT_CAST_BYTES))
        findings.append(
            Finding(
                "commit_cast_width",
                f"the trimmed packet has {size} bytes of {dtype}, a commit cast takes {wanted}",
                f"{size} bytes",
                f"{wanted} bytes",
            )
        )
    return kept(findings)


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, ONE, mapping(case, "packet"))
    out = law(ground_of(case, hardware), stream, stream_dtype(case, "out_dtype"), optional(case, "out_packet"))
    return judged(out, {})


def _commit_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    del hardware
    findings = commit_cast(stream_dtype(case), stream_dtype(case, "out_dtype"), mapping(case, "packet"))
    return judged(Outcome(findings), {})


CASES: dict[str, CaseFunction] = {"cast": _case, "commit_cast": _commit_case}
