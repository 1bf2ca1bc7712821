"""What windows see of the rest: everything before them stays early, everything after them moves as one block.

The block is the rest of the schedule as late as it can be. If a window lets it move earlier by some cycles, the
makespan falls by as many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from models.graph import RESOURCES
from solver.windows.board import Board
from solver.windows.timing import Timing, Walk


@dataclass(frozen=True)
class Frame:
    """A schedule as early and as late as its order allows, and look-ups by position in the order."""

    board: Board
    early: Timing
    late: Timing
    first: int

    @cached_property
    def position(self) -> list[int]:
        """Where each item stands in the order."""
        out = [0] * len(self.early.order)
        for position, item in enumerate(self.early.order):
            out[item] = position
        return out

    @cached_property
    def on(self) -> list[list[int]]:
        """Positions of the items that hold each resource."""
        out: list[list[int]] = [[] for _ in RESOURCES]
        for position, item in enumerate(self.early.order):
            for resource in self.board.ways[item][self.early.chosen[item]].holds:
                out[resource].append(position)
        return out

    @cached_property
    def beginnings(self) -> list[tuple[int, int]]:
        """Late starts of places (that of the first user), and the places, by time."""
        late = self.late.starts
        return sorted((min(late[u] for u in users), p) for p, users in enumerate(self.board.users) if users)


class Stretch:
    """A frame gone through from left to right: what windows changed counts for those behind them at once.

    What stands behind a window is the frame's late schedule, earlier by the cycles that were `won` so far.
    """

    def __init__(self, frame: Frame, low: int) -> None:
        self.frame, self.board = frame, frame.board
        self.low = low
        self.won = 0
        self.order, self.chosen = list(frame.early.order), list(frame.early.chosen)
        self.starts, self.ends = list(frame.early.starts), list(frame.early.ends)
        self.position = list(frame.position)
        self.gone = Walk(frame.board, frame.first)
        self.gone.go(self.order[:low], self.chosen, self.starts, self.ends)

    @property
    def last(self) -> int:
        """The end of everything."""
        return self.frame.early.last - self.won

    def advance(self, low: int, high: int) -> bool:
        """Goes on to the window [low, high); False where its order no longer holds."""
        held = self.gone.go(self.order[self.low : low], self.chosen, self.starts, self.ends)
        self.low = low
        return held and self.gone.copy().go(self.order[low:high], self.chosen, self.starts, self.ends)

    def settle(self, items: Sequence[int], ways: dict[int, int], shift: int) -> bool:
        """Takes on a window's order and ways where the block behind may then move by `shift`."""
        low, high = self.low, self.low + len(items)
        chosen = list(self.chosen)
        for item, way in ways.items():
            chosen[item] = way
        starts, ends = list(self.starts), list(self.ends)
        if not self.gone.copy().go(items, chosen, starts, ends) or not self._in_time(items, chosen, ends, shift):
            return False
        self.chosen, self.starts, self.ends = chosen, starts, ends
        self.order[low:high] = items
        for position, item in enumerate(items, low):
            self.position[item] = position
        self.won -= shift
        return True

    def _in_time(self, items: Sequence[int], chosen: list[int], ends: list[int], shift: int) -> bool:
        high = self.low + len(items)
        tails = self.resource_tails(high)
        return all(
            ends[i] <= min([self.deadline(i, high), *(tails[r] for r in self.board.ways[i][chosen[i]].holds)]) + shift
            for i in items
        )

    def resource_heads(self) -> list[int]:
        """When each resource is free of what stands before."""
        return self.gone.free

    def resource_tails(self, high: int) -> list[int]:
        """When each resource is wanted by what stands from a position on."""
        return [self._start(where, bisect_left(where, high)) for where in self.frame.on]

    def _start(self, where: list[int], count: int) -> int:
        return self.late_start(self.frame.early.order[where[count]]) if count < len(where) else self.last

    def head(self, item: int, low: int) -> int:
        """The earliest start of an item that edges from before a position allow."""
        links = self.board.before[item]
        return max((self.ends[o] + lag for o, lag in links if self.position[o] < low), default=self.frame.first)

    def deadline(self, item: int, high: int) -> int:
        """The latest end of an item that edges to what stands from a position on allow."""
        links = self.board.after[item]
        return min((self.late_start(o) - lag for o, lag in links if self.position[o] >= high), default=self.last)

    def late_start(self, item: int) -> int:
        """The latest start of an item behind."""
        return self.frame.late.starts[item] - self.won

    def late_end(self, item: int) -> int:
        """The latest end of an item behind."""
        return self.frame.late.ends[item] - self.won

    def places(self, items: Sequence[int], opens: int, closes: int) -> Iterator[int]:
        """Places that may be taken between two times: those in use before, those of the items, those behind."""
        seen = dict.fromkeys(p for item in items for p in self.board.takes[item])
        yield from seen
        gone, high = self.gone, self.low + len(items)
        for place, taken in enumerate(gone.taken):
            if taken and place not in seen and (gone.left[place] or gone.until[place] > opens):
                yield place
        begin = bisect_left(self.frame.beginnings, (2 * opens - closes + self.won, -1))
        for start, place in islice(self.frame.beginnings, begin, None):
            if start - self.won >= closes:
                return
            if place not in seen and all(self.position[u] >= high for u in self.board.users[place]):
                yield place
