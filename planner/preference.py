"""Among plans of equal makespan, the one that leaves Main free: only Main can contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from models.graph import MAIN, SUB, Operation, Problem
from solver import Solution

_FIELD = "context"


def leave_main_free(
    problem: Problem, chosen: Solution, solve: Callable[[Problem, Solution], Solution]
) -> tuple[Problem, Solution]:
    """Moves passes to Sub, one operation of the kernel file after the other, where the makespan stays.

    Gives the plan, and the problem without the modes that were given up on the way.
    """
    for base in dict.fromkeys(o.base for o in problem.operations):
        if not _on_main(problem, chosen, base):
            continue
        narrowed = replace(problem, operations=tuple(_only_sub(o) if o.base == base else o for o in problem.operations))
        found = solve(narrowed, chosen)
        if found.makespan is not None and found.makespan == chosen.makespan:
            problem, chosen = narrowed, replace(found, status=chosen.status, lower_bound=chosen.lower_bound)
    return problem, chosen


def _on_main(problem: Problem, chosen: Solution, base: str) -> bool:
    """Whether an operation runs on Main somewhere, though all its iterations may run on Sub."""
    mine = [o for o in problem.operations if o.base == base and o.name in chosen.modes]
    held = {r for o in mine for m in o.modes if m.id == chosen.modes[o.name] for r in m.holds}
    return MAIN in held and all(_only_sub(o).modes for o in mine)


def _only_sub(op: Operation) -> Operation:
    return replace(op, modes=tuple(m for m in op.modes if m.decisions.get(_FIELD) == SUB))
