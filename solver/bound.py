"""Lower bound of the makespan without search: longest path, machines with heads and tails, and pairs of machines.

Heads and tails are recursive: before an operation starts, every machine has served all its ancestors. One machine with
heads and tails is bounded by Jackson's preemptive schedule; two machines in a row are those of `solver/crossing.py`.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from models.graph import DMA, MAIN, SUB, Mode, Operation
from solver.crossing import Graph, crossing
from solver.index import Index
from solver.machines import machines

RECURSIVE_UP_TO = 6000
"""Operations up to which ancestors' load is counted per operation (its memory grows with the square)."""

EXACT_UP_TO = 48
"""Ancestors on a machine up to which Jackson's schedule is run; beyond, the late and the urgent ones are summed up."""

Array = npt.NDArray[Any]

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
    heads, served = _heads(index, present, on, frame.first_start_cycles, forward=True)
    tails, _ = _heads(index, present[::-1], on, 0, forward=False)
    best = max((heads[n] + index.min_cycles(n) + tails[n] for n in present), default=frame.first_start_cycles)
    for machine in units if index.order else ():
        best = max(best, preemptive((heads[n], w, tails[n]) for n, w in machine.items() if w))
    for pair in ({MAIN, SUB}, {SUB, DMA}, {MAIN, DMA}):
        best = max(best, _shared([(heads[n], w, tails[n]) for n in present if (w := _work(index.ops[n], pair))]))
    if served is not None:
        after = np.array([tails[n] for n in present], dtype=np.int64)
        graph = Graph(served.heads, served.works, after, served.distance)
        best = max([best, *(crossing(graph, a, b) for a, b in permutations(served.members, 2))])
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


def _heads(
    index: Index, order: list[str], on: Mapping[str, list[int]], first: int, *, forward: bool
) -> tuple[dict[str, int], _Served | None]:
    edges = index.before if forward else index.after
    number = {name: k for k, name in enumerate(order)}
    works = np.array([index.min_cycles(n) for n in order], dtype=np.int64)
    heads = np.full(len(order), first, dtype=np.int64)
    served = _Served(works, heads, on, order) if len(order) <= RECURSIVE_UP_TO else None
    for name, me in number.items():
        near = [
            (number[other], edge.lag_cycles)
            for edge in edges[name]
            if (other := edge.before if forward else edge.after) in number
        ]
        heads[me] = max((int(heads[p] + works[p]) + lag for p, lag in near), default=first)
        if served is not None and near:
            heads[me] = max(int(heads[me]), served.at(me, near))
        heads[me] = max(int(heads[me]), first)
    return {name: int(heads[me]) for name, me in number.items()}, served


class _Served:
    """When every machine can have served all ancestors of an operation, at the earliest.

    `distance[a, b]`: cycles from the end of ancestor b to the start of a along the longest path, -1 for no ancestor.
    """

    def __init__(self, works: Array, heads: Array, on: Mapping[str, list[int]], order: list[str]) -> None:
        self.works, self.heads = works, heads
        self.distance = np.full((len(order), len(order)), -1, dtype=np.int32)
        count = max((k for units in on.values() for k in units), default=-1) + 1
        members = [[m for m, name in enumerate(order) if k in on[name] and works[m]] for k in range(count)]
        self.members = [np.array(m, dtype=np.int64) for m in members]

    def at(self, me: int, near: list[tuple[int, int]]) -> int:
        """The bound for an operation whose direct ancestors, with their lags, are given."""
        row = self.distance[me]
        for p, lag in near:
            far = self.distance[p]
            np.maximum(row, np.where(far >= 0, far + (int(self.works[p]) + lag), -1), out=row)
            row[p] = max(int(row[p]), lag)
        return max((self._machine(row, members) for members in self.members), default=0)

    def _machine(self, row: Array, members: Array) -> int:
        jobs = members[row[members] >= 0]
        if len(jobs) < 2:
            return 0
        heads, works, tails = self.heads[jobs], self.works[jobs], row[jobs].astype(np.int64)
        if len(jobs) <= EXACT_UP_TO:
            return preemptive(zip(heads.tolist(), works.tolist(), tails.tolist(), strict=True))
        return max(_late(heads, works, tails), _late(tails, works, heads))


def _late(heads: Array, works: Array, tails: Array) -> int:
    """Jobs with the largest heads: the first of them starts no earlier, and the last has some tail."""
    by_head = np.argsort(-heads, kind="stable")
    return int((heads[by_head] + np.cumsum(works[by_head]) + np.minimum.accumulate(tails[by_head])).max())
