"""A custom snoop bitmap is loaded before the passes that use it (domain: section 3).

A *session* lasts from a load to the end of the last pass that uses it. Every pass with a bitmap belongs to one session
of that bitmap; sessions do not overlap, since the ring holds one bitmap at a time.
"""

from __future__ import annotations

from ortools.sat.python import cp_model

from models.graph import Operation
from solver.guards import Literal
from solver.solution import Guard, Solution
from solver.variables import Task, Variables, end_of


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds an optional load per pass that may need one, the sessions, and who belongs to which."""
    passes = [t for t in variables.tasks() if any(m.bitmap for m in t.op.modes)]
    sessions: dict[str, tuple[Task, cp_model.IntVar]] = {}
    intervals: list[cp_model.IntervalVar] = []
    for task in passes:
        load, end, interval = _session(model, variables, task.op)
        variables.loads[task.op.name] = load
        sessions[task.op.name] = (load, end)
        intervals.append(interval)
    if len(intervals) > 1:
        model.add_no_overlap(intervals)
    for task in passes:
        for bitmap in sorted({m.bitmap for m in task.op.modes if m.bitmap}):
            _belongs(model, variables, task, bitmap, sessions)


def loads_before(solution: Solution, op: str) -> tuple[str, int, int] | None:
    """The pass whose load serves a pass in a known schedule, with that load's start and end."""
    start = solution.starts.get(op)
    served = [load for load in solution.loads if start is not None and load.end <= start]
    last = max(served, key=lambda load: load.end, default=None)
    return None if last is None else (last.op, last.start, last.end)


def _session(
    model: cp_model.CpModel, variables: Variables, op: Operation
) -> tuple[Task, cp_model.IntVar, cp_model.IntervalVar]:
    cycles = variables.index.hardware.switch.bitmap_load_cycles
    first, last = variables.index.hardware.kernel.first_start_cycles, variables.last_end
    present = model.new_bool_var(f"{op.name} loads its bitmap")
    start = model.new_int_var(first, max(first, last), f"{op.name} bitmap load")
    end = model.new_int_var(first, max(first + cycles, last), f"{op.name} session end")
    size = model.new_int_var(cycles, max(cycles, last), f"{op.name} session")
    interval = model.new_optional_interval_var(start, size, end, present, f"{op.name} session")
    carries = variables.any_of(variables.task(op.name), frozenset(m.id for m in op.modes if m.bitmap))
    if carries is not None:
        model.add_implication(present, carries)
    variables.know(present, lambda s: int(any(load.op == op.name for load in s.loads)))
    variables.know(start, lambda s: next((load.start for load in s.loads if load.op == op.name), None))
    variables.know(end, lambda s: _session_end(variables, s, op.name))
    return Task(op, start, cycles, start + cycles, present, {}), end, interval


def _session_end(variables: Variables, solution: Solution, op: str) -> int | None:
    ends = [
        end_of(variables.index, solution, name) or 0
        for name in variables.loads
        if name in solution.modes
        and variables.index.mode(name, solution.modes[name]).bitmap
        and (found := loads_before(solution, name)) is not None
        and found[0] == op
    ]
    return max(ends, default=None)


def _belongs(
    model: cp_model.CpModel,
    variables: Variables,
    task: Task,
    bitmap: str,
    sessions: dict[str, tuple[Task, cp_model.IntVar]],
) -> None:
    """A pass done with the bitmap belongs to one of its sessions; its own only if its load is there."""
    needs = variables.any_of(task, frozenset(m.id for m in task.op.modes if m.bitmap == bitmap))
    guard = variables.guards(Guard("bitmap_load_missing", (task.op.name,), message=f"needs bitmap {bitmap}"))
    members: list[Literal] = []
    for name, (load, end) in sessions.items():
        owner = variables.task(name)
        ids = frozenset(m.id for m in owner.op.modes if m.bitmap == bitmap)
        if not ids:
            continue
        member = model.new_bool_var(f"{task.op.name} in session of {name}")
        members.append(member)
        carries = variables.any_of(owner, ids)
        needed = [lit for lit in (load.present, carries) if lit is not None]
        for literal in needed:
            model.add_implication(member, literal)
        model.add(load.end <= task.start).only_enforce_if(member)
        model.add(end >= task.end).only_enforce_if(member)
        model.add(owner.start <= task.start).only_enforce_if(member)
        variables.know(member, lambda s, n=name: int(_serves(variables, s, task.op.name, n)))  # type: ignore[misc]
    model.add_at_least_one(members + [lit.negated() for lit in [*guard, *([needs] if needs is not None else [])]])


def _serves(variables: Variables, solution: Solution, op: str, owner: str) -> bool:
    if op not in solution.modes or not variables.index.mode(op, solution.modes[op]).bitmap:
        return False
    found = loads_before(solution, op)
    return found is not None and found[0] == owner
