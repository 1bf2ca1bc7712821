"""DM bank starvation across contexts: runs of passes that may overlap in time add up (domain: section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from heapq import nlargest

from models.graph import DMA, MAIN, SUB, Mode, Operation, Problem
from models.plan import Stage

CONTEXTS = frozenset({MAIN, SUB})


def settled(problem: Problem) -> Problem:
    """Of two passes whose runs together starve DMA, the one with the longer run is planned as if it held DMA."""
    runs = {name: run_of(stages) for name, stages in problem.programs.items()}
    longest = {c: _longest(problem.operations, runs, c) for c in CONTEXTS}
    limit = problem.hardware.dm.starvation_accesses

    def held(op: Operation, mode: Mode) -> Mode:
        own = runs.get(mode.program, 0)
        free = CONTEXTS - mode.holds
        # A pass never runs beside itself.
        others = (run for c in free for name, run in longest[c] if name != op.name)
        beside = max(others, default=0) if mode.holds & CONTEXTS else 0
        starves = own >= beside and own + beside >= limit and own > 0
        return replace(mode, holds=mode.holds | {DMA}) if starves else mode

    def of(op: Operation) -> Operation:
        if op.kind != "pass":
            return op
        modes, dominated = (tuple(held(op, m) for m in found) for found in (op.modes, op.dominated))
        return replace(op, modes=modes, dominated=dominated)

    return replace(problem, operations=tuple(map(of, problem.operations)))


def run_of(stages: Iterable[Stage]) -> int:
    """The longest run of accesses to one DM bank of a pass's sequencers."""
    return max((int(s.settings.get("bank_run", 0)) for s in stages if s.step in ("fetch", "commit")), default=0)


def _longest(operations: Iterable[Operation], runs: dict[str, int], context: str) -> list[tuple[str, int]]:
    """The two longest runs of passes that may hold this context and not the other one, each with its pass."""
    found = [
        (o.name, max(runs.get(m.program, 0) for m in modes))
        for o in operations
        if o.kind == "pass" and (modes := [m for m in (*o.modes, *o.dominated) if m.holds & CONTEXTS == {context}])
    ]
    return nlargest(2, found, key=lambda one: one[1])
