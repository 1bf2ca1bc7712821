"""A plan as people read it: status, operations, choices, memory, timeline, notes, verification."""

from __future__ import annotations

from collections.abc import Sequence

from cli.render import picture_width, styled, table, verdict_style
from cli.render_chain import chain
from cli.render_timeline import ASCII, BLOCKS, timeline
from cli.talk import can_print
from models.plan import Alternative, MemoryEntry, Plan, PlannedOp, Values, Verification

MOST_ROWS, MOST_NOTES = 60, 20
"""A table shows so many operations or memory entries, and so many notes of one topic; the plan file has all."""
_IN_CHOICES = frozenset({"choice", "illegal"})
_STOPPED = {
    "proof": "proved",
    "time_limit": "stopped by the time limit",
    "local_optimum": "stopped where no part of the plan got shorter",
    "interrupt": "stopped by an interrupt",
}


def summary(plan: Plan) -> str:
    """The whole summary, sections apart by an empty line."""
    glyphs = BLOCKS if can_print("".join(BLOCKS.fills) + BLOCKS.idle + BLOCKS.line + BLOCKS.tick) else ASCII
    parts = (
        status_line(plan),
        operations(plan),
        timeline(plan, picture_width(), glyphs),
        chain(plan),
        choices(plan),
        memory(plan),
        notes(plan),
        "\n".join(plan.warnings),
        verdict(plan.verification) if plan.verification else "not verified",
    )
    return "\n\n".join(part for part in parts if part)


def status_line(plan: Plan) -> str:
    """`gemm: optimal, bound = makespan = 12,345 cycles (proved)`, or how far apart they are."""
    head = f"{plan.kernel.kernel}: {plan.status}"
    if plan.makespan_cycles is None:
        bound = "" if plan.lower_bound_cycles is None else f", no plan takes under {plan.lower_bound_cycles:,} cycles"
        return styled(f"{head}{bound} ({_STOPPED[plan.stopped_by]})", verdict_style(ok=False))
    if plan.makespan_cycles == plan.lower_bound_cycles:
        text = f"{head}, bound = makespan = {plan.makespan_cycles:,} cycles"
    else:
        bound = "unknown" if plan.lower_bound_cycles is None else f"{plan.lower_bound_cycles:,}"
        gap = "" if plan.gap is None else f", gap {plan.gap:.2%}"
        text = f"{head}, makespan {plan.makespan_cycles:,} cycles, bound {bound}{gap}"
    solver = f"seed {plan.solver.seed}, {plan.solver.workers} worker{'s' if plan.solver.workers > 1 else ''}"
    return styled(f"{text} ({_STOPPED[plan.stopped_by]}; {solver})", "bold")


def operations(plan: Plan) -> str:
    """The table of operations in order of their start."""
    rows = [
        (op.name, " + ".join(op.contexts), f"{op.start:,}", f"{op.end:,}", f"{op.cycles:,}", _decided(op))
        for op in plan.ops
    ]
    return _long_table(("operation", "holds", "start", "end", "cycles", "decisions"), rows, (2, 3, 4))


def _decided(op: PlannedOp) -> str:
    return ", ".join(f"{field} {decision.chosen}" for field, decision in op.decisions.items())


def choices(plan: Plan) -> str:
    """What was chosen where something else was possible or conceivable, and what that would have cost."""
    rows = [
        (f"{base}.{field}", " and ".join(chosen), other.value, _price(other, plan.makespan_cycles))
        for (base, field, other), chosen in _alternatives(plan).items()
    ]
    return _long_table(("choice", "chosen", "instead", "would take"), rows) if rows else ""


def _alternatives(plan: Plan) -> dict[tuple[str, str, Alternative], list[str]]:
    """Each alternative once for all iterations of an operation, with the values chosen in any of them."""
    out: dict[tuple[str, str, Alternative], list[str]] = {}
    for op in plan.ops:
        for field, decision in op.decisions.items():
            for other in decision.alternatives:
                chosen = out.setdefault((op.base, field, other), [])
                if decision.chosen not in chosen:
                    chosen.append(decision.chosen)
    return out


