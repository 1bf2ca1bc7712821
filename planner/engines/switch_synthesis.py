"""How do I get from here to there: every single configuration, pairs of passes, axis lifting, a transfer."""

from __future__ import annotations

from dataclasses import dataclass

from models.faults import Finding
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, axis_names
from planner.engines import dma
from planner.engines import switch_cost as cost
from planner.engines.base import Ground
from planner.engines.switch import size_findings
from planner.engines.switch_bits import cut_window, joined, lowered
from planner.engines.switch_compose import compositions
from planner.engines.switch_content import content, natural_time
from planner.engines.switch_lifting import lifted_time
from planner.engines.switch_moves import moves, reasons
from planner.engines.switch_options import Option, of_candidate, rank
from planner.engines.switch_slots import held_names, lowered_input, lowered_output, slot_findings


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Every legal way, cheapest pass_cycles first, then fewest contexts held; for the other kinds what stops them."""

    options: tuple[Option, ...]
    reasons: dict[str, Finding]


def synthesise(ground: Ground, stream: Stream, out_slice: Mapping, out_time: Mapping | None = None) -> Synthesis:
    """Finds every way from a stream to a Slice and, where it is given, a Time."""
    if size_findings(ground.hardware, stream, out_slice):
        return Synthesis((), reasons(ground, stream, out_slice, out_time))
    found = moves(ground, stream, out_slice, out_time)
    stopped = reasons(ground, stream, out_slice, out_time, found)
    single = [of_candidate(ground, stream, c) for c in found]
    best = min((o.pass_cycles for o in single), default=None)
    others = [
        *compositions(ground, stream, out_slice, out_time, best),
        *_lifting(ground, stream, out_slice, out_time),
        *_transfer(ground, stream, out_slice, out_time),
    ]
    return Synthesis(tuple(sorted([*single, *others], key=rank)), stopped)


def forget() -> None:
    """Forgets every remembered result, for measurements."""
    for cached in (lowered, cut_window, slot_findings):
        cached.cache_clear()


def _lifting(ground: Ground, stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> list[Option]:
    """Axis lifting: slices that hold copies read at offsets of their own, and the digit leaves Time."""
    time = lifted_time(stream, out_slice, out_time)
    if time is None:
        return []
    flits = cost.flits_per_packet(ground.hardware, stream.dtype, stream.packet)
    return [
        Option(
            "AxisLifting",
            "AxisLifting",
            cost.pass_cycles(ground.hardware, time.size * flits),
            0,
            out_slice,
            time,
            frozenset({ground.context}),
            note="the fetch reads at another offset in every slice; no ring",
        )
    ]


def _holds_the_same(stream: Stream, out_slice: Mapping, out_time: Mapping) -> bool:
    """Whether the output holds what the input does, and nothing else but broadcasts over new axes."""
    known = held_names(stream)
    out = lowered_output(stream, out_slice, out_time)
    new = [b for b in out.slice if b.base is not None and not axis_names(b.base) & known]
    return content(lowered_input(stream)) == content(out, new)


def _transfer(ground: Ground, stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> list[Option]:
    """A copy from DM to DM by the DMA engines, which reaches every layout."""
    time = natural_time(stream, out_slice) if out_time is None else out_time
    if time is None or not _holds_the_same(stream, out_slice, time):
        return []
    source = TensorLayout(
        "in", "dm", stream.dtype, joined(stream.time, stream.packet), stream.chip, stream.cluster, stream.slice
    )
    target = TensorLayout(
        "out", "dm", stream.dtype, joined(time, stream.packet), stream.chip, stream.cluster, out_slice
    )
    found = dma.law(ground, source, target)
    if not found.ok:
        return []
    note = "a copy in DM by the book, uncalibrated"
    return [Option("Dma", "Dma", found.steps, found.steps, out_slice, time, frozenset({"dma"}), note=note)]
