"""The laws of the reducers behind contract_outer: packet, time and lane (domain: section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from models.cells import LIVE
from models.factors import contiguous_walk, divide, equivalent
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream, TensorLayout
from models.mapping import ONE, Mapping, Stride, pair, text
from planner.engines import contraction_outer
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseError, CaseFunction, ground_of, judged, mapping, optional, stream_dtype
from planner.engines.contraction_outer import OuterConfig, accumulator_of, operands
from planner.engines.shapes import (
    MOST_PACKET,
    cut,
    disagreement,
    kept,
    leading,
    live_length,
    padded,
    padded_to_multiple,
    same_cells,
    small_cells,
)

INTERLEAVED, SEQUENTIAL = "interleaved", "sequential"
LANE_MODES = (INTERLEAVED, SEQUENTIAL)


def packet_law(ground: Ground, stream: Stream, out_packet: Mapping) -> Outcome:
    """A tree sums the innermost 2^d elements; what is left is a power of two of at most 32 columns."""
    most = ground.hardware.contraction.accumulator_columns
    findings: list[Finding] = []
    if out_packet.size & (out_packet.size - 1):
        findings.append(_columns("contract_packet_power", out_packet, "a power of two"))
    if out_packet.size > most:
        findings.append(_columns("contract_packet_columns", out_packet, f"at most {most}"))
    depth = None if max(stream.packet.size, out_packet.size) > MOST_PACKET else _tree_depth(stream.packet, out_packet)
    if depth is None:
        findings.append(
            Finding(
                "contract_packet_mismatch",
                f"`{text(out_packet)}` is not what a tree leaves of the innermost elements of `{text(stream.packet)}`",
                text(out_packet),
                f"`{text(stream.packet)}` / 2^d, padding alone beyond its columns",
            )
        )
    out = replace(stream, dtype=accumulator_of(stream.dtype), packet=out_packet)
    return Outcome(tuple(findings), out, stream.time.size, {"tree_depth": depth})


def _columns(rule: str, out_packet: Mapping, wanted: str) -> Finding:
    return Finding(
        rule,
        f"`{text(out_packet)}` has {out_packet.size} columns, must be {wanted}",
        str(out_packet.size),
        wanted,
    )


def _tree_depth(packet: Mapping, out_packet: Mapping) -> int | None:
    """The least depth whose sums are the out packet, padding alone beyond it."""
    depth, width = 0, 1
    while packet.size % width == 0:
        if _is_prefix(Stride(packet, width), out_packet):
            return depth
        depth, width = depth + 1, width * 2
    return None


def _is_prefix(sums: Mapping, out_packet: Mapping) -> bool:
    live = max(live_length(sums), 1)
    if live > out_packet.size:
        return False
    shared = min(sums.size, out_packet.size)
    beyond = small_cells(out_packet).kind[shared:]
    return same_cells(sums, out_packet, shared) and not bool((beyond == LIVE).any())


# Time -------------------------------------------------------------------------------------------------------


def time_law(ground: Ground, stream: Stream, out_time: Mapping) -> Outcome:
    """Out Time is Time without the summed factors; `inner_time` is how many sums run side by side."""
    del ground
    inner = inner_time(stream.time, out_time)
    findings = () if inner is not None else (_not_survivors(stream.time, out_time),)
    return Outcome(
        findings, replace(stream, time=out_time), stream.time.size, {"inner_time": inner if inner is not None else 1}
    )


def _not_survivors(time: Mapping, out_time: Mapping) -> Finding:
    return Finding(
        "contract_time_mismatch",
        f"`{text(out_time)}` is not Time `{text(time)}` without summed factors, order and padding kept",
        text(out_time),
        f"factors of `{text(time)}` in their order, with their padding",
    )


def inner_time(time: Mapping, out_time: Mapping) -> int | None:
    """Sizes of surviving factors inner to the outermost summed one, multiplied; None: no such division."""
    summed = divide(time, out_time)
    if summed is None:
        return None
    if summed.size == 1:
        return 1
    walk = contiguous_walk([summed], time)
    if not walk or any(stride == 0 for _, stride in walk):
        return out_time.size
    outermost = max(walk, key=lambda entry: entry[1])
    return outermost[1] // prod(size for size, stride in walk if stride < outermost[1])


# Lane -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """How lanes are folded: `lane` of the TRF operand, `inner_time` of contract_time, the stated result or None."""

    mode: str
    lane: Mapping
    inner_time: int
    time: Mapping | None = None
    packet: Mapping | None = None


def lane_law(ground: Ground, stream: Stream, config: LaneConfig) -> Outcome:
    """Interleaved folds lanes into the packet, Sequential into Time; steps are the out Time."""
    hardware = ground.hardware
    most = hardware.contraction.accumulator_columns
    if stream.packet.size > most:
        return Outcome((_columns("contract_packet_columns", stream.packet, f"at most {most}"),))
    times, packet = _folded(hardware, stream, config)
    time = next((t for t in times if config.time is not None and equivalent(config.time, t)), times[0])
    findings = [
        *kept(
            [
                disagreement("contract_lane_time", "Time after contract_lane", config.time or time, time),
                disagreement("contract_lane_packet", "the packet after contract_lane", config.packet or packet, packet),
            ]
        ),
        *_slots(hardware, stream, config),
    ]
    settings = {
        "mode": config.mode,
        "inner_time": config.inner_time,
        "slot_capacity": slot_capacity(hardware, stream, config),
    }
    out = replace(stream, time=time, packet=packet)
    if config.time is not None and not findings:
        out = replace(out, time=config.time, packet=config.packet or packet)
    return Outcome(tuple(findings), out, time.size, settings)


def _folded(hardware: Hardware, stream: Stream, config: LaneConfig) -> tuple[list[Mapping], Mapping]:
    """Times that the mode may give, the usual one first, and its packet."""
    columns = hardware.contraction.out_columns
    if config.mode == INTERLEAVED:
        bare = leading(stream.packet, max(live_length(stream.packet), 1))
        times = [pair(stream.time, stream.packet), pair(stream.time, bare)]
        return times, padded(config.lane, columns)
    whole = padded_to_multiple(stream.packet, columns)
    outer, inner = cut(whole, columns)
    return [pair(stream.time, config.lane, outer)], inner


def slot_capacity(hardware: Hardware, stream: Stream, config: LaneConfig) -> int:
    """Time slots that the accumulator offers in a mode."""
    unit = hardware.contraction
    if config.mode == INTERLEAVED:
        return unit.interleaved_slots // stream.packet.size
    return unit.sequential_slots // config.lane.size


def _slots(hardware: Hardware, stream: Stream, config: LaneConfig) -> list[Finding]:
    unit = hardware.contraction
    capacity = slot_capacity(hardware, stream, config)
    lanes, columns = config.lane.size, stream.packet.size
    if config.mode == INTERLEAVED:
        cells = max(lanes, hardware.geometry.lanes_per_slice) * config.inner_time * columns
    else:
        cells = lanes * config.inner_time * max(columns, unit.accumulator_columns)
    if config.inner_time <= capacity and cells <= unit.accumulator_cells:
        return []
    return [
        Finding(
            "slot_capacity",
            f"{config.inner_time} sums run side by side, {config.mode} has slots for {capacity}: {cells} cells of"
            f" {unit.accumulator_cells}",
            f"inner Time {config.inner_time}",
            f"at most {capacity}",
            f"the outermost summed factor moved inwards until {capacity} steps are inside of it",
        )
    ]


# Case files -------------------------------------------------------------------------------------------------


def _stream(case: dict[str, Any], *, time: str = "", packet: str = "", dtype: str = "f32") -> Stream:
    return Stream(dtype, ONE, ONE, ONE, mapping(case, time) if time else ONE, mapping(case, packet) if packet else ONE)


def _operands_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    del hardware
    accumulator, finding = operands(stream_dtype(case), stream_dtype(case, "weight_dtype"))
    fields = {"accumulator": accumulator} if accumulator else {}
    return judged(Outcome(kept([finding])), fields)


def _outer_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    dtype = stream_dtype(case)
    weight = stream_dtype(case, "weight_dtype") if "weight_dtype" in case else dtype
    trf = TensorLayout("the TRF tensor", "trf", weight, mapping(case, "trf_element"), lane=mapping(case, "lane"))
    stream = _stream(case, time="time", packet="packet", dtype=dtype)
    config = OuterConfig(mapping(case, "out_time"), mapping(case, "out_packet"))
    outcome = contraction_outer.law(ground_of(case, hardware), stream, trf, config)
    return judged(outcome, {"pack_size": outcome.settings["pack_size"]})


def _packet_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = _stream(case, packet="packet", dtype=stream_dtype(case))
    outcome = packet_law(ground_of(case, hardware), stream, mapping(case, "out_packet"))
    flits = kept([contraction_outer.packet_flits(hardware, stream.dtype, stream.packet)])
    return judged(replace(outcome, findings=(*flits, *outcome.findings)), dict(outcome.settings))


def _time_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    outcome = time_law(ground_of(case, hardware), _stream(case, time="time"), mapping(case, "out_time"))
    return judged(outcome, dict(outcome.settings))


def _lane_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = _stream(case, time="time", packet="packet")
    before = optional(case, "pre_reduce_time") or stream.time
    inner = inner_time(before, stream.time)
    extra = () if inner is not None else (_not_survivors(before, stream.time),)
    mode = str(case.get("mode", "")).lower()
    if mode not in LANE_MODES:
        raise CaseError(f"case {case.get('id', '?')}: `mode` must be one of {', '.join(LANE_MODES)}")
    config = LaneConfig(
        mode,
        mapping(case, "lane"),
        1 if inner is None else inner,
        mapping(case, "out_time"),
        mapping(case, "out_packet"),
    )
    outcome = lane_law(ground_of(case, hardware), stream, config)
    fields = {k: v for k, v in outcome.settings.items() if k != "mode"}
    return judged(replace(outcome, findings=(*extra, *outcome.findings)), fields)


CASES: dict[str, CaseFunction] = {
    "multiplier_operands": _operands_case,
    "contract_outer": _outer_case,
    "contract_packet": _packet_case,
    "contract_time": _time_case,
    "contract_lane": _lane_case,
}
