"""Loops by their steady state: counts bound the makespan, and their pattern is as good as the bound says."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from models.graph import DMA, MAIN, SUB, Edge, Mode, Operation, Problem
from models.presets.load import load_hardware
from solver import Options, solve, validate
from solver.bound import bound
from solver.index import Index
from solver.steady_state import patterns, steady_state

FRAME = load_hardware().kernel


def mode(name: str, cycles: int, *holds: str) -> Mode:
    return Mode(name, {"context": name}, frozenset(holds), cycles, name)


def loop(count: int, main: int, sub: int, use: int) -> Problem:
    """A store that Main or Sub may do, and its use on Main, in every iteration."""
    ops = [Operation("load", "load", "dma", (mode("dma", 10, DMA),))]
    edges = []
    for i in range(count):
        at = (("i", i),)
        ops.append(Operation(f"store[{i}]", "store", "pass", (mode("main", main, MAIN), mode("sub", sub, SUB)), at))
        ops.append(Operation(f"use[{i}]", "use", "pass", (mode("main", use, MAIN),), at))
        edges += [Edge("load", f"store[{i}]", "data"), Edge(f"store[{i}]", f"use[{i}]", "data")]
    return Problem(tuple(ops), tuple(edges), (), load_hardware())


def least_load(count: int, main: int, sub: int, use: int) -> int:
    """By trying every number of stores on Main."""
    return min(max(count * use + n * main, (count - n) * sub) for n in range(count + 1))


@pytest.mark.parametrize(("count", "main", "sub", "use"), list(product((2, 5, 16), (3, 7), (5, 9, 20), (1, 4, 11))))
def test_the_bound_holds_and_is_that_of_the_loads(count, main, sub, use):
    problem = loop(count, main, sub, use)
    index = Index(problem)
    found = steady_state(index, bound(index), Options())
    assert found is not None
    solved = solve(problem, Options(time_limit_seconds=10))
    assert solved.makespan is not None
    assert found.makespan <= solved.makespan
    assert found.makespan >= FRAME.first_start_cycles + least_load(count, main, sub, use) + FRAME.final_sync_cycles
    assert solved.status == "optimal"
    assert not validate(problem, solved)


def test_the_pattern_keeps_the_counts_and_spreads_them():
    problem = loop(64, 391, 775, 521)
    index = Index(problem)
    found = steady_state(index, bound(index), Options())
    assert found is not None
    for settled in patterns(index, found):
        chosen = [o.modes[0].id for o in settled.operations if o.base == "store"]
        assert all(len(o.modes) == 1 for o in settled.operations)
        loads = [max(64 * 521 + n * 391, (64 - n) * 775) for n in range(65)]
        # the first store and the last use stand outside of the loads that balance
        assert loads[chosen.count("main")] <= min(loads) + 521
        gaps = [i for i, m in enumerate(chosen) if m == "main"]
        apart = [b - a for a, b in pairwise(gaps)]
        assert max(apart) - min(apart) <= 1


def test_a_long_loop_is_planned_without_search():
    """64 iterations are as quick as few: the first plan meets the bound, CP-SAT is not asked for starts."""
    solved = solve(loop(64, 391, 775, 521), Options(time_limit_seconds=10))
    assert solved.status in ("optimal", "feasible")
    assert solved.makespan is not None
    assert (solved.makespan - solved.lower_bound) / solved.makespan < 0.01


def test_no_choice_no_steady_state():
    problem = loop(4, 3, 5, 1)
    ops = tuple(Operation(o.name, o.base, o.kind, o.modes[:1], o.iteration) for o in problem.operations)
    index = Index(Problem(ops, problem.edges, (), problem.hardware))
    assert steady_state(index, bound(index), Options()) is None
