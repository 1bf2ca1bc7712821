"""The laws of stores into the register files: to_trf and to_vrf, by the pipeline or in short (domain: section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.faults import Finding
from models.graph import region_rows
from models.hardware import Hardware
from models.layout import Stream, TensorLayout
from models.mapping import ONE, Mapping, Stride, pair, text
from planner.engines import trf_placement
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, optional, stream_dtype
from planner.engines.collect import one_flit
from planner.engines.shapes import broken_promises, cut, disagreement, kept, size_bytes

TRF_DTYPES = ("i4", "i5", "i8", "i9", "f8e4m3", "f8e5m2", "bf16")
"""Types that a TRF row can hold (domain: section 2, elements per row)."""
VRF_DTYPES = ("i32", "f32")
HALVES = ("first_half", "second_half")


@dataclass(frozen=True, slots=True)
class TrfConfig:
    """A store into the TRF: the stated Lane and Element; `region` is `auto` or an address mode."""

    write: str
    lane: Mapping
    element: Mapping
    region: str = "auto"
    via: str = "pipeline"


@dataclass(frozen=True, slots=True)
class VrfConfig:
    """A store into the VRF."""

    write: str
    element: Mapping
    via: str = "pipeline"


def to_trf(ground: Ground, stream: Stream, config: TrfConfig) -> Outcome:
    """Lane = Time / FlitsPerLane, Element = [Time % FlitsPerLane, Packet]; what it takes of the file.

    Settings: flits_per_lane, lanes, rows_per_bank (as a lane sees them), rows (physical ones), total_bytes, fits_half,
    regions (address modes it fits).
    """
    hardware = ground.hardware
    lanes, findings = config.lane.size, list(kept([lane_size(hardware, config.lane)]))
    findings += kept([_dtype("trf_dtype", "TRF", stream.dtype, TRF_DTYPES)])
    findings += kept([one_flit(hardware, stream.dtype, stream.packet)])
    if stream.time.size % lanes:
        findings.append(_not_outer(stream.time, config.lane))
        return Outcome(
            tuple(findings), None, 0, _trf_settings(config, stream.dtype, -(-stream.time.size // lanes), hardware)
        )
    flits = stream.time.size // lanes
    _, inner = cut(stream.time, flits)
    wanted = pair(inner, stream.packet)
    findings += kept(
        [
            disagreement("lane_mismatch", "Lane", config.lane, Stride(stream.time, flits)),
            disagreement("element_mismatch", "Element", config.element, wanted),
            broken_promises("register_padding_kind", "Element", [stream.time, stream.packet], config.element),
        ]
    )
    settings = _trf_settings(config, stream.dtype, flits, hardware)
    findings += kept([_capacity(config, settings, hardware)])
    return Outcome(tuple(findings), stream, stream.time.size, settings)


def lane_size(hardware: Hardware, lane: Mapping) -> Finding | None:
    """Lanes are 1, 2, 4 or 8."""
    most = hardware.geometry.lanes_per_slice
    legal = [n for n in range(1, most + 1) if most % n == 0]
    if lane.size in legal:
        return None
    near = max((n for n in legal if n < lane.size), default=1)
    wanted = ", ".join(map(str, legal))
    return Finding(
        "lane_size",
        f"Lane `{text(lane)}` has size {lane.size}, must be one of {wanted}",
        str(lane.size),
        wanted,
        str(next((n for n in legal if n > lane.size), near)),
    )


def _not_outer(time: Mapping, lane: Mapping) -> Finding:
    return Finding(
        "lane_mismatch",
        f"Lane `{text(lane)}` of {lane.size} is no outer part of Time `{text(time)}` of {time.size} steps",
        text(lane),
        f"an outer part of `{text(time)}`, its size a divisor of {time.size}",
    )


def _dtype(rule: str, file: str, dtype: str, legal: Sequence[str]) -> Finding | None:
    if dtype in legal:
        return None
    wanted = ", ".join(legal)
    return Finding(rule, f"the {file} cannot hold {dtype}, only {wanted}", dtype, f"one of {wanted}")


def _trf_settings(config: TrfConfig, dtype: str, flits: int, hardware: Hardware) -> dict[str, Any]:
    found = trf_placement.footprint(hardware, dtype, config.lane.size, flits)
    regions = [r for r in found.regions if config.region in ("auto", r)]
    stated = {"write": config.write, "lane": text(config.lane), "element": text(config.element)}
    return stated | trf_placement.settings(found) | {"regions": regions, "via": config.via}


def _capacity(config: TrfConfig, settings: dict[str, Any], hardware: Hardware) -> Finding | None:
    low, high = region_rows("full" if config.region == "auto" else config.region, hardware.trf.rows_per_bank)
    limit = high - low
    rows = settings["rows"]
    if rows <= limit:
        return None
    where = "the TRF" if config.region in ("auto", "full") else f"the {config.region} of the TRF"
    return Finding(
        "exceeds_capacity",
        f"{config.write} takes {rows} rows per bank, {rows - limit} more than {where} has",
        f"{rows} rows, {settings['total_bytes']} bytes",
        f"at most {limit} rows per bank",
        "full" if config.region in HALVES and rows <= hardware.trf.rows_per_bank else "",
    )


def to_vrf(ground: Ground, stream: Stream, config: VrfConfig) -> Outcome:
    """Element = [Time, Packet], i32 or f32, at most 8 KB per slice."""
    limit = ground.hardware.vrf.bytes_per_slice
    size = size_bytes(stream.dtype, config.element.size)
    findings = kept(
        [
            _dtype("vrf_dtype", "VRF", stream.dtype, VRF_DTYPES),
            disagreement("element_mismatch", "Element", config.element, pair(stream.time, stream.packet)),
            broken_promises("register_padding_kind", "Element", [stream.time, stream.packet], config.element),
            _vrf_capacity(config.write, size, limit),
        ]
    )
    settings = {"write": config.write, "element": text(config.element), "bytes": size, "via": config.via}
    return Outcome(findings, stream, stream.time.size, settings)


def _vrf_capacity(name: str, size: int, limit: int) -> Finding | None:
    if size <= limit:
        return None
    return Finding(
        "exceeds_capacity",
        f"{name or 'the tensor'} takes {size} bytes of a slice's VRF, {size - limit} more than it has",
        f"{size} bytes",
        f"at most {limit} bytes",
    )


def short_form(steps: Sequence[str], fetch: Outcome, packet_bytes: int, flit_bytes: int) -> Finding | None:
    """What stops a short store: it wants a bare fetch and collect, and a fully contiguous access.

    `steps` are the steps of the pass in order, `packet_bytes` the size of the fetched packet.
    """
    entries = [tuple(e) for e in (*fetch.settings["time_entries"], *fetch.settings["packet_entries"])]
    between = [s for s in steps if s not in ("fetch", "collect", "to_trf", "to_vrf")]
    merged = fetch.settings["entries"]
    if not between and len(merged) == 1 and (not entries or merged[0].endswith(":1")):
        if packet_bytes % flit_bytes == 0:
            return None
        found = f"packets of {packet_bytes} bytes, which collect pads"
    else:
        found = f"entries {', '.join(merged)}" + (f" and {', '.join(between)}" if between else "")
    return Finding(
        "short_not_contiguous",
        f"a short store reads DM straight through, this access has {found}",
        found,
        "one entry of stride 1, whole flits, and nothing between fetch and collect",
        "pipeline",
    )


def trf_layout(stream: Stream, config: TrfConfig) -> TensorLayout:
    """The tensor that a store into the TRF creates."""
    return TensorLayout(
        config.write,
        "trf",
        stream.dtype,
        config.element,
        stream.chip,
        stream.cluster,
        stream.slice,
        config.lane,
    )


def vrf_layout(stream: Stream, config: VrfConfig) -> TensorLayout:
    """The tensor that a store into the VRF creates."""
    return TensorLayout(config.write, "vrf", stream.dtype, config.element, stream.chip, stream.cluster, stream.slice)


def _trf_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, mapping(case, "time"), mapping(case, "packet"))
    config = TrfConfig("the tensor", mapping(case, "lane"), mapping(case, "element"))
    outcome = to_trf(ground_of(case, hardware), stream, config)
    fields = ("flits_per_lane", "rows_per_bank", "total_bytes", "fits_half")
    return judged(outcome, {k: outcome.settings[k] for k in fields})


def _vrf_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    element = mapping(case, "element")
    time, packet = optional(case, "time"), optional(case, "packet")
    whole = pair(time or ONE, packet or ONE) if time or packet else element
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, whole, ONE)
    outcome = to_vrf(ground_of(case, hardware), stream, VrfConfig("", element))
    return judged(outcome, {"bytes": outcome.settings["bytes"]})


CASES: dict[str, CaseFunction] = {"to_trf": _trf_case, "to_vrf": _vrf_case}
