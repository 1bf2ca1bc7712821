"""Switch Engine: moves data between slices over the ring of routers (domain: section 5, seed 001)."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from models.faults import Finding
from models.hardware import Hardware
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import ONE, Mapping, axis_names, text
from planner.engines import switch_cost as cost
from planner.engines.base import Ground, Outcome
from planner.engines.cases import Case, CaseFunction, judged, mapping, optional, stream_dtype
from planner.engines.switch_bits import log2
from planner.engines.switch_custom import judge_custom
from planner.engines.switch_regular import Verdict, judge_regular
from planner.engines.switch_routing import Routing, derived_bitmap, derived_ring, full_bitmap
from planner.engines.switch_shapes import TAKES, parameter_findings
from planner.engines.switch_slots import held_names

KINDS = tuple(TAKES)


def law(ground: Ground, stream: Stream, out_slice: Mapping, out_time: Mapping | None, config: SwitchConfig) -> Outcome:
    """Judges one configuration: `stream` in, Slice `out_slice` and Time `out_time` out.

    Without `out_time` the Time that the configuration gives by itself is taken. The settings are those of the plan's
    stage and of case files; `cycles` is the book's number, `Outcome.steps` the count for the pass.
    """
    findings = size_findings(ground.hardware, stream, out_slice) or parameter_findings(config, stream, ground.hardware)
    if findings:
        return Outcome(tuple(findings))
    judge = judge_custom if config.kind == "CustomBroadcast" else judge_regular
    verdict = judge(config, stream, out_slice, out_time)
    findings = [*verdict.findings, *_missing(stream, out_time)]
    if findings or verdict.routing is None or verdict.out_time is None:
        return Outcome(tuple(findings))
    return outcome(ground, stream, out_slice, config, verdict)


def size_findings(hardware: Hardware, stream: Stream, out_slice: Mapping) -> list[Finding]:
    """Broken rules about the number of slices."""
    size, geometry = stream.slice.size, hardware.geometry
    if out_slice.size != size:
        return [
            Finding(
                "slice_size_mismatch",
                f"Slice `{text(out_slice)}` has {out_slice.size} slices, the input `{text(stream.slice)}` {size}",
                str(out_slice.size),
                str(size),
                _filled(out_slice, size),
            )
        ]
    if log2(size) is None or not geometry.min_slices <= size <= geometry.slices_per_cluster:
        return [
            Finding(
                "switch_slice_count",
                f"the ring cannot be cut for {size} slices",
                str(size),
                f"a power of two from {geometry.min_slices} to {geometry.slices_per_cluster}",
            )
        ]
    return []


def _filled(out_slice: Mapping, size: int) -> str:
    missing, rest = divmod(size, out_slice.size)
    return "" if rest or missing < 2 else f"`{text(out_slice)}, {missing}`"


def _missing(stream: Stream, out_time: Mapping | None) -> list[Finding]:
    """A finding where output Time names an axis that the input does not hold at all."""
    names = sorted(axis_names(out_time) - held_names(stream)) if out_time is not None else []
    if not names:
        return []
    return [
        Finding(
            "output_not_held",
            f"Time needs values along {', '.join(f'`{n}`' for n in names)}, which the input does not hold",
            text(out_time) if out_time is not None else "",
            "digits of the input's Slice and Time",
        )
    ]


def outcome(ground: Ground, stream: Stream, out_slice: Mapping, config: SwitchConfig, verdict: Verdict) -> Outcome:
    """The outcome of a legal configuration: the stream that leaves, steps and derived numbers."""
    assert verdict.routing is not None
    assert verdict.out_time is not None
    routing, hardware, time = verdict.routing, ground.hardware, stream.time.size
    ring = ring_size(config, routing)
    flits = cost.flits_per_packet(hardware, stream.dtype, stream.packet)
    counted = cost.counted_time(time, verdict.out_time.size, routing.is_partial)
    pattern, period = derived_bitmap(routing, ring)
    settings: dict[str, Any] = {
        "config": config.model_dump(exclude_none=True),
        "ring_size": ring,
        "slice2": stream.slice.size // ring,
        **verdict.settings,
        "flits_per_packet": flits,
        "cycles": cost.defined_cycles(ring, counted, flits),
        "occupies": cost.occupies(config.kind, ground.context),
        "bitmap": {"pattern": pattern, "period": period},
    }
    out = Stream(stream.dtype, stream.chip, stream.cluster, out_slice, verdict.out_time, stream.packet)
    return Outcome((), out, cost.pass_steps(hardware, config.kind, ring, time, flits), settings)


def ring_size(config: SwitchConfig, routing: Routing) -> int:
    """Slices of one sub-ring: slice1 x slice0, or what a custom configuration needs."""
    if config.kind == "CustomBroadcast":
        return derived_ring(routing)
    return (config.slice1 or 1) * (config.slice0 or 1)


def _case(case: Case, hardware: Hardware) -> Case:
    """Judges a case of a case file; the bitmap is given in full: output slice to input slices."""
    stream = Stream(
        stream_dtype(case),
        optional(case, "chip") or ONE,
        optional(case, "cluster") or ONE,
        mapping(case, "in_slice"),
        mapping(case, "in_time"),
        mapping(case, "packet"),
    )
    try:
        config = SwitchConfig.model_validate(case.get("config"))
    except ValidationError as error:
        return judged(Outcome((_bad_config(error),)), {})
    ground = Ground(hardware, case["axes"])
    result = law(ground, stream, mapping(case, "out_slice"), optional(case, "out_time"), config)
    fields = {k: v for k, v in result.settings.items() if k not in ("config", "bitmap")}
    if result.ok:
        bitmap = result.settings["bitmap"]
        fields["bitmap"] = full_bitmap(bitmap["pattern"], bitmap["period"], stream.slice.size)
    return judged(result, fields)


def _bad_config(error: ValidationError) -> Finding:
    first = error.errors()[0]
    return Finding(
        "switch_parameters",
        f"config: {'.'.join(map(str, first['loc']))}: {first['msg']}",
        str(first.get("input"))[:80],
        f"one of {', '.join(KINDS)} with its parameters",
    )


CASES: dict[str, CaseFunction] = {"switch": _case}
