"""The collect engine's law: packets become 32-byte flits (domain: section 4, seed 001's Forwarding example)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping, pair, text
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, stream_dtype
from planner.engines.fetch import packet_alignment
from planner.engines.shapes import (
    cut,
    disagreement,
    elements_in,
    kept,
    padded,
    padded_to_multiple,
    size_bytes,
)


@dataclass(frozen=True, slots=True)
class CollectConfig:
    """What the kernel file expects of the result; None where it says nothing."""

    time: Mapping | None = None
    packet: Mapping | None = None


def law(ground: Ground, stream: Stream, config: CollectConfig) -> Outcome:
    """Packet2 is the inner 32 bytes of the padded packet, Time2 = [Time, flit count]; steps are Time2."""
    flit = elements_in(stream.dtype, ground.hardware.geometry.flit_bytes)
    outer, inner = cut(padded_to_multiple(stream.packet, flit), flit)
    time = pair(stream.time, outer)
    stated_time, stated_packet = config.time or time, config.packet or inner
    findings = kept(
        [
            packet_alignment(ground.hardware, stream.dtype, stream.packet),
            one_flit(ground.hardware, stream.dtype, stated_packet),
            disagreement("collect_time_mismatch", "Time after collect", stated_time, time),
            disagreement("collect_packet_mismatch", "the packet after collect", stated_packet, inner),
        ]
    )
    good = not any(f.rule != "packet_alignment" for f in findings)
    out = (stated_time, stated_packet) if good else (time, inner)
    return Outcome(
        findings,
        replace(stream, time=out[0], packet=out[1]),
        time.size,
        {"flits_per_packet": outer.size},
    )


def one_flit(hardware: Hardware, dtype: str, packet: Mapping) -> Finding | None:
    """A stream's packet after collect is exactly one flit."""
    flit = hardware.geometry.flit_bytes
    wanted = elements_in(dtype, flit)
    if packet.size == wanted:
        return None
    near = text(padded(packet, wanted)) if packet.size < wanted else ""
    found = f"{size_bytes(dtype, packet.size)} bytes"
    return Finding(
        "output_not_one_flit",
        f"the packet `{text(packet)}` has {found} of {dtype}, must be one flit of {flit}",
        found,
        f"{flit} bytes, {wanted} elements of {dtype}",
        near,
    )


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, mapping(case, "time"), mapping(case, "packet"))
    config = CollectConfig(mapping(case, "out_time"), mapping(case, "out_packet"))
    outcome = law(ground_of(case, hardware), stream, config)
    return judged(outcome, dict(outcome.settings))


CASES: dict[str, CaseFunction] = {"collect": _case}
