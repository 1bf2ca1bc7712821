"""When everything starts, given the order: as early as it can, or, with time running backwards, as late as it can.

Kept are edges, the order on every resource, and the order in which places of one counter are taken. Shifting the order
that a schedule has never makes it longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from models.graph import RESOURCES
from solver.windows.board import Board


@dataclass(frozen=True, slots=True)
class Timing:
    """An order with a way for each item; starts and ends in cycles by item; `last` is the end of everything."""

    order: tuple[int, ...]
    chosen: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def last(self) -> int:
        """The end of the last item."""
        return max(self.ends, default=0)


def in_time(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Items by start; of those that start together, the ones that end first come first."""
    return sorted(range(len(starts)), key=lambda i: (starts[i], ends[i], i))


def early(board: Board, order: Sequence[int], chosen: Sequence[int], first: int) -> Timing | None:
    """The earliest starts in this order; None where a place is never given back before it is needed."""
    starts, ends = [0] * len(board.names), [0] * len(board.names)
    if not Walk(board, first).go(order, chosen, starts, ends):
        return None
    return Timing(tuple(order), tuple(chosen), tuple(starts), tuple(ends))


def late(mirrored: Board, timing: Timing) -> Timing | None:
    """The latest starts in the same order of ends, nothing ending after the last end now."""
    last = timing.last
    order = sorted(timing.order, key=lambda i: (timing.ends[i], timing.starts[i]), reverse=True)
    found = early(mirrored, order, timing.chosen, 0)
    if found is None:
        return None
    starts, ends = tuple(last - e for e in found.ends), tuple(last - s for s in found.starts)
    return Timing(timing.order, timing.chosen, starts, ends)


class Walk:
    """Resources and counters while items go by in order, each as early as it can."""

    def __init__(self, board: Board, first: int) -> None:
        self.board = board
        self.first = first
        self.free = [first] * len(RESOURCES)
        self.left = [len(users) for users in board.users]
        self.taken = [False] * len(board.users)
        self.until = [0] * len(board.users)
        self.room = list(board.room)
        self.returns: list[list[tuple[int, int]]] = [[] for _ in board.room]
        self.not_before = [first] * len(board.room)

    def copy(self) -> Walk:
        """The same state, to go on from without changing this one."""
        out = Walk.__new__(Walk)
        out.board, out.first = self.board, self.first
        out.free, out.left, out.taken = self.free[:], self.left[:], self.taken[:]
        out.until, out.room, out.not_before = self.until[:], self.room[:], self.not_before[:]
        out.returns = [heap[:] for heap in self.returns]
        return out

    def go(self, items: Iterable[int], chosen: Sequence[int], starts: list[int], ends: list[int]) -> bool:
        """Puts items in their order, into `starts` and `ends`; False where a place is never given back."""
        board, free, taken = self.board, self.free, self.taken
        for item in items:
            way = board.ways[item][chosen[item]]
            at = max(self.first, *[free[r] for r in way.holds], *[ends[o] + lag for o, lag in board.before[item]])
            places = board.takes[item]
            if places:
                new = [p for p in places if not taken[p]]
                if new:
                    at = self._take(new, at)
                    if at < 0:
                        return False
            starts[item], ends[item] = at, at + way.cycles
            for resource in way.holds:
                free[resource] = at + way.cycles
            if places:
                self._give_back(places, at + way.cycles)
        return True

    def _take(self, new: list[int], at: int) -> int:
        """The start from `at` on at which places are free; -1 where there is none."""
        for place in new:
            self.taken[place] = True
            for counter, amount in self.board.demands[place]:
                at = max(at, self.not_before[counter])
                self.room[counter] -= amount
                while self.room[counter] < 0:
                    if not self.returns[counter]:
                        return -1
                    when, back = heappop(self.returns[counter])
                    self.room[counter] += back
                    at = max(at, when)
        for place in new:
            # What was given back counts from its time on, so nothing may be taken earlier afterwards.
            for counter, _ in self.board.demands[place]:
                self.not_before[counter] = at
        return at

    def _give_back(self, places: Iterable[int], end: int) -> None:
        """Counts an item's use of its places as over."""
        for place in places:
            self.left[place] -= 1
            self.until[place] = max(self.until[place], end)
            if not self.left[place]:
                for counter, amount in self.board.demands[place]:
                    heappush(self.returns[counter], (self.until[place], amount))
