"""Which operations must keep their order because they meet on memory (domain: section 3, hazards)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from models.graph import Edge, EdgeReason


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a tensor: positions `first` to `last` (excluded) of the digit `tile`; the whole when tile is empty."""

    tile: str = ""
    first: int = 0
    last: int = 0

    def meets(self, other: Span) -> bool:
        """Whether both parts may share a cell; parts along different digits may."""
        if not self.tile or self.tile != other.tile:
            return True
        return self.first < other.last and other.first < self.last


WHOLE = Span()


def missing(written: Iterable[Span], wanted: Span) -> Span | None:
    """The first part of `wanted` that tiles along the same digit have not written; None when all is there."""
    reached = wanted.first
    for span in sorted((s for s in written if s.tile == wanted.tile), key=lambda s: s.first):
        if span.first > reached:
            break
        reached = max(reached, span.last)
    return Span(wanted.tile, reached, wanted.last) if reached < wanted.last else None


@dataclass(frozen=True, slots=True)
class Access:
    """One operation reading or writing a part of a memory."""

    op: str
    write: bool
    span: Span


_REASONS: dict[tuple[bool, bool], EdgeReason] = {
    (True, False): "raw",
    (False, True): "war",
    (True, True): "waw",
}
"""By (earlier writes, later writes)."""


class Hazards:
    """Collects accesses in program order and gives the edges between those that meet."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Access]] = defaultdict(list)
        self._edges: dict[tuple[str, str], Edge] = {}

    def access(self, memory: str, access: Access, *, fence_cycles: int = 0, created: bool = False) -> None:
        """Notes an access; `fence_cycles` is the lag of a read after a write (HBM), `created` a data edge."""
        for earlier in self._seen[memory]:
            reason = _REASONS.get((earlier.write, access.write))
            if reason is None or earlier.op == access.op or not earlier.span.meets(access.span):
                continue
            lag = fence_cycles if reason == "raw" else 0
            self._add(Edge(earlier.op, access.op, "data" if created and reason == "raw" else reason, memory, lag))
        if access.write and not access.span.tile:
            # A whole write is after everything seen: whoever comes later meets it alone.
            self._seen[memory].clear()
        self._seen[memory].append(access)

    def _add(self, edge: Edge) -> None:
        key = (edge.before, edge.after)
        known = self._edges.get(key)
        if known is None or known.lag_cycles < edge.lag_cycles:
            self._edges[key] = edge

    def order(self, before: str, after: str, tensor: str) -> None:
        """Adds an order that the user asked for."""
        self._add(Edge(before, after, "order", tensor))

    def edges(self) -> Iterator[Edge]:
        """All edges, in the order in which they were met."""
        return iter(self._edges.values())
