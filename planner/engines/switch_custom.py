"""The law of CustomBroadcast: seven rules, the derived ring size (domain: section 5, seed 001 constraints)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.factors import divide
from models.faults import Finding
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import Mapping, axis_names, text
from planner.engines.shapes import show
from planner.engines.switch_bits import FREE_BIT, Bit, bit_mapping, joined, log2, same, window
from planner.engines.switch_moved import Leaving, Match, leaving, match, shortest
from planner.engines.switch_regular import Verdict
from planner.engines.switch_routing import NEW, Routing, derived_ring
from planner.engines.switch_slots import (
    lowered_input,
    lowered_output,
    slot_findings,
    slot_source,
    used_twice,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the Slice mappings alone settle: a source per output bit, and what leaves Slice, outermost first."""

    sources: tuple[int, ...]
    out_slice: Mapping
    leaving: tuple[Leaving, ...]
    findings: tuple[Finding, ...]

    def shortest_time(self, in_time: Mapping) -> Mapping:
        """The output Time with as few moved steps as the rules allow."""
        return joined(in_time, *(shortest(item) for item in self.leaving))

    def nearest(self, in_time: Mapping) -> str:
        """The nearest legal output as text."""
        return f"Slice `{show(self.out_slice)}`, Time `{show(self.shortest_time(in_time))}`"


def plan_slices(stream: Stream, out_slice: Mapping, out_time: Mapping | None = None) -> Plan:
    """Finds every digit of the output Slice in the input Slice; the rest are broadcast slots."""
    held = lowered_input(stream).slice
    out = lowered_output(stream, out_slice, stream.time if out_time is None else out_time).slice
    where = {(bit.base, bit.stride): b for b, bit in enumerate(held) if bit.base is not None}
    sources: list[int] = []
    slots: list[Bit] = []
    twice: dict[Mapping, Finding] = {}
    for bit in out:
        source = where.get((bit.base, bit.stride), NEW) if bit.base is not None else slot_source(bit)
        if source >= 0 and source in sources and bit.base is not None:
            twice[bit.base] = used_twice(bit.base)
        if bit.base is None or source < 0:
            slots.append(bit)
        sources.append(source)
    unused = [b for b in range(len(held)) if b not in sources]
    plan = Plan(tuple(sources), _with_free_slots(held, out, sources), tuple(leaving(held, unused)), ())
    found = [*slot_findings(out_slice, tuple(slots), stream), *twice.values()]
    nearest = plan.nearest(stream.time) if found else ""
    return replace(plan, findings=tuple(replace(f, nearest=nearest) for f in found))


def _with_free_slots(held: Sequence[Bit], out: Sequence[Bit], sources: Sequence[int]) -> Mapping:
    """The output Slice with a number in every place that the input Slice does not fill, each digit once."""
    first = [source >= 0 and source not in sources[b + 1 :] for b, source in enumerate(sources)]
    slots = [bit if bit.is_slot else FREE_BIT for bit in out]
    return bit_mapping([held[s] if fed else slot for s, fed, slot in zip(sources, first, slots, strict=True)])


def judge_custom(config: SwitchConfig, stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> Verdict:
    """Judges a custom configuration; without `out_time` as few values as possible move."""
    plan = plan_slices(stream, out_slice, out_time)
    time = plan.shortest_time(stream.time) if out_time is None else out_time
    findings = list(plan.findings)
    routing = _route(stream, plan, out_slice, time, findings)
    findings += _ring_findings(config, routing)
    return Verdict(tuple(findings), None if findings else routing, time)


def route_custom(stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> tuple[Routing, Mapping] | None:
    """The routing and output Time of the custom configuration that fits, with the ring size left to derive."""
    plan = plan_slices(stream, out_slice, out_time)
    time = plan.shortest_time(stream.time) if out_time is None else out_time
    findings = list(plan.findings)
    routing = _route(stream, plan, out_slice, time, findings)
    return None if findings or routing is None else (routing, time)


def _route(
    stream: Stream, plan: Plan, out_slice: Mapping, out_time: Mapping, findings: list[Finding]
) -> Routing | None:
    steps, rest = divmod(out_time.size, stream.time.size)
    if rest or not same(window(out_time, steps, stream.time.size), stream.time):
        findings.append(_time_finding(stream, plan, out_time))
        return None
    inner = lowered_output(stream, out_slice, out_time).inner_time(steps)
    if inner is None:
        findings.append(_time_finding(stream, plan, out_time))
        return None
    found = match(plan.leaving, inner)
    findings += _match_findings(stream, plan, found, out_time)
    return Routing(plan.sources, found.moved, found.own) if not found.rest else None


def _time_finding(stream: Stream, plan: Plan, out_time: Mapping) -> Finding:
    nearest = plan.nearest(stream.time)
    left = divide(out_time, stream.time)
    names = {n for item in plan.leaving for n in axis_names(item.mapping)}
    if left is not None and left.size > 1 and axis_names(left) <= names:
        return Finding(
            "moved_not_innermost",
            f"`{text(left)}` moves from Slice to Time but does not stand innermost in `{text(out_time)}`",
            text(out_time),
            "the input Time, then what moves",
            nearest,
        )
    return Finding(
        "custom_time_not_kept",
        f"a custom configuration carries Time `{text(stream.time)}` unchanged, `{text(out_time)}` does not",
        text(out_time),
        f"`{text(stream.time)}`, then what moves",
        nearest,
    )


def _match_findings(stream: Stream, plan: Plan, found: Match, out_time: Mapping) -> list[Finding]:
    nearest = plan.nearest(stream.time)
    if found.late is not None:
        order = ", ".join(text(item.mapping) for item in plan.leaving)
        return [
            Finding(
                "moved_order_not_preserved",
                f"`{text(found.late.mapping)}` moves to Time out of its order in Slice",
                text(out_time),
                f"the order `{order}`",
                nearest,
            )
        ]
    if found.lost is not None:
        return [
            Finding(
                "dropped_live_values",
                f"live values of `{text(found.lost.mapping)}` leave Slice `{text(stream.slice)}` and reach no Time",
                text(out_time),
                f"at least `{text(shortest(found.lost))}` in Time",
                nearest,
            )
        ]
    if found.rest:
        return [
            Finding(
                "output_not_held",
                f"Time `{text(out_time)}` needs values that do not leave Slice `{text(stream.slice)}`",
                text(out_time),
                "the input Time, then what leaves Slice",
                nearest,
            )
        ]
    return []


def _ring_findings(config: SwitchConfig, routing: Routing | None) -> list[Finding]:
    ring = config.ring_size or 0
    derived = None if routing is None else derived_ring(routing)
    nearest = "" if derived is None else str(derived)
    if log2(ring) is None:
        return [
            Finding(
                "ring_size_not_power_of_two",
                f"ring size {ring} is no power of two",
                str(ring),
                "a power of two",
                nearest,
            )
        ]
    if derived is None or ring == derived:
        return []
    return [
        Finding(
            "ring_size_mismatch",
            f"ring size {ring}, but the mappings need sub-rings of {derived} slices",
            str(ring),
            str(derived),
            nearest,
        )
    ]
