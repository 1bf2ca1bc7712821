"""Repeated layers of equal durations: a few are planned, and the order of one is what all the others follow.

Where durations differ from layer to layer this is of no use: what one layer waits for, the next one does not.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from solver.windows.board import Board
from solver.windows.timing import Timing

LAYERS = 4
"""Layers that are planned: the second one is repeated, those around it keep it in a steady state."""

ALIKE = 0.9
"""Share of items that must be like the item a period later."""


def period(board: Board) -> int | None:
    """Items after which structure and durations repeat; None where they do not, or too seldom."""
    kinds: dict[object, int] = {}
    marks = np.array([kinds.setdefault(_mark(board, i), len(kinds)) for i in range(len(board.names))])
    for step in range(2, len(marks) // (LAYERS + 2) + 1):
        if np.mean(marks[step:] == marks[:-step]) >= ALIKE:
            return step
    return None


def _mark(board: Board, item: int) -> object:
    links = tuple(sorted(item - other for other, _ in board.before[item]))
    amounts = tuple(sorted(demand for place in board.takes[item] for demand in board.demands[place]))
    return tuple((w.holds, w.cycles) for w in board.ways[item]), links, amounts


def repeated(board: Board, planned: Timing, step: int) -> list[int]:
    """The order of all items: as planned for the first layers, then like the second one, a constant time apart."""
    layer = range(step, 2 * step)
    apart = sorted(planned.starts[i + step] - planned.starts[i] for i in layer)[step // 2]
    keys = [
        planned.starts[i] if i < 2 * step else planned.starts[step + i % step] + (i // step - 1) * apart
        for i in range(len(board.names))
    ]
    return in_order(board, keys)


def in_order(board: Board, keys: Sequence[int]) -> list[int]:
    """Items by key as far as edges allow."""
    left = [len(links) for links in board.before]
    ready = [(keys[i], i) for i, count in enumerate(left) if not count]
    heapq.heapify(ready)
    out: list[int] = []
    while ready:
        _, item = heapq.heappop(ready)
        out.append(item)
        for other, _ in board.after[item]:
            left[other] -= 1
            if not left[other]:
                heapq.heappush(ready, (keys[other], other))
    return out
