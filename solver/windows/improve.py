"""From a plan to a better plan of the same problem, by windows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from solver.index import Index
from solver.placing import placed
from solver.rules.register_regions import uniform_slots
from solver.solution import BitmapLoad, Options, Solution
from solver.windows.board import Board, board
from solver.windows.repeat import LAYERS, period, repeated
from solver.windows.sweep import Limits, Sweeper
from solver.windows.timing import Timing, early, in_time

LAYERS_SHARE = 0.3
"""Of the time for the few layers that stand for all."""

SPARED = (0, 2, 4, 8, 12)
"""Percent of memories that is left free when addresses cannot be dealt out otherwise."""

REPORT_EVERY = 500
"""Of a plan with so many operations every second improvement is given places and reported, and so on."""


@dataclass(frozen=True, slots=True)
class Improved:
    """The best plan that has places, the deterministic time it took, and whether no window wins anything any more."""

    plan: Solution
    deterministic_time: float
    settled: bool = False


def improved(
    index: Index,
    plan: Solution,
    floor: int,
    options: Options,
    tell: Callable[[Solution], None] | None,
    stop: threading.Event | None,
    *,
    share: float = 1.0,
) -> Improved:
    """Improves a plan until its makespan is `floor`, the limit (a share of that of the options) or a local optimum.

    `tell` hears of every better plan.
    """
    made, frame = board(index, plan), index.hardware.kernel
    best, better = plan, 0

    def report(timing: Timing) -> None:
        nonlocal better
        better += 1
        if not better % (len(made.names) // REPORT_EVERY + 1):
            keep(timing)

    def keep(timing: Timing) -> None:
        nonlocal best
        found = _placed(index, made, plan, timing, options)
        if found is not None and (found.makespan or 0) < (best.makespan or 0):
            best = found
            if tell is not None:
                tell(best)

    start = _timing(made, plan, frame.first_start_cycles)
    if start is None:
        return Improved(plan, 0.0)
    sweeper = Sweeper(
        made,
        frame.first_start_cycles,
        floor - frame.final_sync_cycles,
        options,
        Limits.of(options, stop, share),
        None if tell is None else report,
    )
    start = _by_layers(sweeper, start)
    report(start)
    timing = sweeper.run(start)
    keep(timing)
    for spared in SPARED[1:]:
        if (best.makespan or 0) <= timing.last + frame.final_sync_cycles or sweeper.limits.reached():
            break
        # The timing has no places, only a longer one like it has: on with less room, in which there are.
        tight = replace(made, room=_less(made.room, spared))
        begin = early(tight, timing.order, timing.chosen, frame.first_start_cycles)
        if begin is None:
            break
        sweeper.turn_to(tight)
        timing = sweeper.run(begin)
        keep(timing)
    return Improved(best, sweeper.spent, not sweeper.limits.reached())


def _by_layers(sweeper: Sweeper, start: Timing) -> Timing:
    """Where equal layers repeat: a few of them planned, the others like them, if that is shorter."""
    made, step = sweeper.board, period(sweeper.board)
    if step is None:
        return start
    few = made.prefix(LAYERS * step)
    order = [item for item in start.order if item < len(few.names)]
    begin = early(few, order, start.chosen[: len(few.names)], sweeper.first)
    if begin is None:
        return start
    limits = sweeper.limits.part(LAYERS_SHARE)
    small = Sweeper(few, sweeper.first, 0, sweeper.options, limits)
    planned = small.run(begin)
    sweeper.limits.left -= small.spent
    sweeper.spent += small.spent
    chosen = [planned.chosen[i if i < len(few.names) else step + i % step] for i in range(len(made.names))]
    all_alike = early(made, repeated(made, planned, step), chosen, sweeper.first)
    return start if all_alike is None or all_alike.last >= start.last else all_alike


def _less(room: tuple[int, ...], spared: int) -> tuple[int, ...]:
    return tuple(r - r * spared // 100 for r in room)


def _placed(index: Index, made: Board, plan: Solution, timing: Timing, options: Options) -> Solution | None:
    """The plan of a timing; where memories are too broken up for it, one with the same order and some room to spare."""
    first = index.hardware.kernel.first_start_cycles
    for spared in SPARED:
        less = replace(made, room=_less(made.room, spared))
        tight = timing if not spared else early(less, timing.order, timing.chosen, first)
        if tight is None:
            return None
        found = placed(index, _solution(index, made, plan, tight), options, shift=False)
        if found is not None:
            return found
    return None


def _timing(made: Board, plan: Solution, first: int) -> Timing | None:
    """The plan's own order and modes on the board."""
    loads = [load.start for load in plan.loads]
    starts = [*(plan.starts[n] for n in made.names[: len(made.names) - len(loads)]), *loads]
    ends = [at + ways[0].cycles for at, ways in zip(starts, made.ways, strict=True)]
    return early(made, in_time(starts, ends), [0] * len(starts), first)


def _solution(index: Index, made: Board, plan: Solution, timing: Timing) -> Solution:
    """The plan with other starts and modes; its places are still to be given."""
    begin = dict(zip(made.names, timing.starts, strict=True))
    picked = {n: ways[k].mode for n, ways, k in zip(made.names, made.ways, timing.chosen, strict=True)}
    loads = [
        BitmapLoad(load.op, load.bitmap, at, at + load.end - load.start)
        for load, at in zip(plan.loads, timing.starts[len(made.names) - len(plan.loads) :], strict=True)
    ]
    modes = {n: picked[n] for n in index.ops if n in picked}
    last = max(timing.ends[: len(made.names) - len(plan.loads)], default=index.hardware.kernel.first_start_cycles)
    return replace(
        plan,
        makespan=last + index.hardware.kernel.final_sync_cycles,
        starts={n: begin[n] for n in modes},
        modes=modes,
        loads=tuple(sorted(loads, key=lambda load: load.start)),
        regions=plan.regions if _rows_stay(index, plan) else {},
        addresses={},
    )


def _rows_stay(index: Index, plan: Solution) -> bool:
    """Whether rows are settled by the plan: where they can be counted, they are dealt out afterwards."""
    rows = [p for p in index.places_in("trf") if p.name in plan.regions]
    return not uniform_slots(index, rows)
