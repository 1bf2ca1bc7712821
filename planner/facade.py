"""The facade: read, check, plan, verify. Everything that the command line does, it does through here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import solver
from models.faults import Fault, FaultError
from models.graph import Problem
from models.hardware import Hardware
from models.plan import Note, Plan, SolverInfo, Source
from models.presets.load import load_hardware
from planner import assemble, explain_faster, infeasible, notes, pricing, split_chain, verify
from planner.build import Built, build
from planner.chain import chain
from planner.choices import Choices
from planner.options import PlanOptions, Request
from planner.preference import leave_main_free
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import UnfinishedError, read_kernel
from planner.search.lower import lowered
from planner.search.watch import Watch
from planner.whatif_hint import Hint, solution_of
from solver import Options, Solution

Progress = Callable[[str, float | None], None]
BRIEFLY_SECONDS = 0.05
"""Limit of a solve that only asks whether a plan in hand still holds."""
MANY_OPERATIONS, PRICING_SECONDS = 100, 1.0
"""From so many operations on, each other value of a choice is priced within this limit; its status says how far."""
PRICED_OPERATIONS = 9000
"""And so many operations are solved for again in all: at 300 operations 30 values are priced, at 1,000 nine."""
TOLD_EVERY = 20
"""A better plan of many operations is handed on after so many times what the last one took to write out."""
RESTARTS = 3
"""How often pricing begins anew because another value turned out to be better than the one of an unproved plan."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel that is legal, ready to be planned."""

    source: KernelSource
    hardware: Hardware
    built: Built


def prepare(
    path: str | Path,
    request: Request = Request(),  # noqa: B008  # frozen, holds no state
    limits: Options = Options(),  # noqa: B008  # frozen, holds no state
    watch: Watch | None = None,
) -> Prepared:
    """Reads a kernel, searches the layouts that it leaves open within `limits`, and builds its problem.

    `watch` is told how far the search came and may end it.

    Raises:
        FaultError: with every fault of the file and of its operations.

    """
    return _prepared(_read(path, request, limits), request, limits, watch or Watch())


def _read(path: str | Path, request: Request, limits: Options) -> KernelSource:
    """The kernel of a file; its faults come with those of its operations, where these could be read."""
    try:
        return read_kernel(path, axes=request.axes)
    except UnfinishedError as error:
        raise FaultError((*error.faults, *_beside(error, request, limits))) from None


def _beside(error: UnfinishedError, request: Request, limits: Options) -> tuple[Fault, ...]:
    """Faults of the operations of a file that has faults of its own."""
    if error.source is None:
        return ()
    try:
        _prepared(error.source, request, limits, Watch())
    except FaultError as found:
        return tuple(f for f in found.faults if f not in error.faults)
    return ()


def _prepared(source: KernelSource, request: Request, limits: Options, watch: Watch) -> Prepared:
    hardware = load_hardware(source.kernel.hardware, request.settings)
    source = split_chain.split(lowered(source, hardware, limits, watch), hardware)
    choices = Choices(dict(request.fixed), request.forbidden)
    return Prepared(source, hardware, build(source, hardware, choices))


def plan(
    path: str | Path,
    request: Request = Request(),  # noqa: B008  # frozen, holds no state
    options: PlanOptions = PlanOptions(),  # noqa: B008  # frozen, holds no state
    *,
    progress: Progress | None = None,
    on_plan: Callable[[Plan], None] | None = None,
    stop: threading.Event | None = None,
    hint: Hint | None = None,
    keep: Hint | None = None,
) -> Plan:
    """Plans a kernel, executes the plan in the simulator and returns it with its verification.

    Args:
        path: the kernel file.
        request: changed axes, hardware numbers, fixed and forbidden choices.
        options: limits, seed, and whether to price alternatives and verify.
        progress: called with what is being done and a share from 0 to 1, None when that is not known.
        on_plan: called with every plan that is better than those before, unverified; the last call is the result.
        stop: set it to stop early; the best plan so far is returned, `stopped_by` interrupt.
        hint: the plan of a similar kernel to start from (`planner.hint_of`); it is kept where no other is better.
        keep: the plan of a similar kernel that is preferred to all others of equal length, also to the hint's.

    Raises:
        FaultError: the kernel is wrong.
        InfeasibleError: no plan exists: the broken rules that together forbid one, and what would allow one.

    """
    stop, progress = stop or threading.Event(), progress or _silent
    limits = Options(options.time_limit_seconds, options.workers, options.seed)
    try:
        prepared = prepare(path, request, limits, Watch(stop, progress))
    except FaultError as error:
        raise infeasible.explained(path, request, error, options) from None
    job = _Planning(prepared, options, progress, on_plan, stop, request, hint, keep)
    return job.run()


