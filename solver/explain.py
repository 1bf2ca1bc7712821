"""Why there is no plan: a set of rules and places that together forbid one, shrunk and confirmed.

Whether a plan exists at all does not depend on cycles: any plan stays one when its operations run one after the other
in order of their starts, since that makes no two places meet that did not meet before. So every operation takes one
cycle here, which keeps the proofs small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ortools.sat.python import cp_model

from models.graph import Problem
from solver.guards import CHOICE_RULE, Literal
from solver.index import Index
from solver.model import Model, build
from solver.narrow import REGION, Fixed, Forbidden, allowed, narrow, storers
from solver.solution import Guard, Options
from solver.variables import Window


@dataclass(frozen=True, slots=True)
class Core:
    """Rules that together forbid a plan; `minimal`: leaving any out allows one; `confirmed`: solved again."""

    guards: tuple[Guard, ...]
    minimal: bool
    confirmed: bool


def core(
    problem: Problem,
    options: Options = Options(),  # noqa: B008  # frozen, holds no state
    *,
    fixed: Fixed | None = None,
    forbidden: Forbidden = (),
) -> tuple[Guard, ...]:
    """The guards of `explain`; empty when a plan exists or nothing was proven."""
    found = explain(problem, options, fixed=fixed, forbidden=forbidden)
    return found.guards if found is not None else ()


def explain(
    problem: Problem, options: Options, *, fixed: Fixed | None = None, forbidden: Forbidden = ()
) -> Core | None:
    """A set of rules that together forbid a plan; None when there is one or nothing was proven.

    Raises:
        ValueError: a fixed or forbidden choice does not exist.

    """
    fixed = fixed or {}
    narrow(problem, fixed, forbidden)
    model = in_one_cycle_each(problem, guarded=True)
    _guard_choices(model, fixed, forbidden)
    literals = model.variables.guards.all()
    status, blamed = _solve(model, list(literals.values()), options)
    if status != cp_model.INFEASIBLE:
        return None
    by_index = {lit.index: guard for guard, lit in literals.items()}
    kept = [by_index[i] for i in sorted(blamed)] or list(literals)
    minimal = True
    for guard in list(kept):
        rest = [g for g in kept if g is not guard]
        status, blamed = _solve(model, [literals[g] for g in rest], options)
        if status == cp_model.INFEASIBLE:
            # What the smaller set blames is a smaller set still.
            kept = [g for g in rest if literals[g].index in blamed]
        minimal = minimal and status != cp_model.UNKNOWN
        if not kept:
            break
    confirmed = _solve(model, [literals[g] for g in kept], options)[0] == cp_model.INFEASIBLE
    return Core(tuple(_worded(problem, g) for g in kept), minimal, confirmed)


def in_one_cycle_each(problem: Problem, *, guarded: bool) -> Model:
    """The model with one cycle per operation and no objective, with or without a guard per rule and place."""
    unit = one_cycle_each(problem)
    frame = unit.hardware.kernel
    passes = sum(any(m.bitmap for m in o.modes) for o in unit.operations)
    upper = frame.first_start_cycles + len(unit.operations) + passes + frame.final_sync_cycles
    return build(Index(unit), Window({}, {}, 0, upper), guarded=guarded, minimise=False)


def one_cycle_each(problem: Problem) -> Problem:
    """The same problem with every operation and load taking one cycle, and no lags."""
    hardware = problem.hardware
    switch = hardware.switch.model_copy(update={"bitmap_load_cycles": 1})
    return replace(
        problem,
        operations=tuple(replace(o, modes=tuple(replace(m, cycles=1) for m in o.modes)) for o in problem.operations),
        edges=tuple(replace(e, lag_cycles=0) for e in problem.edges),
        hardware=hardware.model_copy(update={"switch": switch}),
    )


def _guard_choices(model: Model, fixed: Fixed, forbidden: Forbidden) -> None:
    """Adds what was fixed or forbidden by hand, each value under a guard of its own."""
    for op, field, value in [*((o, f, v) for (o, f), v in fixed.items()), *forbidden]:
        given = {(op, field): value} if fixed.get((op, field)) == value else {}
        never = () if given else ((op, field, value),)
        said = "is fixed to" if given else "must not be"
        guard = Guard(CHOICE_RULE, (op,), message=f"`{op}.{field}` {said} {value}")
        on = model.variables.guards(guard)
        for literal in _excluded(model, op, field, given, never):
            model.cp.add_bool_or([lit.negated() for lit in [*on, *([literal] if literal is not None else [])]])


def _excluded(model: Model, name: str, field: str, fixed: Fixed, forbidden: Forbidden) -> list[Literal | None]:
    """Literals of modes and address modes that one value by hand excludes; None: it is the only one there is."""
    variables = model.variables
    out: list[Literal | None] = []
    for task in variables.tasks():
        out += [
            task.modes[mode.id]
            for mode in (task.op.modes if name in (task.op.name, task.op.base) else ())
            if field in mode.decisions and not allowed({name}, field, mode.decisions[field], fixed, forbidden)
        ]
    if field == REGION:
        buffers = {b.name: b for b in variables.index.problem.buffers}
        for (place, region), literal in variables.regions.items():
            mine = name in storers(variables.index.problem, buffers[place])
            if mine and not allowed({name}, REGION, region, fixed, forbidden):
                out.append(literal)
    return out


def _solve(model: Model, assumed: list[Literal], options: Options) -> tuple[cp_model.CpSolverStatus, set[int]]:
    """Status with these guards on and the others off, and the guards blamed when there is no plan."""
    model.cp.clear_assumptions()
    model.cp.add_assumptions(assumed)
    solver = cp_model.CpSolver()
    p = solver.parameters
    p.random_seed = options.seed
    p.num_workers = 1
    # Presolve loses the reasons, and has had bugs with them.
    p.cp_model_presolve = False
    p.cp_model_probing_level = 0
    p.linearization_level = 0
    p.max_deterministic_time = options.time_limit_seconds / 4
    status = solver.solve(model.cp)
    blamed = set(solver.sufficient_assumptions_for_infeasibility()) if status == cp_model.INFEASIBLE else set()
    return status, blamed


def _worded(problem: Problem, guard: Guard) -> Guard:
    """The guard with a sentence and, for a place, with the operations that write it."""
    if guard.rule == CHOICE_RULE:
        return guard
    writers = {b.name: b.writers for b in problem.buffers}
    ops = guard.ops or tuple(dict.fromkeys(w for b in guard.buffers for w in writers[b]))
    what = ", ".join(f"`{n}`" for n in guard.buffers or guard.ops)
    numbers = f" needs {guard.need} of {guard.have}" if guard.need is not None else ""
    return replace(guard, ops=ops, message=guard.message or f"{what}{numbers}")
