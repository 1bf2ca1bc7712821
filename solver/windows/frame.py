"""What a window sees of the rest: everything before it stays early, everything after it moves as one block.

The block is the rest of the schedule as late as it can be. If the window lets it move earlier by some cycles, the
makespan falls by as many.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from models.graph import RESOURCES
from solver.windows.board import Board
from solver.windows.timing import Timing


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
    def spans(self) -> list[tuple[int, int, int, int, int]]:
        """Of every place: positions of its first and last user, its end when early, its start and end when late."""
        return [
            (
                min(self.position[u] for u in users),
                max(self.position[u] for u in users),
                max(self.early.ends[u] for u in users),
                min(self.late.starts[u] for u in users),
                max(self.late.ends[u] for u in users),
            )
            if users
            else (0, -1, 0, 0, 0)
            for users in self.board.users
        ]

    def resource_heads(self, low: int) -> list[int]:
        """When each resource is free of what stands before a position."""
        return [self._end(where, bisect_left(where, low)) for where in self.on]

    def _end(self, where: list[int], count: int) -> int:
        return self.early.ends[self.early.order[where[count - 1]]] if count else self.first

    def resource_tails(self, high: int) -> list[int]:
        """When each resource is wanted by what stands from a position on."""
        return [self._start(where, bisect_left(where, high)) for where in self.on]

    def _start(self, where: list[int], count: int) -> int:
        return self.late.starts[self.early.order[where[count]]] if count < len(where) else self.early.last

    def head(self, item: int, low: int) -> int:
        """The earliest start of an item that edges from before a position allow."""
        links = self.board.before[item]
        return max((self.early.ends[o] + lag for o, lag in links if self.position[o] < low), default=self.first)

    def deadline(self, item: int, high: int) -> int:
        """The latest end of an item that edges to what stands from a position on allow."""
        links = self.board.after[item]
        starts = (self.late.starts[o] - lag for o, lag in links if self.position[o] >= high)
        return min(starts, default=self.early.last)
