"""Rules of the Cast Engine (domain: section 4)."""

from __future__ import annotations

from models.faults import Rule

_SOURCE = "book, cast engine; domain section 4"

RULES: tuple[Rule, ...] = (
    Rule("cast_types", "The Cast Engine makes i4, i8, i16 of i32 and f8e5m2, f8e4m3, bf16 of f32.", _SOURCE),
    Rule("cast_packet_mismatch", "The packet after a cast is the packet padded to one flit.", _SOURCE),
)
