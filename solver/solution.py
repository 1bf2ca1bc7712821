"""What the solver is asked for and what it answers: limits, the solution with its bound, and reasons for a no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from models.plan import Status, StoppedBy


@dataclass(frozen=True, slots=True)
class Options:
    """Limits of a solve.

    With one worker `time_limit_seconds` is turned into deterministic time, the same on every machine; with more it is
    wall time.
    """

    time_limit_seconds: float = 60.0
    workers: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """Who solved it, and how much work it was; `cuts` counts returns from the placing of addresses."""

    name: str = "CP-SAT"
    version: str = ""
    deterministic_time: float = 0.0
    branches: int = 0
    conflicts: int = 0
    cuts: int = 0


class BitmapLoad(NamedTuple):
    """The load of a custom snoop bitmap ahead of the first pass (`op`) that uses it; times in cycles."""

    op: str
    bitmap: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule at a place that helps to forbid every plan; `need` and `have` where the rule compares numbers."""

    rule: str
    ops: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    need: int | None = None
    have: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Solution:
    """A schedule with its decisions, or the reason why there is none.

    `status` says what is known of the problem, `stopped_by` why the search ended: a plan found before the limit is
    `feasible` and `time_limit`, one that no window improves any more `feasible` and `local_optimum`. `makespan` is None
    without a plan, `lower_bound` always holds. `starts` and `modes` lack optional operations that are absent. `regions`
    (region, first row) and `addresses` (bytes) are those of places: a buffer that relabels another one lies where that
    one lies. `infeasible`: rules that forbid any.
    """

    status: Status
    stopped_by: StoppedBy
    makespan: int | None
    lower_bound: int
    starts: Mapping[str, int] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    addresses: Mapping[str, int] = field(default_factory=dict)
    loads: tuple[BitmapLoad, ...] = ()
    stats: Stats = Stats()
    infeasible: tuple[Guard, ...] = ()
