"""Lower bound of the makespan in plain Python: longest path, and machines with heads and tails.

Heads and tails are recursive: before an operation starts, every machine has served all its ancestors. One machine with
heads and tails is bounded by Jackson's preemptive schedule.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.graph import DMA, MAIN, SUB, Mode, Operation
from solver.index import Index
from solver.machines import machines

RECURSIVE_UP_TO = 800
"""Operations up to which ancestors' load is counted per operation (its cost grows with the square)."""

Job = tuple[int, int, int]
"""Head, work, tail in cycles."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Earliest start of every operation, cycles from its end to the last end, and the bound of the makespan."""

    heads: Mapping[str, int]
    tails: Mapping[str, int]
    makespan: int


def preemptive(jobs: Iterable[Job]) -> int:
    """Least possible max(completion + tail) on one machine that may interrupt jobs (Jackson)."""
    todo = sorted(jobs)
    ready: list[list[int]] = []
    now = best = 0
    at = 0
    while at < len(todo) or ready:
        if not ready:
            now = max(now, todo[at][0])
        while at < len(todo) and todo[at][0] <= now:
            heapq.heappush(ready, [-todo[at][2], todo[at][1]])
            at += 1
        until = todo[at][0] if at < len(todo) else now + ready[0][1]
        step = min(ready[0][1], until - now)
        now += step
        ready[0][1] -= step
        if not ready[0][1]:
            best = max(best, now - heapq.heappop(ready)[0])
    return best


def bound(index: Index) -> Bound:
    """Heads, tails and the bound; optional operations count as absent, so it holds for every choice."""
    present = [n for n in index.order or () if index.ops[n].requires is None]
    frame = index.hardware.kernel
    units = machines(index)
    on: dict[str, list[int]] = defaultdict(list)
    for k, machine in enumerate(units):
        for name in machine:
            on[name].append(k)
    heads = _heads(index, present, on, frame.first_start_cycles, forward=True)
    tails = _heads(index, present[::-1], on, 0, forward=False)
    best = max((heads[n] + index.min_cycles(n) + tails[n] for n in present), default=frame.first_start_cycles)
    for machine in units if index.order else ():
        best = max(best, preemptive((heads[n], w, tails[n]) for n, w in machine.items() if w))
    for pair in ({MAIN, SUB}, {SUB, DMA}, {MAIN, DMA}):
        best = max(best, _shared([(heads[n], w, tails[n]) for n in present if (w := _work(index.ops[n], pair))]))
    return Bound(heads, tails, best + frame.final_sync_cycles)


def _work(op: Operation, resources: set[str]) -> int:
    """Cycles that an operation takes of the resources together, whatever its mode."""

    def of(mode: Mode) -> int:
        return mode.cycles * len(mode.holds & resources)

    return min((of(m) for m in op.modes), default=0)


def _shared(jobs: list[Job]) -> int:
    """Two machines share the work evenly at best."""
    if not jobs:
        return 0
    return min(h for h, _, _ in jobs) + -(-sum(w for _, w, _ in jobs) // 2) + min(t for _, _, t in jobs)


def _heads(index: Index, order: list[str], on: Mapping[str, list[int]], first: int, *, forward: bool) -> dict[str, int]:
    edges = index.before if forward else index.after
    recursive = len(order) <= RECURSIVE_UP_TO
    works = {n: index.min_cycles(n) for n in order}
    heads: dict[str, int] = {}
    distance: dict[str, dict[str, int]] = {}
    for name in order:
        near = [
            (edge.before if forward else edge.after, edge.lag_cycles)
            for edge in edges[name]
            if (edge.before if forward else edge.after) in heads
        ]
        head = max((heads[p] + index.min_cycles(p) + lag for p, lag in near), default=first)
        if recursive:
            distance[name] = _distances(index, near, distance)
            head = max(head, _served(distance[name], works, on, heads))
        heads[name] = max(head, first)
    return heads


def _distances(index: Index, near: list[tuple[str, int]], distance: dict[str, dict[str, int]]) -> dict[str, int]:
    """Cycles from the end of each ancestor to the start of an operation, along the longest path."""
    out: dict[str, int] = {}
    for p, lag in near:
        out[p] = max(out.get(p, 0), lag)
        along = lag + index.min_cycles(p)
        for ancestor, cycles in distance[p].items():
            if cycles + along > out.get(ancestor, -1):
                out[ancestor] = cycles + along
    return out


def _served(
    ancestors: dict[str, int], works: dict[str, int], on: Mapping[str, list[int]], heads: dict[str, int]
) -> int:
    """When every machine can have served all ancestors, at the earliest."""
    if len(ancestors) < 2:
        return 0
    jobs: dict[int, list[Job]] = defaultdict(list)
    for name, tail in ancestors.items():
        for machine in on[name] if works[name] else ():
            jobs[machine].append((heads[name], works[name], tail))
    return max((preemptive(js) for js in jobs.values() if len(js) > 1), default=0)
