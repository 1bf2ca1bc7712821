"""Runs CP-SAT: parameters, limits, and stopping from outside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from ortools.sat.python import cp_model

from solver.solution import Options

SMALL_CONSTRAINTS = 60
"""Constraints up to which searching at once is quicker than presolve, probing and linear relaxation."""

POLL_SECONDS = 0.05

DETERMINISTIC_PER_SECOND = 0.25
"""Deterministic time of CP-SAT per second on these models: about that on one core of 2020."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: the solver with its values, its verdict, and whether it was stopped from outside."""

    solver: cp_model.CpSolver
    status: cp_model.CpSolverStatus
    interrupted: bool

    @property
    def found(self) -> bool:
        """Whether there is a schedule."""
        return self.status in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def run(
    cp: cp_model.CpModel,
    options: Options,
    *,
    on_solution: Callable[[cp_model.CpSolverSolutionCallback], None] | None = None,
    stop: threading.Event | None = None,
    plain: bool = False,
    dynamic: bool = True,
) -> Run:
    """Solves in a thread of its own, so that Ctrl-C and `stop` end the search and not the program.

    `plain` leaves out presolve whatever the size; without `dynamic`, machines learn no precedences on the way.
    """
    solver = cp_model.CpSolver()
    configure(solver, options, small=plain or len(cp.proto.constraints) <= SMALL_CONSTRAINTS)
    solver.parameters.use_dynamic_precedence_in_disjunctive = dynamic
    if stop is None and on_solution is None and threading.current_thread() is not threading.main_thread():
        return Run(solver, solver.solve(cp), interrupted=False)
    callback = None if on_solution is None else _Callback(on_solution)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(solver.solve, cp, callback)
        interrupted = _wait(future, solver, stop)
        return Run(solver, future.result(), interrupted)


def _wait(future: Future[cp_model.CpSolverStatus], solver: cp_model.CpSolver, stop: threading.Event | None) -> bool:
    interrupted = False
    while not future.done():
        try:
            wait([future], POLL_SECONDS)
        except KeyboardInterrupt:
            interrupted = True
        interrupted = interrupted or (stop is not None and stop.is_set())
        if interrupted and not future.done():
            solver.stop_search()
    return interrupted


def configure(solver: cp_model.CpSolver, options: Options, *, small: bool) -> None:
    """Sets limits, seed and what the size of the model calls for."""
    p = solver.parameters
    p.random_seed = options.seed
    p.num_workers = options.workers
    p.catch_sigint_signal = False
    if options.workers == 1:
        p.max_deterministic_time = options.time_limit_seconds * DETERMINISTIC_PER_SECOND
    else:
        p.max_time_in_seconds = options.time_limit_seconds
    # Probing in CP-SAT 9.15 calls some feasible models with optional intervals infeasible.
    p.cp_model_probing_level = 0
    # Machines give weak relaxations and strong deductions: a tenth of the time on the loops measured.
    p.linearization_level = 0
    p.use_precedences_in_disjunctive_constraint = True
    p.use_strong_propagation_in_disjunctive = True
    p.use_dynamic_precedence_in_disjunctive = True
    if small:
        p.cp_model_presolve = False
        p.symmetry_level = 0


class _Callback(cp_model.CpSolverSolutionCallback):
    def __init__(self, action: Callable[[cp_model.CpSolverSolutionCallback], None]) -> None:
        super().__init__()
        self._action = action

    def on_solution_callback(self) -> None:
        """Hands every better solution on."""
        self._action(self)
