"""Sentences for the summary: what overlaps, what was gained, what is illegal and what dominates."""

from __future__ import annotations

from collections.abc import Iterator

from models.plan import Decision, Note, Plan, PlannedOp
from planner import contention, double_buffering

DOMINANT_SHARE = 0.5
"""An operation that takes more than this part of the makespan is worth a sentence."""


def of(plan: Plan) -> tuple[Note, ...]:
    """All notes of a plan, each at most once."""
    found = [
        *_overlaps(plan),
        *_staging(plan),
        *contention.notes(plan),
        *double_buffering.notes(plan),
        *_short(plan),
        *_gains(plan),
        *_illegal(plan),
        *_dominant(plan),
    ]
    return tuple(dict.fromkeys(found))


def _choices(plan: Plan) -> Iterator[tuple[str, str, Decision]]:
    seen: set[tuple[str, str]] = set()
    for op in plan.ops:
        for field, decision in op.decisions.items():
            if (op.base, field) not in seen:
                seen.add((op.base, field))
                yield op.base, field, decision


def _overlaps(plan: Plan) -> Iterator[Note]:
    """Transfers that run while a pass runs, iterations of one pass taken together."""
    for transfer in (o for o in plan.ops if o.kind == "dma"):
        together: dict[str, list[PlannedOp]] = {}
        for other in plan.ops:
            if other.kind == "pass" and _overlap(transfer, other):
                together.setdefault(other.base, []).append(other)
        for base, passes in together.items():
            cycles = sum(_overlap(transfer, p) for p in passes)
            held = " and ".join(dict.fromkeys(c for p in passes for c in p.contexts))
            times = f", {len(passes)} iterations," if passes[0].iteration else ""
            text = f"{transfer.name} overlaps {base} ({held}){times} for {cycles:,} cycles"
            yield Note(topic="overlap", text=text, cycles=cycles)


def _staging(plan: Plan) -> Iterator[Note]:
    for tensor, bases in _staged(plan).items():
        ahead = sum(_overlap(store, use) for store in bases[0] for use in bases[1] if use.iteration != store.iteration)
        if ahead > 0:
            store, use = bases[0][0].base, bases[1][0].base
            text = f"{store} fills the next {tensor} while {use} reads the current one: {ahead:,} cycles overlap"
            yield Note(topic="staging", text=text, cycles=ahead)


def _staged(plan: Plan) -> dict[str, tuple[list[PlannedOp], list[PlannedOp]]]:
    """Register tensors stored afresh in every iteration: the storing and the reading operations."""
    out: dict[str, tuple[list[PlannedOp], list[PlannedOp]]] = {}
    for op in plan.ops:
        last = plan.programs.get(op.program, ())[-1:]
        written = str(last[0].settings.get("write", "")) if last and last[0].step in ("to_trf", "to_vrf") else ""
        for tensor in op.uses if op.iteration else ():
            stores, reads = out.setdefault(tensor, ([], []))
            (stores if tensor == written else reads).append(op)
    return {tensor: both for tensor, both in out.items() if both[0] and both[1]}


def _overlap(a: PlannedOp, b: PlannedOp) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def _gains(plan: Plan) -> Iterator[Note]:
    for op, field, decision in _choices(plan):
        for other in decision.alternatives:
            if other.makespan_cycles is None or plan.makespan_cycles is None:
                continue
            lost = other.makespan_cycles - plan.makespan_cycles
            if lost > 0:
                cost = f"{other.makespan_cycles:,} cycles, {lost:,} more ({other.status})"
                text = f"{op}.{field} = {other.value} would take {cost}"
                yield Note(topic="choice", text=text, cycles=lost)


def _short(plan: Plan) -> Iterator[Note]:
    """Register stores in the short form; no difference from the pipeline is published."""
    for op, field, decision in _choices(plan):
        if field == "via" and decision.chosen == "short":
            others = [a.makespan_cycles for a in decision.alternatives if a.value == "pipeline"]
            tie = ", on a tie with the pipeline" if plan.makespan_cycles in others else ""
            yield Note(topic="short", text=f"{op} goes straight from DM into the registers, the short form{tie}")


def _illegal(plan: Plan) -> Iterator[Note]:
    for op, field, decision in _choices(plan):
        for other in decision.alternatives:
            if other.status == "illegal":
                yield Note(
                    topic="illegal",
                    text=f"{op}.{field} = {other.value} is illegal ({other.rule}): {other.message}",
                )


def _dominant(plan: Plan) -> Iterator[Note]:
    for op in plan.ops:
        if plan.makespan_cycles and op.cycles > DOMINANT_SHARE * plan.makespan_cycles:
            why = _why(plan, op)
            text = f"{op.name} takes {op.cycles:,} of {plan.makespan_cycles:,} cycles{why}"
            yield Note(topic="dominant", text=text, cycles=op.cycles)


def _why(plan: Plan, op: PlannedOp) -> str:
    stages = plan.programs.get(op.program, ())
    reasons = stages[0].settings.get("explanation", []) if stages else []
    return ": " + " ".join(reasons) if reasons else ""
