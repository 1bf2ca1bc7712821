"""The shortest kernel of one statement over rows: layouts by bounds, the lowest first, until none can be shorter."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count

from models.hardware import Hardware
from models.kernel import Kernel
from planner.passes import target
from planner.program.operations import Rows
from planner.search import bounds, rows_bounds
from planner.search.fragment import touched
from planner.search.kernels import Assembly, Judged, judge
from planner.search.options import Ending, Finder, Option
from planner.search.rows import RowLayout, layouts
from planner.search.single import Found
from planner.search.watch import Watch
from solver import Options

QUESTIONS_PER_SECOND = 8
"""About what one processor asks: every one prices all passes of a layout, or plans a kernel."""


_RARELY = 16
"""One question in so many is a plan, whatever bounds are open."""


@dataclass(slots=True)
class RowSearch:
    """Searches one statement over rows whose tensors lie in HBM; `head` is the kernel without operations."""

    node: Rows
    finder: Finder
    hardware: Hardware
    head: Kernel
    options: Options = field(default_factory=Options)
    watch: Watch = field(default_factory=Watch)
    asked: dict[str, int] = field(default_factory=lambda: {"layouts": 0, "plans": 0})

    def run(self, seconds: float) -> Found:
        """The best kernel; `proved` when every other layout has a bound at or above it."""
        tie = count()
        open_: list[tuple[int, int, RowLayout]] = [
            (self._floor(layout), next(tie), layout)
            for layout in layouts(self.node, dict(self.head.axes), self.hardware)
            if self.finder.may_be(self.node, layout)
        ]
        priced: list[tuple[int, int, Option, Ending]] = []
        heapq.heapify(open_)
        best: Judged | None = None
        most = int(seconds * QUESTIONS_PER_SECOND)
        for turn in range(most):
            self.watch.progress("searching layouts", turn / most)
            if best is not None and self.watch.stopped:
                break
            least = self._least(open_, priced)
            if least is None or (best is not None and least >= (best.makespan or 0)):
                break
            # Now and then the best that is priced is planned although a layout with a lower bound is open: a plan in
            # hand ends the search earlier.
            if priced and (not open_ or priced[0][0] <= open_[0][0] or turn % _RARELY == 0):
                _, _, option, ending = heapq.heappop(priced)
                found = self._planned(option, ending)
                if found is not None and (best is None or (found.makespan or 0) < (best.makespan or 0)):
                    best = found
                continue
            bound, _, layout = heapq.heappop(open_)
            for ending, cycles, option in self._ways(layout):
                heapq.heappush(priced, (max(bound, cycles), next(tie), option, ending))
        lowest = self._least(open_, priced)
        proved = best is not None and (lowest is None or lowest >= (best.makespan or 0))
        return Found(best, (best.makespan if best and proved else lowest) or 0, proved, self.asked)

    @staticmethod
    def _least(open_: list[tuple[int, int, RowLayout]], priced: list[tuple[int, int, Option, Ending]]) -> int | None:
        return min((heap[0][0] for heap in (open_, priced) if heap), default=None)

    def _floor(self, layout: RowLayout) -> int:
        name = self.node.out.name
        sizes, hbm = dict(self.head.axes), frozenset(self.finder.hbm)
        least = rows_bounds.floor_cycles(
            self.node, layout, sizes, self.hardware, hbm, stored=name in self.finder.outputs
        )
        return bounds.frame_cycles(self.hardware) + least

    def _ways(self, layout: RowLayout) -> list[tuple[Ending, int, Option]]:
        """The ways to store from a layout, each with a bound from the laws."""
        self.asked["layouts"] += 1
        option = self.finder.row_option(self.node, layout)
        if option is None:
            return []
        before = bounds.frame_cycles(self.hardware) + _span(option)
        return [(e, before + e.move_cycles + e.store_cycles, option) for e in option.endings]

    def _planned(self, option: Option, ending: Ending) -> Judged | None:
        self.asked["plans"] += 1
        head, made = self.head, option.fragment
        out = Assembly(head.kernel, head.axes, head.tensors, head.hardware, head.description)
        for need in made.needs:
            out.load(need.tensor, need.place, need.buffer)
        out.run(made, {})
        if ending.move is not None:
            out.move(ending.move)
        out.store(ending.buffer or made.buffer, self.node.out.name)
        return judge(out.kernel(), self.hardware, self.options)


def _span(option: Option) -> int:
    """From the first load to the last pass, by the laws' prices."""
    made = option.fragment
    loads = {n.buffer: option.loads[n.tensor] for n in made.needs}
    view_of = {v.name: v.of for v in made.views}
    chains: dict[str, tuple[list[int], list[int]]] = {}
    last: tuple[list[int], list[int]] = ([], [])
    for op, cycles in zip(made.passes, option.passes, strict=True):
        names = [view_of.get(n, n) for n in touched(op)]
        behind = [chains[n] for n in names if n in chains]
        chain, first = max(behind, key=lambda c: sum(c[0]), default=([], [loads[n] for n in names if n in loads]))
        last = ([*chain, cycles], first)
        chains[str(target(op))] = last
    return rows_bounds.span(list(loads.values()), sum(last[1]), last[0])
