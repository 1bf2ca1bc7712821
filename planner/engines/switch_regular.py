"""The law of the regular configurations: the stated output against what the configuration makes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from models.faults import Finding
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import Mapping, text
from planner.engines.shapes import show
from planner.engines.switch_bits import same, window
from planner.engines.switch_routing import NEW, Routing
from planner.engines.switch_shapes import Shape, shape
from planner.engines.switch_slots import lowered_input, lowered_output, slot_findings, slot_source

KEEPS_TIME = ("Transpose", "Forwarding")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a configuration comes to: broken rules, the routing if there is one, the output's Time."""

    findings: tuple[Finding, ...]
    routing: Routing | None = None
    out_time: Mapping | None = None
    settings: dict[str, int] = field(default_factory=dict)


def judge_regular(config: SwitchConfig, stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> Verdict:
    """Judges a regular configuration with sound parameters; without `out_time` it gives the Time that results."""
    made = shape(config, stream)
    findings = _slice_findings(config, stream, made, out_slice)
    if out_time is not None:
        findings += _time_findings(config, made, out_time)
    time = made.out_time if out_time is None else out_time
    if findings:
        return Verdict(tuple(findings), None, time, made.settings)
    return Verdict((), _routing(stream, made, out_slice, time), time, made.settings)


def _routing(stream: Stream, made: Shape, out_slice: Mapping, out_time: Mapping) -> Routing:
    bits = lowered_output(stream, out_slice, out_time).slice
    slot = [NEW if made.from_time is not None else slot_source(bit) for bit in bits]
    sources = tuple(slot[b] if source is None else source for b, source in enumerate(made.sources))
    return Routing(sources, made.moved)


def _slice_findings(config: SwitchConfig, stream: Stream, made: Shape, out_slice: Mapping) -> list[Finding]:
    held = lowered_input(stream).slice
    out = lowered_output(stream, out_slice, made.out_time).slice
    wrong = [b for b, s in enumerate(made.sources) if s is not None and out[b] != held[s]]
    if wrong and not same(made.out_slice, out_slice):
        return [_slice_finding(config, made, out_slice)]
    slots = [b for b, s in enumerate(made.sources) if s is None]
    if made.from_time is None:
        found = slot_findings(out_slice, tuple(out[b] for b in slots), stream)
        return [replace(f, nearest=_nearest(made)) for f in found]
    stated = window(out_slice, 1 << slots[0], made.from_time.size) if slots else made.from_time
    return [] if same(stated, made.from_time) else [_slice_finding(config, made, out_slice)]


def _slice_finding(config: SwitchConfig, made: Shape, out_slice: Mapping) -> Finding:
    return Finding(
        "switch_slice_shape",
        f"{config.kind} makes another Slice than `{text(out_slice)}`",
        text(out_slice),
        show(made.out_slice) + _slots_note(made),
        _nearest(made),
    )


def _slots_note(made: Shape) -> str:
    slots = sum(s is None for s in made.sources) if made.from_time is None else 0
    return " (numbers are broadcast slots)" if slots else ""


def _nearest(made: Shape) -> str:
    return f"Slice `{show(made.out_slice)}`, Time `{show(made.out_time)}`"


def _time_findings(config: SwitchConfig, made: Shape, out_time: Mapping) -> list[Finding]:
    verdict = same(made.out_time, out_time)
    if verdict:
        return []
    rule = "transpose_keeps_time" if config.kind in KEEPS_TIME else "switch_time_shape"
    doubt = " as far as its factors tell" if verdict is None else ""
    return [
        Finding(
            rule,
            f"{config.kind} makes another Time than `{text(out_time)}`{doubt}",
            text(out_time),
            show(made.out_time),
            _nearest(made),
        )
    ]
