"""Rules of the collect engine (domain: section 4)."""

from __future__ import annotations

from models.faults import Rule

_SOURCE = "book, collect engine; seed 001, Forwarding example; domain section 4"

RULES: tuple[Rule, ...] = (
    Rule("collect_time_mismatch", "Time after collect is [Time, flits of a packet].", _SOURCE),
    Rule("collect_packet_mismatch", "The packet after collect is the inner 32 bytes of the padded packet.", _SOURCE),
    Rule("output_not_one_flit", "The packet after collect is exactly one flit of 32 bytes.", _SOURCE),
)
