"""Why no plan exists: the rules that together forbid one, as faults with places and numbers."""

from __future__ import annotations

from solver.explain import Guard, core

from models.faults import Fault
from planner.build import Built
from planner.readers.source import KernelSource
from solver import Options, Solution


def faults_of(built: Built, source: KernelSource, solution: Solution, options: Options) -> tuple[Fault, ...]:
    """One fault for each rule of a minimal infeasible set."""
    guards = core(built.problem, options)
    return tuple(_fault(g, built, source) for g in guards) or (
        Fault(
            rule="infeasible",
            file=source.path,
            message=f"no plan exists ({solution.status}), no single rule explains it",
        ),
    )


def _fault(guard: Guard, built: Built, source: KernelSource) -> Fault:
    op = guard.ops[0].partition("[")[0] if guard.ops else ""
    line, column = source.positions.position(built.paths.get(op, ()))
    return Fault(
        rule=guard.rule,
        file=source.positions.file,
        line=line,
        column=column,
        op=op,
        found=str(guard.need) if guard.need is not None else "",
        wanted=f"at most {guard.have}" if guard.have is not None else "",
        message=guard.message,
    )
