"""Windows one after the other over the whole schedule, until a bound is met, a limit, or nothing is won any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver.engine import DETERMINISTIC_PER_SECOND, configure
from solver.solution import Options
from solver.windows.board import Board
from solver.windows.frame import Frame
from solver.windows.model import Window, build
from solver.windows.timing import Timing, early, in_time, late

EFFORTS = ((48, 0.03), (48, 0.08), (64, 0.16), (96, 0.4), (140, 1.0))
"""Items of a window and deterministic time for it; the next when sweeps from all places win nothing."""

OVERHEAD = 0.004
"""Deterministic time that building a window counts for."""

OFFSETS = 3
"""Sweeps start at as many different places in turn."""


@dataclass(slots=True)
class Limits:
    """What a sweep may use: deterministic time always, wall time where several workers are asked for."""

    left: float
    until: float | None
    stop: threading.Event | None

    @classmethod
    def of(cls, options: Options, stop: threading.Event | None, share: float = 1.0) -> Limits:
        """A share of the limits of a solve."""
        seconds = options.time_limit_seconds * share
        until = time.monotonic() + seconds if options.workers > 1 else None
        return cls(seconds * DETERMINISTIC_PER_SECOND if until is None else float("inf"), until, stop)

    def part(self, share: float) -> Limits:
        """A share of what is left; what it uses is to be taken off by hand."""
        now = time.monotonic()
        return Limits(self.left * share, None if self.until is None else now + (self.until - now) * share, self.stop)

    def reached(self) -> bool:
        """Whether it is time to end."""
        late = self.until is not None and time.monotonic() >= self.until
        return late or self.left <= 0 or (self.stop is not None and self.stop.is_set())


@dataclass(frozen=True, slots=True)
class Found:
    """A window's new times: the shift of the block behind it, starts and ways of its items."""

    window: Window
    shift: int
    starts: dict[int, int]
    chosen: dict[int, int]


