"""One solve of a large graph, measured in a process of its own; rows are kept in a file, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.decoder import LAYER_OPERATIONS, Kind, decoder
from models.graph import Problem
from solver import Options, Solution, solve, validate
from solver.bound import bound
from solver.index import Index
from solver.list_schedule import list_schedules
from solver.placing import placed

ROOT = Path(__file__).parent.parent
ROWS = Path(os.environ.get("SCALE_ROWS", ROOT / "build" / "scale.jsonl"))
WORKERS = 2
CLOCK = os.environ.get("SCALE_CLOCK", "wall")
"""`wall`, or `cpu` on a busy machine: seconds of the processor, two for each second of two workers."""


@dataclass(frozen=True)
class Row:
    """One solve: times in seconds, gaps in percent of the bound; `two_percent` None where it was never reached."""

    first: float
    two_percent: float | None
    total: float
    proved: bool
    gap: float
    list_gap: float
    lower_bound: int
    megabytes: float


def instance(kind: Kind, operations: int, seed: int) -> Problem:
    return decoder(-(-operations // LAYER_OPERATIONS), kind, seed, operations=operations)


def percent(makespan: int, lower: int) -> float:
    return 100 * (makespan / lower - 1)


def now() -> float:
    return time.monotonic() if CLOCK == "wall" else time.process_time() / WORKERS


def measured(kind: Kind, operations: int, seed: int, seconds: float) -> dict[str, Any]:
    """Solves an instance within so many seconds; a `Row` by name."""
    problem = instance(kind, operations, seed)
    stop, done, begin = threading.Event(), threading.Event(), now()
    told: list[tuple[float, int]] = []

    def watch() -> None:
        while not done.wait(0.05):
            if now() - begin > seconds:
                stop.set()

    def tell(plan: Solution) -> None:
        told.append((now() - begin, plan.makespan or 0))

    threading.Thread(target=watch, daemon=True).start()
    limit = seconds if CLOCK == "wall" else seconds * 20
    found = solve(problem, Options(limit, WORKERS, seed), on_solution=tell, stop=stop)
    total = now() - begin
    done.set()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert validate(problem, found) == ()
    assert found.makespan is not None
    lower = found.lower_bound
    near = [at for at, makespan in [*told, (total, found.makespan)] if makespan <= 1.02 * lower]
    return asdict(
        Row(
            told[0][0],
            min(near, default=None),
            total,
            found.status == "optimal",
            percent(found.makespan, lower),
            percent(listed(problem), lower),
            lower,
            megabytes,
        )
    )


def listed(problem: Problem) -> int:
    """The makespan of list scheduling alone."""
    index = Index(problem)
    plans = [placed(index, plan, Options()) for plan in list_schedules(index, bound(index))]
    return min(plan.makespan for plan in plans if plan is not None and plan.makespan is not None)


def other(kind: Kind, operations: int, seed: int, seconds: float) -> dict[str, Any]:
    """What PyJobShop makes of the same instance within the same time: its makespan, None without a plan."""
    from benchmarks.pyjobshop_model import makespan

    return {"makespan": makespan(instance(kind, operations, seed), seconds, WORKERS)}


def kept(measure: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """A measurement in a process of its own, or the row of an earlier run of the same sources."""
    key = [measure.__name__, *given, CLOCK, _sources()]
    lines = ROWS.read_text().splitlines() if ROWS.exists() else []
    for row in map(json.loads, lines):
        if row["key"] == key:
            return dict(row["found"])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(measure, given)
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    with ROWS.open("a") as file:
        file.write(json.dumps({"key": key, "found": found}) + "\n")
    return found


def _sources() -> str:
    """What the rows depend on: those of another solver do not count."""
    files = [*sorted((ROOT / "solver").rglob("*.py")), ROOT / "benchmarks" / "decoder.py"]
    files = [f for f in files if not f.name.startswith("layouts")]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]