def _price(other: Alternative, makespan_cycles: int | None) -> str:
    if other.makespan_cycles is None or makespan_cycles is None:
        reason = ": ".join(part for part in (other.rule, other.message) if part)
        return f"{other.status}{': ' if reason else ''}{reason}"
    more = other.makespan_cycles - makespan_cycles
    return f"{other.makespan_cycles:,} cycles ({more:+,}; {other.status})"


def memory(plan: Plan) -> str:
    """Where every instance lies and how long."""
    rows = [
        (m.tensor, m.file, _place(m), f"{m.bytes:,}", f"{m.start:,}", f"{m.end:,}", m.shares or m.element)
        for m in plan.memory
    ]
    head = ("tensor", "in", "place", "bytes/slice", "from", "until", "element, or the tensor it relabels")
    return _long_table(head, rows, (3, 4, 5)) if rows else ""


def notes(plan: Plan) -> str:
    """What is worth knowing, one line each; of one topic only so many, the plan file has all."""
    topics: dict[str, list[str]] = {}
    for note in plan.notes:
        if note.topic not in _IN_CHOICES:
            topics.setdefault(note.topic, []).append(f"note: {note.text}")
    lines = []
    for topic, texts in topics.items():
        hidden = len(texts) - MOST_NOTES
        lines += texts[:MOST_NOTES]
        lines += [f"... and {hidden:,} more of {topic.replace('_', ' ')}; the plan file has all"] if hidden > 0 else []
    return "\n".join(lines)


def _place(entry: MemoryEntry) -> str:
    if entry.region is not None and entry.row is not None and entry.rows is not None:
        return f"{entry.region}, rows {entry.row}..{entry.row + entry.rows - 1}"
    return "" if entry.address is None else f"address {entry.address:,}"


def verdict(verification: Verification) -> str:
    """Values, cycles and rules as the simulator found them, in one line when all is well."""
    if verification.not_run:
        return styled(f"not executed, so not verified: {verification.not_run}", verdict_style(False))
    cycles, simulated = verification.cycles, verification.cycles.simulated or 0
    lines = [
        styled(
            ", ".join(
                (
                    f"values {_values(verification)}",
                    f"cycles planned {cycles.planned:,} {'=' if cycles.ok else '≠'} simulated {simulated:,}",
                    f"{len(verification.violations) or 'no'} violation{'s' * (len(verification.violations) != 1)}",
                )
            ),
            verdict_style(verification.ok),
        )
    ]
    lines += [f"wrong: {name}: {_error(v)}" for name, v in verification.values.items() if not v.ok]
    for v in verification.violations:
        numbers = f" (found {v.found}, wanted {v.wanted})" if v.found or v.wanted else ""
        lines.append(f"violated: {v.rule}: {v.op + ': ' if v.op else ''}{v.message}{numbers}")
    return "\n".join(lines)


def _values(verification: Verification) -> str:
    values = verification.values.values()
    if not values:
        return "not compared"
    if not all(v.ok for v in values):
        return "wrong"
    error = max(v.max_abs_error for v in values)
    found = "exact" if error == 0 else f"within tolerance (largest error {error:.3g})"
    if all(v.sampled is None for v in values):
        return found
    taken = sum(v.elements if v.sampled is None else v.sampled for v in values)
    return f"{found} in {taken:,} of {sum(v.elements for v in values):,} elements, sampled"


def _error(values: Values) -> str:
    among = f"{values.elements:,} elements"
    if values.sampled is not None:
        among = f"{values.sampled:,} sampled of {among}"
    return f"largest error {values.max_abs_error:.6g} among {among}"


def _long_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> str:
    shown = table(head, rows[:MOST_ROWS], right)
    hidden = len(rows) - MOST_ROWS
    return shown + (f"\n... and {hidden:,} more; the plan file has all" if hidden > 0 else "")
