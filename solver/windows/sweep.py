"""Windows one after the other over the whole schedule, until a bound is met, a limit, or nothing is won any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from solver.engine import DETERMINISTIC_PER_SECOND, run
from solver.solution import Options
from solver.windows.board import Board
from solver.windows.frame import Frame, Stretch
from solver.windows.model import Window, build
from solver.windows.repeat import in_order
from solver.windows.timing import Timing, Walk, early, in_time, late

EFFORTS = ((48, 0.03), (48, 0.08), (64, 0.16), (96, 0.4), (140, 1.0))
"""Items of a window and deterministic time for it; the next when sweeps from all places win nothing."""

WHOLE_UP_TO, WHOLE_EFFORT, WHOLE_AFTER = 320, 4.0, 64
"""So few items are tried in one window as well, before windows get wider than this: loads in a row need all in view."""

OVERHEAD = 0.004
"""Deterministic time that building a window counts for."""

OFFSETS = 3
"""Sweeps start at as many different places in turn."""

LEAST, PART = 4, 250
"""Windows after which the whole schedule is timed again: so many, or one for so many items where these are more."""

Parts = Sequence[Sequence[int]]
"""First positions of windows, for each worker."""


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

    def most(self, effort: float) -> float:
        """So much deterministic time for one window, or what is left."""
        left = self.left if self.until is None else (self.until - time.monotonic()) * DETERMINISTIC_PER_SECOND
        return max(min(effort, left), 0.0)

    def reached(self) -> bool:
        """Whether it is time to end."""
        late = self.until is not None and time.monotonic() >= self.until
        return late or self.left <= 0 or (self.stop is not None and self.stop.is_set())


@dataclass(frozen=True, slots=True)
class Done:
    """What windows in a part of the order came to: positions [low, high), the order and ways, deterministic time."""

    low: int
    high: int
    order: tuple[int, ...]
    chosen: tuple[int, ...]
    won: int
    spent: float


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

    def turn_to(self, board: Board) -> None:
        """Goes on with other room in the memories."""
        self.board, self.mirrored = board, board.mirrored()
        self.barren.clear()

    def run(self, timing: Timing) -> Timing:
        """The best timing found."""
        sweep = 0
        for width, effort in _efforts(len(self.board.names)):
            barren = 0
            while barren < OFFSETS and timing.last > self.floor:
                if self.limits.reached():
                    return timing
                before = timing.last
                timing = self._sweep(timing, width, effort, sweep)
                sweep += 1
                barren = barren + 1 if timing.last == before else 0
        return timing

    def _sweep(self, timing: Timing, width: int, effort: float, sweep: int) -> Timing:
        for parts in _parts(len(timing.order), width, sweep, self.options.workers):
            if self.limits.reached() or timing.last <= self.floor:
                break
            latest = late(self.mirrored, timing)
            if latest is None:
                break
            better = timing
            for done in self._together(Frame(self.board, timing, latest, self.first), parts, width, effort, sweep):
                better = self._taken_on(better, latest if better is timing else late(self.mirrored, better), done)
            if better.last < timing.last and self.tell is not None:
                self.tell(better)
            timing = better
        return timing

    def _together(self, frame: Frame, parts: Parts, width: int, effort: float, sweep: int) -> list[Done]:
        def one(lows: Sequence[int]) -> Done:
            return self._part(frame, lows, width, effort, sweep)

        if len(parts) == 1:
            done = [one(parts[0])]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                done = list(pool.map(one, parts))
        self.spent += sum(d.spent for d in done)
        return [d for d in done if d.high > d.low]

    def _part(self, frame: Frame, lows: Sequence[int], width: int, effort: float, sweep: int) -> Done:
        """Windows one after the other; each of them sees what those before it changed."""
        at, spent, high = Stretch(frame, lows[0]), 0.0, lows[0]
        for low in lows:
            stop = min(low + width, len(at.order))
            if self.limits.reached() or at.last <= self.floor or not at.advance(low, stop):
                break
            if self._fresh(low, width, effort):
                won, took = self._one(Window(at, low, stop), effort, sweep)
                self._remember(low, width, effort, won=won)
                self.limits.left -= took + OVERHEAD
                spent, high = spent + took + OVERHEAD, stop
        return Done(lows[0], high, tuple(at.order[lows[0] : high]), tuple(at.chosen), at.won, spent)

    def _fresh(self, low: int, width: int, effort: float) -> bool:
        """Whether something was won nearby since the window was last tried in vain."""
        last = self.barren.get((low, width, effort), -1)
        return last < 0 or any(tick > last for tick in self.won[max(low - width, 0) : low + 2 * width])

    def _remember(self, low: int, width: int, effort: float, *, won: bool) -> None:
        self.tick += 1
        if won:
            high = min(low + width, len(self.won))
            self.won[low:high] = [self.tick] * (high - low)
        else:
            self.barren[low, width, effort] = self.tick

    def _one(self, window: Window, effort: float, sweep: int) -> tuple[bool, float]:
        """Whether a window won something, which it then has taken on; deterministic time."""
        least = window.least_shift()
        if not least:
            return False, 0.0
        shift = build(window, least)
        seconds = self.limits.most(effort) / DETERMINISTIC_PER_SECOND
        done = run(window.cp, Options(seconds, 1, self.options.seed + sweep), stop=self.limits.stop)
        solver = done.solver
        if not done.found:
            return False, solver.deterministic_time
        starts = {item: solver.value(var) for item, var in window.starts.items()}
        ways = {
            item: next(k for k, lit in enumerate(literals) if solver.value(lit))
            for item, literals in window.chosen.items()
            if literals
        }
        at, won = window.at, solver.value(shift)

        def by_start(item: int) -> tuple[int, int, int]:
            cycles = at.board.ways[item][ways.get(item, at.chosen[item])].cycles
            return starts[item], starts[item] + cycles, item

        return at.settle(sorted(starts, key=by_start), ways, won) and won < 0, solver.deterministic_time

    def _taken_on(self, timing: Timing, latest: Timing | None, done: Done) -> Timing:
        """A timing with what a part came to, where that is at most as long.

        Everything behind the part is as late as it can be: in that order memories surely suffice.
        """
        mine = set(done.order)
        slots = [k for k, item in enumerate(timing.order) if item in mine]
        order, chosen = list(timing.order), list(timing.chosen)
        for slot, item in zip(slots, done.order, strict=True):
            order[slot], chosen[item] = item, done.chosen[item]
        high = slots[-1] + 1
        if high - slots[0] > len(slots):
            # Another part has moved items in between, which edges may hold before or behind what now stands there.
            place = {item: k for k, item in enumerate(order)}
            order = in_order(self.board, [place[item] for item in range(len(order))])
            high = max(k for k, item in enumerate(order) if item in mine) + 1
        starts, ends = list(timing.starts), list(timing.ends)
        if latest is None or not Walk(self.board, self.first).go(order[:high], chosen, starts, ends):
            return timing
        for item in order[high:]:
            starts[item], ends[item] = latest.starts[item] - done.won, latest.ends[item] - done.won
        found = early(self.board, in_time(starts, ends), chosen, self.first)
        return timing if found is None or found.last > timing.last else found


def _efforts(count: int) -> Iterator[tuple[int, float]]:
    """Wider and longer, until one window holds everything for long."""
    yield from (e for e in EFFORTS if e[0] <= WHOLE_AFTER)
    if count <= WHOLE_UP_TO:
        yield count, WHOLE_EFFORT
    yield from (e for e in EFFORTS if e[0] > WHOLE_AFTER)
    width, effort = EFFORTS[-1]
    while width < 2 * count:
        width, effort = width * 3 // 2, effort * 2
        yield width, effort


def _parts(count: int, width: int, sweep: int, workers: int) -> Iterator[Parts]:
    """First positions of windows, half a window on each time, in parts that workers go through at the same time."""
    step = width // 2
    begin = (sweep % OFFSETS) * step // OFFSETS if width < count else 0
    lows = list(range(begin, max(count - step // 2, 1), step if width < count else count))
    if not lows:
        return
    groups = min(workers, len(lows) // LEAST) or 1
    size = min(max(count // PART, LEAST), -(-len(lows) // groups))
    parts = [lows[k : k + size] for k in range(0, len(lows), size)]
    rows = -(-len(parts) // groups)
    for k in range(rows):
        yield parts[k::rows]
