"""DM bank starvation across contexts: runs of passes that may overlap in time add up (domain: section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from models.graph import DMA, MAIN, SUB, Mode, Operation, Problem
from models.plan import Stage

CONTEXTS = frozenset({MAIN, SUB})


def settled(problem: Problem) -> Problem:
    """Of two passes whose runs together starve DMA, the one with the longer run is planned as if it held DMA."""
    runs = {name: run_of(stages) for name, stages in problem.programs.items()}
    longest = {c: _longest(problem.operations, runs, c) for c in CONTEXTS}
    limit = problem.hardware.dm.starvation_accesses

    def held(mode: Mode) -> Mode:
        own = runs.get(mode.program, 0)
        free = CONTEXTS - mode.holds
        beside = max((longest[c] for c in free), default=0) if mode.holds & CONTEXTS else 0
        starves = own >= beside and own + beside >= limit and own > 0
        return replace(mode, holds=mode.holds | {DMA}) if starves else mode

    def of(op: Operation) -> Operation:
        if op.kind != "pass":
            return op
        return replace(op, modes=tuple(map(held, op.modes)), dominated=tuple(map(held, op.dominated)))

    return replace(problem, operations=tuple(map(of, problem.operations)))


def run_of(stages: Iterable[Stage]) -> int:
    """The longest run of accesses to one DM bank of a pass's sequencers."""
    return max((int(s.settings.get("bank_run", 0)) for s in stages if s.step in ("fetch", "commit")), default=0)


def _longest(operations: Iterable[Operation], runs: dict[str, int], context: str) -> int:
    """The longest run of any pass that holds this context and not the other one."""
    return max(
        (
            runs.get(m.program, 0)
            for o in operations
            if o.kind == "pass"
            for m in (*o.modes, *o.dominated)
            if m.holds & CONTEXTS == {context}
        ),
        default=0,
    )
