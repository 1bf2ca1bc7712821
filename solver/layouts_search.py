"""Solving the choice of layouts: a first choice, better ones a few operations at a time, then the model whole."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ortools.sat.python import cp_model

from models.plan import StoppedBy
from solver.engine import Run, run
from solver.layouts import LayoutChoice, LayoutProblem, LayoutSolution
from solver.layouts_list import Lister, load_bound
from solver.layouts_model import LayoutModel
from solver.solution import Options

AT_ONCE_UP_TO, WHOLE_UP_TO = 4, 10
"""Operations up to which the model is solved whole at once, and up to which it is solved whole at the end."""
FREE_TOGETHER = 4
"""Operations, neighbours in the program, whose candidates are chosen anew while the others keep theirs."""
FIRST_SHARE, LOCAL_SHARE = 0.3, 0.5
"""Of the time, for the first choice and for the better ones together."""
LISTED_PER_SECOND = 300
"""List schedules for each second of the limit."""


@dataclass(slots=True)
class _Search:
    model: LayoutModel
    options: Options
    stop: threading.Event | None
    start: dict[str, int]
    best: list[int] = field(default_factory=list)
    makespan: int | None = None
    last: Run | None = None
    interrupted: bool = False

    def run(self, *, rough: bool) -> None:
        """Leaves the best choice in `best`, and in `last` the run of the whole model where there was one."""
        names = list(self.model.chosen)
        if len(names) <= AT_ONCE_UP_TO:
            self.last = self._solved(self.model.cp, 1.0)
            if self.best or self.interrupted or self.last.status == cp_model.INFEASIBLE:
                return
        self._listed()
        windows = list(_windows(names)) if self.best and not rough else []
        for window in windows:
            if not self.interrupted:
                taken = self._taken()
                self._fixed({n: taken[n] for n in names if n not in window}, LOCAL_SHARE / len(windows))
        if self.last is None and (not self.best or (len(names) <= WHOLE_UP_TO and not rough)):
            self.last = self._solved(self.model.cp, 1.0 - FIRST_SHARE - LOCAL_SHARE)

    def _listed(self) -> None:
        share = 1.0 if not self.start else FIRST_SHARE
        most = int(self.options.time_limit_seconds * LISTED_PER_SECOND * share)
        listed = Lister(self.model.problem, most, self.start).search()
        if listed is not None:
            self._solved(self.model.pinned(listed), FIRST_SHARE)
            if not self.best:
                # List schedules do not look at memory.
                self._fixed(dict(listed.candidates), FIRST_SHARE)

    def _taken(self) -> dict[str, int]:
        return {n: next(i for i, v in enumerate(vs) if self.best[v.index]) for n, vs in self.model.chosen.items()}

    def _fixed(self, candidates: dict[str, int], share: float) -> None:
        """Solves with some candidates given."""
        part = self.model.cp.clone()
        for name, i in candidates.items():
            part.add(part.get_bool_var_from_proto_index(self.model.chosen[name][i].index) == 1)
        self._solved(part, share)

    def _solved(self, cp: cp_model.CpModel, share: float) -> Run:
        if self.best:
            cp.clear_hints()  # type: ignore[no-untyped-call]
            for index, value in enumerate(self.best):
                cp.add_hint(cp.get_int_var_from_proto_index(index), value)
        limit = replace(self.options, time_limit_seconds=self.options.time_limit_seconds * share)
        # Dynamic precedences abort CP-SAT 9.15 on some models with many optional intervals.
        found = run(cp, limit, stop=self.stop, dynamic=False)
        self.interrupted = self.interrupted or found.interrupted
        if found.found and (self.makespan is None or found.solver.objective_value < self.makespan):
            self.best = list(found.solver.response_proto.solution)
            self.makespan = int(found.solver.objective_value)
        return found


def _windows(names: list[str]) -> Iterator[frozenset[str]]:
    """Neighbours, each half of them twice."""
    step = FREE_TOGETHER // 2
    for at in range(0, max(1, len(names) - step), step):
        yield frozenset(names[at : at + FREE_TOGETHER])


def choose(
    problem: LayoutProblem,
    options: Options = Options(),  # noqa: B008  # frozen, holds no state
    *,
    forbidden: Iterable[LayoutChoice] = (),
    start: LayoutChoice | None = None,
    rough: bool = False,
    stop: threading.Event | None = None,
) -> LayoutSolution:
    """The choice with the shortest schedule of all that are not forbidden.

    Resources serve one work at a time; a work starts when what it reads is there. Addresses, register files
    and loads of bitmaps are left out, so no plan of a choice is shorter than the model says.

    Args:
        problem: operations with candidates, and the routes between them.
        options: the limit, workers and seed.
        forbidden: choices that are not wanted again.
        start: a choice to begin with, where there are more than a few operations.
        rough: list schedules alone will do, where there are more than a few operations.
        stop: set it to stop early; the best choice so far is returned.

    """
    model = LayoutModel(problem)
    model.build(forbidden)
    search = _Search(model, options, stop, dict(start.candidates) if start else {})
    search.run(rough=rough)
    stopped: StoppedBy = "interrupt" if search.interrupted else "time_limit"
    bound = load_bound(problem)
    if search.last is not None:
        if search.last.status == cp_model.INFEASIBLE:
            return LayoutSolution("infeasible", "proof", None, None, 0)
        bound = max(bound, int(search.last.solver.best_objective_bound))
    if search.makespan is None:
        return LayoutSolution("unknown", stopped, None, None, bound)
    choice = model.answer(search.best)
    if bound >= search.makespan:
        return LayoutSolution("optimal", "proof", choice, search.makespan, search.makespan)
    return LayoutSolution("feasible", stopped, choice, search.makespan, bound)