def _silent(_what: str, _share: float | None) -> None:
    """No progress wanted."""


@dataclass(slots=True)
class _Planning:
    prepared: Prepared
    options: PlanOptions
    progress: Progress
    on_plan: Callable[[Plan], None] | None
    stop: threading.Event
    request: Request
    hint: Hint | None = None
    keep: Hint | None = None
    solves: int = 0
    """How often a changed problem was solved again."""
    begun: float = field(default_factory=time.monotonic)
    next_plan: float = 0.0
    """When the next better plan of many operations is handed on."""

    @property
    def problem(self) -> Problem:
        return self.prepared.built.problem

    def run(self) -> Plan:
        self.progress("solving", None)
        solution = self._solved()
        if solution.status == "infeasible":
            self.progress("looking for the reason", None)
            raise infeasible.why_not(self.prepared.source, self.prepared.hardware, self.request, self.options)
        if solution.makespan is None:
            return self._undecided(solution)
        if solution.status == "optimal":
            _, solution = leave_main_free(self.problem, solution, self._again)
        priced: assemble.Priced = {}
        if self.options.alternatives:
            solution, priced = self._priced(solution)
        out = self._plan(solution, priced)
        if self.options.why:
            out = self._with_levers(out, solution)
        if self.on_plan is not None:
            self.on_plan(out)
        return self._verified(out)

    def _solved(self) -> Solution:
        found = solver.solve(
            self.problem,
            self._limits(),
            hint=solution_of(self.hint, self.problem),
            on_solution=self._improved,
            stop=self.stop,
        )
        preferred = solution_of(self.keep, self.problem)
        if preferred is None or found.makespan is None or self.stop.is_set():
            return found
        # What is proved of the problem stays; only which of the equal plans it is may change.
        briefly = replace(self._limits(), time_limit_seconds=BRIEFLY_SECONDS)
        kept = solver.solve(self.problem, briefly, hint=preferred, stop=self.stop)
        proof = {f: getattr(found, f) for f in ("status", "stopped_by", "lower_bound", "stats")}
        return replace(kept, **proof) if kept.makespan == found.makespan else found

    def _limits(self) -> Options:
        return Options(self.options.time_limit_seconds, self.options.workers, self.options.seed)

    def _again(self, problem: Problem, hint: Solution) -> Solution:
        """A solve of a changed problem, starting from a plan of ours; undecided once the user has stopped us."""
        left = self._left()
        if self.stop.is_set() or left == 0:
            return replace(hint, status="unknown", makespan=None)
        limits = self._limits()
        self.solves += 1
        if left is not None:
            limits = replace(limits, time_limit_seconds=min(limits.time_limit_seconds, PRICING_SECONDS))
        return solver.solve(problem, limits, hint=hint, stop=self.stop)

    def _improved(self, solution: Solution) -> None:
        """Hands a better plan on; those of many operations seldom enough that writing them out costs little."""
        begin = time.monotonic()
        many = self._left() is not None
        if many:
            self.progress("solving", min((begin - self.begun) / max(self.options.time_limit_seconds, 1.0), 1.0))
        if self.on_plan is not None and (not many or begin >= self.next_plan):
            self.on_plan(self._plan(solution, {}))
            now = time.monotonic()
            self.next_plan = now + TOLD_EVERY * (now - begin)

    def _left(self) -> int | None:
        """How often a large problem may still be solved again; None where there is no limit."""
        count = len(self.problem.operations)
        return max(PRICED_OPERATIONS // count - self.solves, 0) if count > MANY_OPERATIONS else None

    def _priced(self, solution: Solution) -> tuple[Solution, assemble.Priced]:
        """The prices of other values, and the plan: one that is not proved is given up for a price below it."""
        for restart in range(RESTARTS + 1):
            better, priced = self._priced_once(solution, may_change=restart < RESTARTS)
            if better is None:
                break
            proof = {f: getattr(solution, f) for f in ("status", "stopped_by", "lower_bound", "stats")}
            solution = replace(better, **proof)
        return solution, priced

    def _priced_once(self, solution: Solution, *, may_change: bool) -> tuple[Solution | None, assemble.Priced]:
        """Prices; and instead of the rest of them the first plan that is shorter, if that `may_change` the plan."""
        most, better = self._left(), None
        total = sum(1 for _ in pricing.variants(self.problem, solution))
        total, done = total if most is None else min(total, most), 0

        def solve(problem: Problem, hint: Solution) -> Solution:
            nonlocal done, better
            if better is not None:
                return replace(hint, status="unknown", makespan=None)
            self.progress("pricing alternatives", done / total if total else None)
            done += 1
            found = self._again(problem, hint)
            if may_change and found.makespan is not None and found.makespan < (solution.makespan or 0):
                better = found
            return found

        priced = pricing.price(self.problem, solution, solve, most)
        return better, priced

    def _with_levers(self, out: Plan, solution: Solution) -> Plan:
        self.progress("pricing what binds", None)
        found = explain_faster.price(self.problem, out, solution, self._limits(), self.stop)
        return out.model_copy(update={"notes": (*out.notes, *explain_faster.notes(out, found))})

    def _verified(self, out: Plan) -> Plan:
        if not self.options.verify:
            return out
        self.progress("simulating", None)
        verified = verify.verified(out, self.options)
        if self.on_plan is not None:
            self.on_plan(verified)
        return verified

    def _plan(self, solution: Solution, priced: assemble.Priced) -> Plan:
        ops = assemble.planned_ops(self.problem, solution, priced)
        memory = assemble.memory(self.problem, solution)
        out = self._frame(solution).model_copy(
            update={
                "makespan_cycles": solution.makespan,
                "gap": _gap(solution.makespan, solution.lower_bound),
                "ops": ops,
                "memory": memory,
                "programs": assemble.programs(self.problem, solution),
                "chain": chain(self.problem, ops, memory),
            }
        )
        searched = tuple(Note(topic="layout_search", text=t) for t in self.prepared.source.notes)
        split = tuple(Note(topic="split", text=t) for t in self.prepared.source.splits)
        return out.model_copy(update={"notes": (*searched, *split, *notes.of(out))})

    def _undecided(self, solution: Solution) -> Plan:
        return self._frame(solution)

    def _frame(self, solution: Solution) -> Plan:
        source = self.prepared.source
        return Plan(
            kernel=source.kernel,
            hardware=self.prepared.hardware,
            sources=(Source(path=Path(source.path).name, sha256=source.sha256),),
            status=solution.status,
            stopped_by=solution.stopped_by,
            makespan_cycles=None,
            lower_bound_cycles=solution.lower_bound,
            gap=None,
            solver=SolverInfo(
                name=solution.stats.name,
                version=solution.stats.version,
                seed=self.options.seed,
                workers=self.options.workers,
                deterministic_time=solution.stats.deterministic_time,
                branches=solution.stats.branches,
                conflicts=solution.stats.conflicts,
            ),
            warnings=tuple(str(w) for w in self.prepared.built.warnings),
        )


def _gap(makespan: int | None, bound: int | None) -> float | None:
    if makespan is None or bound is None:
        return None
    return round((makespan - bound) / makespan, 6) if makespan else 0.0


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdict on one kernel: faults (errors and warnings), and the derived layout of every stage when legal."""

    name: str
    ok: bool
    faults: tuple[Fault, ...]
    built: Built | None = None
    expansion: tuple[str, ...] = ()
    """The operations that a program expands into, one a line; their layouts are searched when it is planned."""


def check(path: str | Path, request: Request = Request()) -> Checked:  # noqa: B008  # frozen, holds no state
    """Checks the rules of a kernel without planning it; faults are returned, not raised."""
    try:
        source = _read(path, request, Options())
        if source.program:
            lines = tuple(line for node in source.program for line in str(node).splitlines())
            return Checked(source.kernel.kernel, ok=True, faults=source.faults, expansion=lines)
        prepared = prepare(path, request)
    except FaultError as error:
        return Checked(Path(path).stem, ok=False, faults=error.faults)
    return Checked(prepared.source.kernel.kernel, ok=True, faults=tuple(prepared.built.warnings), built=prepared.built)