@dataclass(slots=True)
class Sweeper:
    """Improves timings of one board; `tell` hears of every better one, `floor` is a bound of the last end."""

    board: Board
    first: int
    floor: int
    options: Options
    limits: Limits
    tell: Callable[[Timing], None] | None = None
    mirrored: Board = field(init=False)
    spent: float = 0.0
    tick: int = 0
    barren: dict[tuple[int, int, float], int] = field(default_factory=dict)
    """When a window (position, width, effort) last won nothing."""
    won: list[int] = field(init=False)
    """When a window around each position last won something."""

    def __post_init__(self) -> None:
        self.mirrored = self.board.mirrored()
        self.won = [0] * len(self.board.names)

    def run(self, timing: Timing) -> Timing:
        """The best timing found."""
        sweep = 0
        for width, effort in _efforts(len(self.board.names)):
            barren = 0
            while barren < OFFSETS and timing.last > self.floor and not self.limits.reached():
                before = timing.last
                timing = self._sweep(timing, width, effort, sweep)
                sweep += 1
                barren = barren + 1 if timing.last == before else 0
        return timing

    def _sweep(self, timing: Timing, width: int, effort: float, sweep: int) -> Timing:
        frame = self._frame(timing)
        for lows in _lows(len(timing.order), width, sweep, self.options.workers):
            if frame is None or self.limits.reached() or frame.early.last <= self.floor:
                break
            windows = [
                Window(frame, low, min(low + width, len(timing.order)))
                for low in lows
                if self._fresh(low, width, effort)
            ]
            better = self._apply(frame, self._solve(windows, effort, sweep)) if windows else None
            self._remember(windows, effort, won=better is not None and better.last < timing.last)
            if better is not None:
                if better.last < timing.last and self.tell is not None:
                    self.tell(better)
                timing, frame = better, self._frame(better)
        return timing

    def _fresh(self, low: int, width: int, effort: float) -> bool:
        """Whether something was won nearby since the window was last tried in vain."""
        last = self.barren.get((low, width, effort), -1)
        return last < 0 or any(tick > last for tick in self.won[max(low - width, 0) : low + 2 * width])

    def _remember(self, windows: list[Window], effort: float, *, won: bool) -> None:
        self.tick += 1
        for w in windows:
            if won:
                self.won[w.low : w.high] = [self.tick] * (w.high - w.low)
            else:
                self.barren[w.low, w.high - w.low, effort] = self.tick

    def _frame(self, timing: Timing) -> Frame | None:
        latest = late(self.mirrored, timing)
        return None if latest is None else Frame(self.board, timing, latest, self.first)

    def _solve(self, windows: list[Window], effort: float, sweep: int) -> list[Found]:
        todo = [(w, least) for w in windows if (least := w.least_shift()) < 0]
        self.limits.left -= OVERHEAD * len(windows)
        if not todo:
            return []
        if len(todo) == 1:
            done = [self._one(todo[0], effort, sweep)]
        else:
            with ThreadPoolExecutor(len(todo)) as pool:
                done = list(pool.map(lambda job: self._one(job, effort, sweep), todo))
        spent = sum(d for _, d in done)
        self.limits.left -= spent
        self.spent += spent
        return [found for found, _ in done if found is not None]

    def _one(self, job: tuple[Window, int], effort: float, sweep: int) -> tuple[Found | None, float]:
        window, least = job
        shift = build(window, least)
        solver = cp_model.CpSolver()
        configure(solver, Options(effort / DETERMINISTIC_PER_SECOND, 1, self.options.seed + sweep), small=False)
        status = solver.solve(window.cp)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, solver.deterministic_time
        starts = {item: solver.value(var) for item, var in window.starts.items()}
        chosen = {
            item: next(k for k, lit in enumerate(literals) if solver.value(lit))
            for item, literals in window.chosen.items()
            if literals
        }
        return Found(window, solver.value(shift), starts, chosen), solver.deterministic_time

    def _apply(self, frame: Frame, found: list[Found]) -> Timing | None:
        """All windows together where that holds, or the best of them; None when nothing is at most as long."""
        if not found:
            return None
        order, chosen = list(frame.early.order), list(frame.early.chosen)
        for part in found:
            order[part.window.low : part.window.high] = sorted(part.starts, key=_by_start(frame, part))
            _choose(chosen, part)
        together = early(self.board, order, chosen, self.first) if len(found) > 1 else None
        best = min(found, key=lambda f: f.shift)
        if together is not None and together.last <= frame.early.last + best.shift:
            return together
        alone = self._alone(frame, best)
        return alone if alone is not None and alone.last <= frame.early.last else None

    def _alone(self, frame: Frame, found: Found) -> Timing | None:
        starts, ends, chosen = list(frame.early.starts), list(frame.early.ends), list(frame.early.chosen)
        _choose(chosen, found)
        for item in frame.early.order[found.window.high :]:
            starts[item] = frame.late.starts[item] + found.shift
            ends[item] = frame.late.ends[item] + found.shift
        for item, start in found.starts.items():
            starts[item] = start
            ends[item] = start + self.board.ways[item][chosen[item]].cycles
        return early(self.board, in_time(starts, ends), chosen, self.first)


def _choose(chosen: list[int], found: Found) -> None:
    for item, way in found.chosen.items():
        chosen[item] = way


def _by_start(frame: Frame, found: Found) -> Callable[[int], tuple[int, int, int]]:
    def key(item: int) -> tuple[int, int, int]:
        way = found.chosen.get(item, frame.early.chosen[item])
        return found.starts[item], found.starts[item] + frame.board.ways[item][way].cycles, item

    return key


def _efforts(count: int) -> Iterator[tuple[int, float]]:
    """Wider and longer, until one window holds everything for long."""
    yield from EFFORTS
    width, effort = EFFORTS[-1]
    while width < 2 * count:
        width, effort = width * 3 // 2, effort * 2
        yield width, effort


def _lows(count: int, width: int, sweep: int, workers: int) -> Iterator[Sequence[int]]:
    """First positions of windows that are solved together: half a window on each time, far from each other."""
    step = width // 2
    lows = list(range((sweep % OFFSETS) * step // OFFSETS, max(count - step // 2, 1), step))
    groups = min(workers, len(lows) // 4) or 1
    rows = -(-len(lows) // groups)
    for k in range(rows):
        yield lows[k::rows]
