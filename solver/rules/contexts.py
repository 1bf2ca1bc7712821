"""One operation at a time per context (domain: section 3): Main, Sub and DMA."""

from __future__ import annotations

from ortools.sat.python import cp_model

from models.graph import DMA, MAIN, SUB
from solver.guards import Literal
from solver.solution import Guard
from solver.variables import Task, Variables

BITMAP_LOAD_HOLDS = (DMA, SUB)


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds one machine per context, bitmap loads included; loads must have been built before."""
    for context in (MAIN, SUB, DMA):
        loads = list(variables.loads.values()) if context in BITMAP_LOAD_HOLDS else []
        one_at_a_time(model, variables, context, "context_overlap", loads)


def one_at_a_time(model: cp_model.CpModel, variables: Variables, resource: str, rule: str, loads: list[Task]) -> None:
    """Operations that hold a resource do not overlap."""
    intervals: list[cp_model.IntervalVar] = []
    for task in variables.tasks():
        some, literal = variables.holding(task, resource)
        if some:
            intervals.append(_interval(model, variables, task, literal, Guard(rule, (task.op.name,), message=resource)))
    for task in loads:
        guard = Guard("bitmap_load_contexts", (task.op.name,), message=f"its bitmap load holds {resource}")
        intervals.append(_interval(model, variables, task, task.present, guard))
    if len(intervals) > 1:
        model.add_no_overlap(intervals)


def _interval(
    model: cp_model.CpModel, variables: Variables, task: Task, literal: Literal | None, guard: Guard
) -> cp_model.IntervalVar:
    literal = guarded(model, variables, literal, guard)
    if literal is None:
        return model.new_interval_var(task.start, task.size, task.end, task.op.name)
    return model.new_optional_interval_var(task.start, task.size, task.end, literal, task.op.name)


def guarded(model: cp_model.CpModel, variables: Variables, literal: Literal | None, guard: Guard) -> Literal | None:
    """A presence literal that also needs the guard; the literal itself while nothing is to be explained."""
    guards = variables.guards(guard)
    if not guards:
        return literal
    if literal is None:
        return guards[0]
    both = model.new_bool_var(f"{guard.rule} and present")
    model.add_bool_or([both, literal.negated(), guards[0].negated()])
    model.add_implication(both, literal)
    return both
