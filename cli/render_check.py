"""A legal kernel as people read it: the layout that leaves every stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render import styled, table, verdict_style

if TYPE_CHECKING:
    from models.graph import Operation, Problem
    from models.plan import Stage
    from planner import Checked


def layouts(checked: Checked) -> str:
    """The derived layout of every stage, each operation of the kernel file once; empty where rules are broken."""
    if checked.expansion:
        head = f"{checked.name}: a program of {len(checked.expansion)} operations"
        return "\n".join([styled(head, verdict_style(ok=True)), *(f"  {line}" for line in checked.expansion)])
    if checked.built is None:
        errors = sum(fault.severity == "error" for fault in checked.faults)
        return styled(f"{checked.name}: {errors} fault{'s' * (errors != 1)}", verdict_style(ok=False))
    problem = checked.built.problem
    rows: list[tuple[str, ...]] = []
    seen = set()
    for op in problem.operations:
        if op.base not in seen:
            seen.add(op.base)
            rows += _stages(op, problem)
    columns = ("operation", "stage", "dtype", "cluster", "slice", "time", "packet", "steps")
    return styled(f"{checked.name}: every rule holds", verdict_style(ok=True)) + "\n" + table(columns, rows, (7,))


def _stages(op: Operation, problem: Problem) -> list[tuple[str, ...]]:
    """The stages of the first way to do the operation; other ways differ in what is still to be chosen."""
    stages = problem.programs.get(op.modes[0].program, ()) if op.modes else ()
    return [
        (
            op.base,
            _named(s),
            s.dtype,
            s.cluster,
            s.slice,
            s.time,
            s.packet,
            f"{s.steps_cycles:,}" if s.steps_cycles else "",
        )
        for s in stages
    ]


def _named(stage: Stage) -> str:
    """The step, with the share of the multipliers that a contraction keeps busy."""
    share = stage.settings.get("utilisation_percent")
    return stage.step if share is None else f"{stage.step}, {share:g} % of multipliers"
