"""The vector engine's laws that change a stream's shape: narrowing, widening and pairs (domain: section 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.factors import divide
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Axis, Mapping, Pad, pair, terms, text
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping
from planner.engines.shapes import cut, disagreement, kept, leading, live_length, padded

PAIR = 2


def narrow_split(ground: Ground, stream: Stream, time: Mapping, packet: Mapping) -> Outcome:
    """8 to 4 ways, both halves kept: the halves follow each other in Time."""
    wide, narrow = _ways(ground)
    fault = packet_ways(stream.packet, wide)
    if fault is not None:
        return Outcome((fault,), replace(stream, time=time, packet=packet))
    outer, inner = cut(stream.packet, narrow)
    return _reshaped(stream, "narrow_split_mismatch", time, pair(stream.time, outer), packet, inner)


def widen_concat(ground: Ground, stream: Stream, time: Mapping, packet: Mapping) -> Outcome:
    """4 to 8 ways: two neighbouring steps make one packet."""
    wide, narrow = _ways(ground)
    fault = packet_ways(stream.packet, narrow)
    halves = wide // narrow
    if fault is None and stream.time.size % halves:
        fault = Finding(
            "widen_concat_mismatch",
            f"Time `{text(stream.time)}` has {stream.time.size} steps, no pairs to join",
            str(stream.time.size),
            f"a multiple of {halves}",
        )
    if fault is not None:
        return Outcome((fault,), replace(stream, time=time, packet=packet))
    outer, inner = cut(stream.time, halves)
    return _reshaped(stream, "widen_concat_mismatch", time, outer, packet, pair(inner, stream.packet))


def narrow_trim(ground: Ground, stream: Stream, packet: Mapping) -> Outcome:
    """8 to 4 ways, the first four kept: the others must be padding."""
    wide, narrow = _ways(ground)
    findings = list(kept([packet_ways(stream.packet, wide)]))
    if not findings and live_length(stream.packet) > narrow:
        findings.append(
            Finding(
                "narrow_trim_live",
                f"`{text(stream.packet)}` has live elements beyond the first {narrow}",
                f"{live_length(stream.packet)} live",
                f"at most {narrow}, or narrow_split",
                "narrow_split",
            )
        )
    if not findings:
        wanted = leading(stream.packet, narrow)
        findings += kept([disagreement("narrow_trim_mismatch", "the packet after narrow_trim", packet, wanted)])
    return Outcome(tuple(findings), replace(stream, packet=packet), stream.time.size)


def widen_pad(ground: Ground, stream: Stream, packet: Mapping) -> Outcome:
    """4 to 8 ways: four padding elements follow."""
    wide, narrow = _ways(ground)
    findings = list(kept([packet_ways(stream.packet, narrow)]))
    if not findings:
        wanted = padded(stream.packet, wide)
        findings += kept([disagreement("widen_pad_mismatch", "the packet after widen_pad", packet, wanted)])
    return Outcome(tuple(findings), replace(stream, packet=packet), stream.time.size)


def packet_ways(packet: Mapping, ways: int) -> Finding | None:
    """An op of so many ways takes a packet of so many elements."""
    if packet.size == ways:
        return None
    return Finding(
        "vector_ways",
        f"the packet `{text(packet)}` has {packet.size} elements where the op works on {ways} ways",
        str(packet.size),
        str(ways),
        "narrow_split or narrow_trim before it" if packet.size > ways else "widen_concat or widen_pad before it",
    )


def unzip(
    stream: Stream, axis: str | None, size: int, tile_time: Mapping | None, split_time: Mapping | None
) -> Outcome:
    """Splits Time along a 2-way axis into two groups; what flows on is one group's Time."""
    named = Axis(axis or "", size)
    if size != PAIR or named not in terms(stream.time):
        fault = Finding(
            "unzip_axis",
            f"unzip wants an axis of size 2 that stands in Time `{text(stream.time)}`, not {axis} of size {size}",
            f"{axis}: {size}",
            "a term of Time of size 2",
        )
        return Outcome((fault,), stream, stream.time.size)
    left = divide(stream.time, named) or stream.time
    tiled = pair(*(Pad(ONE, PAIR) if t == named else t for t in terms(stream.time)))
    findings = kept(
        [
            None if split_time is None else disagreement("unzip_time", "split_time", split_time, left),
            None if tile_time is None else disagreement("unzip_time", "tile_time", tile_time, tiled),
        ]
    )
    return Outcome(findings, replace(stream, time=split_time or left), stream.time.size)


def _ways(ground: Ground) -> tuple[int, int]:
    return ground.hardware.vector.ways_wide, ground.hardware.vector.ways_narrow


def _reshaped(
    stream: Stream, rule: str, time: Mapping, wanted_time: Mapping, packet: Mapping, wanted_packet: Mapping
) -> Outcome:
    name = rule.removesuffix("_mismatch")
    findings = kept(
        [
            disagreement(rule, f"Time after {name}", time, wanted_time),
            disagreement(rule, f"the packet after {name}", packet, wanted_packet),
        ]
    )
    steps = max(stream.time.size, wanted_time.size)
    return Outcome(findings, replace(stream, time=time, packet=packet), steps)


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    name = case["engine"].removeprefix("vector_")
    ground = ground_of(case, hardware)
    packet, out_packet = mapping(case, "packet"), mapping(case, "out_packet")
    if name in ("narrow_trim", "widen_pad"):
        stream = Stream("f32", ONE, ONE, ONE, ONE, packet)
        law = narrow_trim if name == "narrow_trim" else widen_pad
        return judged(law(ground, stream, out_packet), {})
    stream = Stream("f32", ONE, ONE, ONE, mapping(case, "time"), packet)
    reshape = narrow_split if name == "narrow_split" else widen_concat
    return judged(reshape(ground, stream, mapping(case, "out_time"), out_packet), {})


CASES: dict[str, CaseFunction] = {
    f"vector_{name}": _case for name in ("narrow_split", "widen_concat", "narrow_trim", "widen_pad")
}
