"""The kernel's frame: start-up before the first operation, final sync after the last (cycles: a kernel's frame)."""

from __future__ import annotations

from ortools.sat.python import cp_model

from solver.solution import Guard
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds earliest starts and the end of the kernel."""
    frame = variables.index.hardware.kernel
    for task in variables.tasks():
        when = [task.present] if task.present is not None else []
        if variables.guards.on:
            guard = Guard("starts_too_early", (task.op.name,), have=frame.first_start_cycles)
            model.add(task.start >= frame.first_start_cycles).only_enforce_if(variables.guards(guard))
        if task.op.name in _lasting(variables):
            model.add(variables.makespan >= task.end + frame.final_sync_cycles).only_enforce_if(when)


def _lasting(variables: Variables) -> set[str]:
    """Operations that may be the last: no operation that is always there follows them."""
    ops = variables.index.ops
    followed = {name for name in ops if any(ops[e.after].requires is None for e in variables.index.after[name])}
    return set(ops) - followed
