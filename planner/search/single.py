"""The shortest kernel of one contraction: layouts are refined from cheap bounds to solved plans, the best first.

A candidate is asked the next question only while its bound is the lowest of all, so a plan that is solved before
any other bound falls below it is the shortest of all candidates.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from models.hardware import Hardware
from models.kernel import Kernel, Tensor
from planner.search import bounds
from planner.search.contraction import Tiling, contraction_cycles, tilings
from planner.search.contraction_passes import Spread, fragment, place_of, results, spreads
from planner.search.fragment import cheapest
from planner.search.kernels import Assembly, Judged, judge
from planner.search.laws import Laws, Place
from planner.search.moves import Move, moves
from planner.search.parts import Parts, size_of, whole_axis
from planner.search.room import contraction_room, is_held
from planner.search.spec import Contraction, DmPlace
from planner.search.watch import Watch
from solver import Options


@dataclass(frozen=True, slots=True)
class Found:
    """The best kernel, a bound that no candidate is below, and how many candidates were asked each question."""

    judged: Judged | None
    bound: int
    proved: bool
    asked: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Candidate:
    tiling: Tiling
    mode: str = ""
    gives: DmPlace | None = None
    move: Move | None = None
    store: int = 0
    spread: tuple[Spread, Spread] | None = None


QUESTIONS_PER_SECOND = 60
"""About what one processor asks."""
_DEPTH = 24
"""A dive prefers a candidate that is one question nearer to a plan when its bound is up to a 20th higher."""


_RARELY = 8
"""One question in so many goes to the candidate that is nearest to a plan, however high its bound."""


@dataclass(frozen=True, slots=True)
class _Entry:
    bound: int
    stage: int
    number: int
    candidate: _Candidate


@dataclass(slots=True)
class SingleSearch:
    """Searches one contraction whose operands and result lie in HBM."""

    spec: Contraction
    hardware: Hardware
    kernel: Kernel
    options: Options = field(default_factory=Options)
    watch: Watch = field(default_factory=Watch)
    laws: Laws = field(init=False)
    heap: list[tuple[int, int, int, _Entry]] = field(default_factory=list)
    deep: list[tuple[int, int, int, _Entry]] = field(default_factory=list)
    deepest: list[tuple[int, int, int, _Entry]] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    asked: dict[str, int] = field(default_factory=dict)
    tie: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.laws = Laws(self.hardware, self.spec.sizes)

    def run(self, seconds: float) -> Found:
        """The best kernel; `proved` when no candidate is left that could be shorter.

        Seconds are turned into a number of questions, so that the same search gives the same answer everywhere.
        """
        most = int(seconds * QUESTIONS_PER_SECOND)
        for tiling in tilings(self.spec, self.hardware):
            if not is_held(contraction_room(self.spec, tiling, self.hardware)):
                continue
            self._push(self._floor(tiling), 0, _Candidate(tiling))
        best: Judged | None = None
        bound = self._lowest()
        for turn in range(most):
            self.watch.progress("searching layouts", turn / most)
            if best is not None and self.watch.stopped:
                break
            if bound is None or (best is not None and bound >= (best.makespan or 0)):
                return Found(best, 0 if best is None else best.makespan or 0, best is not None, self.asked)
            found = self._ask(self._next(turn, None if best is None else best.makespan))
            if found is not None and (best is None or (found.makespan or 0) < (best.makespan or 0)):
                best = found
            bound = self._lowest()
        return Found(best, bound or 0, False, self.asked)

    def _ask(self, entry: _Entry | None) -> Judged | None:
        if entry is None:
            return None
        self.open.discard(entry.number)
        question = _STAGES[entry.stage]
        name = question.__name__.strip("_")
        self.asked[name] = self.asked.get(name, 0) + 1
        found: Judged | None = question(self, entry.candidate, entry.bound)
        return found

    def _lowest(self) -> int | None:
        """The lowest bound of all that is open."""
        while self.heap and self.heap[0][-1].number not in self.open:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else None

    def _next(self, turn: int, most: int | None) -> _Entry | None:
        """The candidate with the lowest bound or, every other time, the one nearest to a plan among those almost as
        low; now and then, and as long as there is no plan, the nearest of all.
        """
        deepest = turn % 2 if most is None else turn % _RARELY == 1
        heap = self.deepest if deepest else self.deep if turn % 2 else self.heap
        while heap:
            entry = heapq.heappop(heap)[-1]
            if entry.number in self.open and (most is None or entry.bound < most):
                return entry
        return None

    def _push(self, bound: int, stage: int, candidate: _Candidate) -> None:
        # Later questions first among equals: a solved plan closes the search.
        entry = _Entry(bound, stage, next(self.tie), candidate)
        self.open.add(entry.number)
        heapq.heappush(self.heap, (bound, -stage, entry.number, entry))
        heapq.heappush(self.deep, (bound * (_DEPTH - stage), -stage, entry.number, entry))
        heapq.heappush(self.deepest, (-stage, bound, entry.number, entry))

    # Bounds ---------------------------------------------------------------------------------------------

    def _loads_floor(self, tiling: Tiling) -> int:
        return sum(bounds.load_floor(self.hardware, tiling, o, self.spec.sizes) for o in (tiling.held, tiling.stream))

    def _floor(self, tiling: Tiling) -> int:
        body = contraction_cycles(self.hardware, tiling) + self._least_store(tiling)
        return bounds.frame_cycles(self.hardware) + self._loads_floor(tiling) + body

    def _least_store(self, tiling: Tiling) -> int:
        """The store as it is, or in whole blocks behind the cheapest of moves."""
        move = self.hardware.passes.commit_base_cycles
        held = tiling.axis_tile(self.spec.out.axes)
        return min(self._store_floor(held), move + self._store_floor(whole(self.spec)))

    def _store_floor(self, element: Parts) -> int:
        return bounds.store_floor(self.hardware, self.spec.out, self.spec.sizes, element)

    def _placed_floor(self, tiling: Tiling, gives: DmPlace) -> int:
        clusters = size_of(tiling.cluster[1]) if tiling.cluster[0] else 1
        engines = bounds.engines_of(self.hardware, gives.slice, clusters)
        return bounds.store_floor(self.hardware, self.spec.out, self.spec.sizes, gives.element, engines)

    # Questions ------------------------------------------------------------------------------------------

    def _results(self, candidate: _Candidate, _bound: int) -> None:
        """Where the result may lie, as it is and behind one move."""
        tiling, out = candidate.tiling, self.spec.out
        before = bounds.frame_cycles(self.hardware) + self._loads_floor(tiling)
        before += contraction_cycles(self.hardware, tiling)
        for mode, gives in results(self.spec, tiling, self.hardware):
            self._push(before + self._placed_floor(tiling, gives), 1, _Candidate(tiling, mode, gives))
            source = f"{out.name}_{self.spec.name}_dm"
            for move in moves(self.hardware, out.bytes_per_element * 8, gives, out.axes, source, f"{out.name}_moved"):
                floor = before + move.floor_cycles + self._placed_floor(tiling, move.gives)
                self._push(floor, 1, _Candidate(tiling, mode, gives, move, 0))

    def _stores(self, candidate: _Candidate, bound: int) -> None:
        """What the store itself takes."""
        gives = candidate.gives if candidate.move is None else candidate.move.gives
        stored = None if gives is None else self._stored(gives)
        if gives is not None and stored is not None:
            more = stored - self._placed_floor(candidate.tiling, gives)
            self._push(
                bound + more, 2, _Candidate(candidate.tiling, candidate.mode, candidate.gives, candidate.move, stored)
            )

    def _stored(self, gives: DmPlace) -> int | None:
        out = self.spec.out
        outcome = self.laws.store(out.dtype, gives.place(), out.place or Place(out.element(self.spec.sizes)))
        return outcome.steps if outcome.ok else None

    def _loads(self, candidate: _Candidate, bound: int) -> None:
        """What each way to load the operands takes; those that another one beats in every number are left out."""
        tiling = candidate.tiling
        kept = bound - self._loads_floor(tiling) - contraction_cycles(self.hardware, tiling)
        held, stream = (self._ways(tiling, i) for i in (0, 1))
        for h, load_h, work_h in held:
            for s, load_s, work_s in stream:
                self._push(
                    kept + max(load_h + load_s, load_h + work_h) + work_s,
                    3,
                    _Candidate(tiling, candidate.mode, candidate.gives, candidate.move, candidate.store, (h, s)),
                )

    def _ways(self, tiling: Tiling, which: int) -> list[tuple[Spread, int, int]]:
        operand = (tiling.held, tiling.stream)[which]
        floor = (bounds.hold_floor, bounds.stream_floor)[which]
        out: list[tuple[Spread, int, int]] = []
        for spread in spreads(tiling, operand, self.hardware):
            place = place_of(tiling, operand, spread).place()
            outcome = self.laws.load(operand.dtype, operand.place or Place(operand.element(self.spec.sizes)), place)
            if outcome.ok:
                out.append((spread, outcome.steps, floor(self.hardware, tiling, spread)))
        return [w for w in out if not any(_beats(o, w) for o in out)]

    def _passes(self, candidate: _Candidate, bound: int) -> None:
        """What the passes take by their engines' laws."""
        assert candidate.spread is not None
        tiling = candidate.tiling
        made = fragment(self.spec, tiling, candidate.mode, candidate.spread, self.hardware)
        found = made.judged(self.laws)
        if found is None:
            return
        more = cheapest(found[-1]) - bounds.matrix_floor(self.hardware, tiling, candidate.spread[1])
        if candidate.move is not None:
            assert found[-1].writes is not None
            moved = self.laws.of_pass(candidate.move.op, {found[-1].writes.name: found[-1].writes})
            if not moved.modes:
                return
            more += cheapest(moved) - candidate.move.floor_cycles
        self._push(bound + max(0, more), 4, candidate)

    def _solve(self, candidate: _Candidate, _bound: int) -> Judged | None:
        """What the solver makes of the kernel."""
        return judge(self.kernel_of(candidate), self.hardware, self.options)

    def kernel_of(self, candidate: _Candidate) -> Kernel:
        """A candidate as an ordinary kernel."""
        assert candidate.spread is not None
        made = fragment(self.spec, candidate.tiling, candidate.mode, candidate.spread, self.hardware)
        tensors: dict[str, Tensor] = dict(self.kernel.tensors)
        out = Assembly(self.kernel.kernel, self.kernel.axes, tensors, self.kernel.hardware, self.kernel.description)
        for need in made.needs:
            out.load(need.tensor, need.place, need.buffer)
        out.run(made, {})
        last = made.buffer
        if candidate.move is not None:
            out.move(candidate.move.op)
            last = f"{self.spec.out.name}_moved"
        out.store(last, self.spec.out.name)
        return out.kernel()


def whole(spec: Contraction) -> Parts:
    """Every digit of the result in one place."""
    return tuple(whole_axis(a, spec.sizes[a]) for a in spec.out.axes)


def _beats(a: tuple[Spread, int, int], b: tuple[Spread, int, int]) -> bool:
    return a is not b and a[1] <= b[1] and a[2] <= b[2] and (a[1], a[2]) != (b[1], b[2])


_STAGES: tuple[Any, ...] = (
    SingleSearch._results,
    SingleSearch._stores,
    SingleSearch._loads,
    SingleSearch._passes,
    SingleSearch._solve,
)
"""The questions, each asked of what those before left."""
