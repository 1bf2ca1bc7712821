"""From a problem to a solution: wiring only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import combinations

from ortools.sat.python import cp_model

from models.graph import Problem
from models.plan import Status, StoppedBy
from solver.addresses import Placement, lifetimes, with_places
from solver.bound import Bound, bound
from solver.engine import Run, run
from solver.explain import explain, in_one_cycle_each
from solver.index import Index
from solver.list_schedule import list_schedules
from solver.model import Model, build
from solver.narrow import Fixed, Forbidden, hopeless, narrow, undominated
from solver.placing import placed
from solver.shift import left_shift, one_by_one
from solver.solution import BitmapLoad, Options, Solution, Stats
from solver.steady_state import SteadyState, patterns, steady_state
from solver.variables import Window
from solver.windows import improved

SMALL_OPERATIONS = 48
"""Beyond so many operations a first plan that meets the bound is not handed to CP-SAT to be proved again."""

WINDOWS_FROM = 120
"""Operations from which on the first plan is improved window by window."""

WHOLE_UP_TO = 300
"""Operations up to which the whole model is searched as well, in what windows leave of the time."""

SHARE = 0.5
"""Of the time for windows where the whole model is searched as well."""

MAX_CUTS = 50

Callback = Callable[[Solution], None]


def solve(
    problem: Problem,
    options: Options = Options(),  # noqa: B008  # frozen, holds no state
    *,
    fixed: Fixed | None = None,
    forbidden: Forbidden = (),
    hint: Solution | None = None,
    on_solution: Callback | None = None,
    stop: threading.Event | None = None,
) -> Solution:
    """The schedule with the least makespan, every open choice decided.

    Args:
        problem: operations with modes, edges, buffers, hardware.
        options: limits, workers, seed.
        fixed: values by (operation or its base, field) that must be taken; field `region` is that of the stored tensor.
        forbidden: (operation or its base, field, value) that must not be taken.
        hint: a solution of a similar problem to start from.
        on_solution: called with every better solution, from another thread.
        stop: set it to end the search; the best solution so far is returned, `stopped_by` interrupt.

    Raises:
        ValueError: a fixed or forbidden choice does not exist.

    """
    fixed = fixed or {}
    index = Index(undominated(narrow(problem, fixed, forbidden)))
    if index.order is None or hopeless(index):
        why = explain(problem, options, fixed=fixed, forbidden=forbidden)
        if why is not None:
            return Solution("infeasible", "proof", None, 0, stats=_stats(), infeasible=why.guards)
    found = _Search(index, options, on_solution, stop).run(hint)
    if found.status != "infeasible":
        return found
    why = explain(problem, options, fixed=fixed, forbidden=forbidden)
    # A no counts only when a second proof, from the guarded model, agrees.
    return replace(found, infeasible=why.guards) if why is not None else replace(found, status="unknown")


@dataclass(slots=True)
class _Search:
    index: Index
    options: Options
    on_solution: Callback | None
    stop: threading.Event | None

    def run(self, hint: Solution | None) -> Solution:
        """The best solution, with addresses."""
        known = bound(self.index)
        state = steady_state(self.index, known, self.options)
        if state is not None:
            known = replace(known, makespan=state.makespan)
        first = self._first(known, hint, state)
        if first is not None:
            if first.makespan == known.makespan and len(self.index.ops) > SMALL_OPERATIONS:
                return replace(first, status="optimal", stopped_by="proof", lower_bound=known.makespan, stats=_stats())
            if len(self.index.ops) >= WINDOWS_FROM:
                first = self._by_windows(known, first)
                if first.status == "optimal" or len(self.index.ops) > WHOLE_UP_TO:
                    return first
                self.options = replace(self.options, time_limit_seconds=self.options.time_limit_seconds * (1 - SHARE))
        found = self._improve(known, first)
        return found if hint is None else _kept(first, found)

    def _by_windows(self, known: Bound, first: Solution) -> Solution:
        share = 1.0 if len(self.index.ops) > WHOLE_UP_TO else SHARE
        tell = None if self.on_solution is None else self._tell
        found = improved(self.index, first, known.makespan, self.options, tell, self.stop, share=share)
        proven = found.plan.makespan == known.makespan
        interrupted = self.stop is not None and self.stop.is_set()
        reason: StoppedBy = "local_optimum" if found.settled else "time_limit"
        return replace(
            found.plan,
            status="optimal" if proven else "feasible",
            stopped_by="proof" if proven else "interrupt" if interrupted else reason,
            lower_bound=known.makespan,
            stats=replace(_stats(), deterministic_time=round(found.deterministic_time, 6)),
        )

    def _first(self, known: Bound, hint: Solution | None, state: SteadyState | None) -> Solution | None:
        best: Solution | None = None
        for candidate in self._candidates(known, hint, state):
            large = len(self.index.ops) > WHOLE_UP_TO
            if large and best is not None and (candidate.makespan or 0) >= (best.makespan or 0):
                continue
            shifted = placed(self.index, candidate, self.options, shift=not large)
            if shifted is not None and (best is None or (shifted.makespan or 0) < (best.makespan or 0)):
                best = shifted
                self._tell(best)
            if best is not None and best.makespan == known.makespan:
                break
        if best is None:
            best = self._by_order()
            if best is not None:
                self._tell(best)
        return best

    def _by_order(self) -> Solution | None:
        """A plan from any order that satisfies all rules: whether there is one does not depend on cycles."""
        model = in_one_cycle_each(self.index.problem, guarded=False)
        done = run(model.cp, self.options, stop=self.stop)
        if not done.found:
            return None
        return placed(self.index, one_by_one(self.index, _read(model, done.solver.value)), self.options)

    def _candidates(self, known: Bound, hint: Solution | None, state: SteadyState | None) -> Iterable[Solution]:
        adapted = None if hint is None else _adapted(self.index, hint)
        if hint is not None and adapted is not None:
            yield replace(adapted, regions=hint.regions)
            yield adapted
        yield from list_schedules(self.index, known)
        for settled in () if state is None else patterns(self.index, state):
            index = Index(settled)
            yield from list_schedules(index, bound(index))

    def _tell(self, solution: Solution) -> None:
        if self.on_solution is not None:
            self.on_solution(replace(solution, stats=_stats()))

    def _improve(self, known: Bound, first: Solution | None) -> Solution:
        model = build(self.index, self._window(known, first))
        cuts, lower, exact, spent = 0, known.makespan, True, Stats()
        while True:
            if first is not None:
                model.variables.hint(first)
            done = run(model.cp, self.options, on_solution=self._callback(model), stop=self.stop)
            spent = _add(spent, done, cuts)
            if exact and done.status != cp_model.INFEASIBLE:
                lower = max(lower, round(done.solver.best_objective_bound))
            if done.status == cp_model.INFEASIBLE and first is not None and not cuts:
                done = self._again(model)
            if not done.found:
                return self._without(done, first, lower, spent, exact=exact)
            found, placement = with_places(self.index, _read(model, done.solver.value), self.options)
            if not placement.conflict:
                return self._answer(left_shift(self.index, found), done, lower, spent, exact=exact)
            cuts, exact = cuts + 1, exact and placement.proven
            if cuts > MAX_CUTS:
                return self._without(done, first, lower, spent, exact=False)
            if cuts == 1:
                # Dealing out slots in order keeps how much is alive, but not whether it can be packed.
                model = build(self.index, self._window(known, first), in_order=False)
            _cut(model, self.index, found, placement)

    def _again(self, model: Model) -> Run:
        """A second opinion where CP-SAT contradicts a plan in hand: without hints and without presolve."""
        model.cp.clear_hints()  # type: ignore[no-untyped-call]
        return run(model.cp, self.options, stop=self.stop, plain=True)

    def _window(self, known: Bound, first: Solution | None) -> Window:
        upper = first.makespan if first is not None and first.makespan is not None else _horizon(self.index)
        return Window(known.heads, known.tails, known.makespan, max(upper, known.makespan))

    def _callback(self, model: Model) -> Callable[[cp_model.CpSolverSolutionCallback], None] | None:
        if self.on_solution is None:
            return None

        def tell(found: cp_model.CpSolverSolutionCallback) -> None:
            plan = placed(self.index, _read(model, found.value), self.options)
            if plan is not None:
                self._tell(plan)

        return tell

    def _answer(self, found: Solution, done: Run, lower: int, stats: Stats, *, exact: bool) -> Solution:
        proven = found.makespan == lower or (exact and done.status == cp_model.OPTIMAL)
        lower = found.makespan or lower if proven else lower
        return replace(
            found,
            status="optimal" if proven else "feasible",
            stopped_by=_reason(done, proven=proven),
            lower_bound=lower,
            stats=stats,
        )

    def _without(self, done: Run, first: Solution | None, lower: int, stats: Stats, *, exact: bool) -> Solution:
        """No new plan: the first one stands, or there is none, or nothing is known."""
        proven = done.status == cp_model.INFEASIBLE and exact
        if first is not None:
            # Infeasible within the first plan's makespan cannot be: its own order satisfies every rule.
            return replace(
                first, status="feasible", stopped_by=_reason(done, proven=False), lower_bound=lower, stats=stats
            )
        status: Status = "infeasible" if proven else "unknown"
        return Solution(status, _reason(done, proven=proven), None, lower, stats=stats)


def _reason(done: Run, *, proven: bool) -> StoppedBy:
    if proven:
        return "proof"
    return "interrupt" if done.interrupted else "time_limit"


def _horizon(index: Index) -> int:
    """A makespan that running everything one after the other does not exceed."""
    hardware = index.hardware
    work = sum(max((m.cycles for m in o.modes), default=0) for o in index.ops.values())
    loads = sum(any(m.bitmap for m in o.modes) for o in index.ops.values()) * hardware.switch.bitmap_load_cycles
    lags = sum(max(e.lag_cycles, 0) for e in index.problem.edges)
    return hardware.kernel.first_start_cycles + work + loads + lags + hardware.kernel.final_sync_cycles


def _kept(first: Solution | None, found: Solution) -> Solution:
    """The plan in hand where the search found none that is better: a hint that holds is not traded for a tie."""
    if first is None or first.makespan != found.makespan:
        return found
    return replace(
        first, status=found.status, stopped_by=found.stopped_by, lower_bound=found.lower_bound, stats=found.stats
    )


def _adapted(index: Index, hint: Solution) -> Solution | None:
    """A plan of a similar problem, in its order, with modes of this one; None where it does not carry over."""
    known = {o.name: {m.id: m for m in o.modes} for o in index.ops.values()}
    if not hint.starts or any(not known.get(op) for op in hint.starts):
        return None
    modes = {op: mode if mode in known[op] else next(iter(known[op])) for op, mode in hint.modes.items()}
    if any(known[load.op][modes[load.op]].bitmap != load.bitmap for load in hint.loads):
        return None
    # One by one: cycles may differ from those of the hint; the left shift closes the gaps again.
    return one_by_one(index, replace(hint, modes=modes, regions={}, addresses={}))


def _read(model: Model, value: Callable[[cp_model.LinearExprT], int]) -> Solution:
    """Starts, modes, regions and loads that the model decided."""
    variables = model.variables
    modes = {}
    for task in variables.tasks():
        for mode_id, literal in task.modes.items():
            if literal is None or value(literal):
                modes[task.op.name] = mode_id
    names = {o.name: {m.id: m for m in o.modes} for o in variables.index.ops.values()}
    loads = sorted(
        (
            BitmapLoad(op, names[op][modes[op]].bitmap or "", value(load.start), value(load.end))
            for op, load in variables.loads.items()
            if load.present is not None and value(load.present)
        ),
        key=lambda load: load.start,
    )
    # A bitmap that the ring holds already is not loaded again.
    loads = [load for i, load in enumerate(loads) if not i or loads[i - 1].bitmap != load.bitmap]
    regions = {
        place: (region, value(variables.rows[place, region]))
        for (place, region), literal in variables.regions.items()
        if value(literal)
    }
    starts = {t.op.name: value(t.start) for t in variables.tasks() if t.op.name in modes}
    makespan = value(variables.makespan)
    return Solution("feasible", "time_limit", makespan, 0, starts, modes, regions, loads=tuple(loads))


def _cut(model: Model, index: Index, found: Solution, placement: Placement) -> None:
    """Of the places that could not be put, two that were alive together must be parted."""
    file = next(p.file for p in index.places if p.name == placement.conflict[0])
    lives = lifetimes(index, found, file)
    parted = [
        literal
        for a, b in combinations(placement.conflict, 2)
        if lives[a][0] < lives[b][1] and lives[b][0] < lives[a][1]
        for literal in (model.variables.before(a, b), model.variables.before(b, a))
    ]
    model.cp.add_bool_or(parted)


def _stats() -> Stats:
    return Stats(version=version("ortools"))


def _add(stats: Stats, done: Run, cuts: int) -> Stats:
    return Stats(
        version=version("ortools"),
        deterministic_time=round(stats.deterministic_time + done.solver.deterministic_time, 6),
        branches=stats.branches + done.solver.num_branches,
        conflicts=stats.conflicts + done.solver.num_conflicts,
        cuts=cuts,
    )
