"""Many variants: in chains of neighbours, on local processes or a cluster, one row each whatever becomes of it.

A variant starts from the plan of the one before it in its chain. Chains are cut by the numbers of the variants alone,
so that rows do not depend on how many processes there are, which is quicker, or where a stopped sweep went on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from planner.whatif_hint import Hint
from planner.whatif_rows import Row
from planner.whatif_run import Job, run
from planner.whatif_variants import Variant

CHAIN = 8
"""So many neighbours start from one another; each chain starts from the base and runs beside the others."""
MOST_DEATHS = 2
"""A variant whose process died so often is given up."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a sweep is."""

    done: int
    failed: int
    left: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where variants are planned: `start` makes what runs them, `width` is how many at a time."""

    start: Callable[[], Executor]
    width: int


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(processes: int | None, workers: int, variants: int) -> Iterator[Place]:
    """Processes of this machine; processes times solver workers never exceed its cores."""
    width = max(1, min(cores() // workers, variants, processes or cores()))
    if width == 1:
        yield Place(lambda: ThreadPoolExecutor(1, thread_name_prefix="variant"), 1)
        return
    context = multiprocessing.get_context("spawn")
    yield Place(lambda: ProcessPoolExecutor(width, context, initializer=_ignore_interrupt), width)


def _ignore_interrupt() -> None:
    """The parent hears Ctrl-C and ends the sweep; its processes finish what they are at."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def sweep(
    template: Job,
    variants: tuple[Variant, ...],
    place: Place,
    *,
    known: dict[int, Row],
    on_row: Callable[[Row], None],
    on_tally: Callable[[Tally], None],
) -> tuple[Row, ...]:
    """Plans all variants that are not known yet.

    Args:
        template: what all have in common: kernel, options, the base's row and hint.
        variants: in the order of their numbers.
        place: local processes or a cluster.
        known: rows of an earlier run by number; they are not planned again.
        on_row: called with each new row as it comes.
        on_tally: called before the first and after every row.

    """
    return _Sweep(template, variants, place, dict(known), on_row, on_tally).run()


@dataclass(slots=True)
class _Sweep:
    template: Job
    variants: tuple[Variant, ...]
    place: Place
    rows: dict[int, Row]
    on_row: Callable[[Row], None]
    on_tally: Callable[[Tally], None]
    ready: deque[Variant] = field(default_factory=deque)
    suspects: deque[Variant] = field(default_factory=deque)
    """Variants that ran when a process died; each is tried again alone."""
    deaths: dict[int, int] = field(default_factory=dict)
    running: dict[Future[Row], Variant] = field(default_factory=dict)

    def run(self) -> tuple[Row, ...]:
        chains = [self.variants[i : i + CHAIN] for i in range(0, len(self.variants), CHAIN)]
        self.ready.extend(v for chain in chains if (v := self._next(chain)) is not None)
        self._tell()
        executor = self.place.start() if self.ready else None
        try:
            while executor is not None and (self.ready or self.suspects or self.running):
                self._fill(executor)
                if self._drain():
                    executor.shutdown(wait=False)
                    executor = self.place.start()
        finally:
            for future in self.running:
                future.cancel()
            if executor is not None:
                executor.shutdown(wait=False)
        return tuple(self.rows[v.id] for v in self.variants)

    def _next(self, chain: tuple[Variant, ...]) -> Variant | None:
        return next((v for v in chain if v.id not in self.rows), None)

    def _fill(self, executor: Executor) -> None:
        width = 1 if self.suspects else self.place.width
        while len(self.running) < width and (self.suspects or self.ready):
            variant = self.suspects.popleft() if self.suspects else self.ready.popleft()
            job = replace(self.template, variant=variant, hint=self._hint(variant))
            self.running[executor.submit(run, job)] = variant

    def _hint(self, variant: Variant) -> Hint | None:
        """The plan of the nearest neighbour before it in its chain, else the base's."""
        at = self.variants.index(variant)
        before = [self.rows[v.id] for v in self.variants[at - at % CHAIN : at]]
        return next((r.hint for r in reversed(before) if r.hint is not None), self.template.hint)

    def _drain(self) -> bool:
        """Takes what is done; tells whether the executor broke and must be made anew."""
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        broken = False
        for future in sorted(done, key=lambda f: self.running[f].id):
            variant = self.running.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool | CancelledError):
                broken = True
                self._died(variant)
            else:
                self._take(future.result() if error is None else _failed(variant, _words(error)))
        return broken

    def _died(self, variant: Variant) -> None:
        self.deaths[variant.id] = self.deaths.get(variant.id, 0) + 1
        if self.deaths[variant.id] >= MOST_DEATHS:
            self._take(_failed(variant, "its process died, twice"))
        else:
            self.suspects.append(variant)

    def _take(self, row: Row) -> None:
        self.rows[row.id] = row
        self.on_row(row)
        at = next(i for i, v in enumerate(self.variants) if v.id == row.id)
        following = self._next(self.variants[at + 1 : at - at % CHAIN + CHAIN])
        if following is not None:
            self.ready.appendleft(following)
        self._tell()

    def _tell(self) -> None:
        mine = [self.rows[v.id] for v in self.variants if v.id in self.rows]
        failed = sum(not r.planned for r in mine)
        self.on_tally(Tally(len(mine) - failed, failed, len(self.variants) - len(mine)))


def _failed(variant: Variant, reason: str) -> Row:
    return Row(id=variant.id, changes=variant.changes, status="failed", reason=reason)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
