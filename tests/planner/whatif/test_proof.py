"""Optimal, feasible, infeasible and undecided are different answers; enumeration is the second opinion."""

from __future__ import annotations

import threading

import pytest

import solver
from solver import Options
from solver.bound import bound
from solver.explain import explain
from solver.index import Index
from tests.solver.brute_force import optimum
from tests.solver.problems import gemm, random_problem, tiled_scale

LIMITS = Options(time_limit_seconds=20)


@pytest.mark.parametrize("seed", range(7000, 7090))
def test_enumeration_confirms_the_optimum_and_the_no(seed):
    problem = random_problem(seed, 4)
    found, best = solver.solve(problem, LIMITS), optimum(problem)
    assert found.makespan == best
    assert found.stopped_by == "proof"
    if best is None:
        assert found.status == "infeasible"
        core = explain(problem, LIMITS)
        assert core is not None
        assert core.confirmed
    else:
        assert (found.status, found.lower_bound) == ("optimal", best)
        assert bound(Index(problem)).makespan <= best


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8000, 8120))
def test_enumeration_confirms_more_of_them(seed):
    problem = random_problem(seed, 6)
    assert solver.solve(problem, LIMITS).makespan == optimum(problem)


def test_a_limit_leaves_a_plan_with_a_gap_or_none_but_no_proof():
    stop = threading.Event()
    stop.set()
    found = solver.solve(tiled_scale(12), Options(time_limit_seconds=0.0), stop=stop)
    assert found.status in ("feasible", "unknown")
    assert found.stopped_by in ("interrupt", "time_limit")
    if found.makespan is not None:
        assert found.lower_bound <= found.makespan


def test_the_bound_of_a_proof_is_its_makespan():
    found = solver.solve(gemm(), LIMITS)
    assert (found.status, found.lower_bound) == ("optimal", found.makespan)
