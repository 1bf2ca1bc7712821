"""Large graphs: `make bench-scale` prints the table of docs/scale.md. Legality is asserted, times are only measured.

Times are those of the processor, since a busy machine says nothing by its clock: two workers that run all the time use
two seconds in one. Every solve has a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.decoder import LAYER_OPERATIONS, Kind, decoder
from models.graph import Problem
from solver import Options, Solution, solve, validate
from solver.bound import bound
from solver.index import Index
from solver.list_schedule import list_schedules
from solver.placing import placed

WORKERS = 2
SEEDS = tuple(range(int(os.environ.get("SCALE_SEEDS", "3"))))
SIZES = ((300, 60.0), (1000, 60.0), (4000, 180.0))
"""Operations, and the seconds that a solve may take: as many of each worker."""

COLUMNS = ("instance", "operations", "first plan (s)", "2 percent (s)", "gap (%)", "list (%)", "PyJobShop (%)", "MB")


@dataclass(frozen=True)
class Row:
    """One solve: seconds of the processor, gaps in percent of the bound."""

    first_seconds: float
    two_percent_seconds: float | None
    proved_seconds: float | None
    gap: float
    list_gap: float
    other_gap: float | None
    megabytes: float


def instance(kind: Kind, operations: int, seed: int) -> Problem:
    return decoder(-(-operations // LAYER_OPERATIONS), kind, seed, operations=operations)


def measure(kind: Kind, operations: int, seconds: float, seed: int) -> Row:
    problem = instance(kind, operations, seed)
    stop, done = threading.Event(), threading.Event()
    begin = time.process_time()
    told: list[tuple[float, int]] = []

    def watch() -> None:
        while not done.wait(0.1):
            if time.process_time() - begin > seconds * WORKERS:
                stop.set()

    def tell(plan: Solution) -> None:
        told.append((time.process_time() - begin, plan.makespan or 0))

    threading.Thread(target=watch, daemon=True).start()
    # The clock may run on while others use the machine: the watch ends the solve.
    found = solve(problem, Options(seconds * 20, WORKERS, seed), on_solution=tell, stop=stop)
    done.set()
    spent = time.process_time() - begin
    assert validate(problem, found) == ()
    assert found.makespan is not None
    lower = found.lower_bound
    near = [at for at, makespan in told if makespan <= 1.02 * lower]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Row(
        told[0][0],
        min(near, default=None),
        spent if found.status == "optimal" else None,
        percent(found.makespan, lower),
        percent(listed(problem), lower),
        other(problem, lower, seconds) if operations <= 1000 else None,
        megabytes,
    )


def percent(makespan: int, lower: int) -> float:
    return 100 * (makespan / lower - 1)


def listed(problem: Problem) -> int:
    index = Index(problem)
    plans = [placed(index, plan, Options()) for plan in list_schedules(index, bound(index))]
    return min(plan.makespan for plan in plans if plan is not None and plan.makespan is not None)


def other(problem: Problem, lower: int, seconds: float) -> float | None:
    pytest.importorskip("pyjobshop", reason="pip install -e '.[bench]'")
    from benchmarks.pyjobshop_model import makespan

    found = makespan(problem, seconds, WORKERS)
    return None if found is None else percent(found, lower)


def in_a_process(*given: Any) -> Row:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, given)


def median(values: list[float | None]) -> str:
    """The median; a dash where more than half of the runs never got there."""
    known = sorted(float("inf") if v is None else v for v in values)
    middle = statistics.median_low(known)
    return "-" if middle == float("inf") else f"{middle:.2f}"


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    yield rows
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *rows]
    print("\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))  # noqa: T201  # the table is the point


@pytest.mark.long
@pytest.mark.parametrize(("operations", "seconds"), SIZES, ids=lambda v: str(v))
@pytest.mark.parametrize("kind", ["dma", "balanced"])
def test_scale(kind: Kind, operations: int, seconds: float, table: list[tuple[str, ...]]) -> None:
    rows = [in_a_process(kind, operations, seconds, seed) for seed in SEEDS]
    proved = median([r.proved_seconds for r in rows])
    gap = median([r.gap for r in rows]) + ("" if proved == "-" else f", proved in {proved} s")
    table.append(
        (
            kind,
            str(operations),
            median([r.first_seconds for r in rows]),
            median([r.two_percent_seconds for r in rows]),
            gap,
            median([r.list_gap for r in rows]),
            median([r.other_gap for r in rows]),
            f"{max(r.megabytes for r in rows):.0f}",
        )
    )
    assert all(0 <= r.gap <= r.list_gap for r in rows)
