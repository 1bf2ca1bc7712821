"""Why not faster: the chain of operations and waits that adds up to the makespan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from models.graph import Buffer, Problem
from models.plan import ChainLink, MemoryEntry, PlannedOp

_FILE_REASON = {"trf": "region", "vrf": "vrf", "dm": "dm"}


def chain(problem: Problem, ops: tuple[PlannedOp, ...], memory: tuple[MemoryEntry, ...]) -> tuple[ChainLink, ...]:
    """The chain that ends last, first link first.

    The frame's first start, all waits and all cycles of its links, and the final sync add up to the makespan.
    """
    if not ops:
        return ()
    by_name = {o.name: o for o in ops}
    buffers = {b.name: b for b in problem.buffers}
    freed = [(entry, _last_user(buffers.get(entry.tensor), by_name, entry)) for entry in memory if not entry.shares]
    links: list[ChainLink] = []
    op: PlannedOp | None = max(ops, key=lambda o: (o.end, o.name))
    while op is not None:
        link = _link(problem, by_name, freed, op)
        links.append(link)
        op = by_name.get(link.on)
    return tuple(reversed(links))


def makespan_of(links: tuple[ChainLink, ...], first_start_cycles: int, final_sync_cycles: int) -> int:
    """What the links add up to."""
    return first_start_cycles + sum(x.wait_cycles + x.end - x.start for x in links) + final_sync_cycles


def adds_up(links: tuple[ChainLink, ...]) -> bool:
    """Whether every link starts its wait after the end of the one before."""
    return all(b.on == a.op and b.start == a.end + b.wait_cycles for a, b in pairwise(links))


Freed = list[tuple[MemoryEntry, str | None]]
"""Places of a memory, each with the operation that ends its life."""


def _link(problem: Problem, ops: dict[str, PlannedOp], freed: Freed, op: PlannedOp) -> ChainLink:
    """What an operation waited for: the latest of all reasons; among equals the one with the longest history."""
    reasons = [*_edges(problem, ops, op), *_resources(ops, op), *_loads(ops, op), *_places(problem, freed, op)]
    if not reasons:
        wait = op.start - problem.hardware.kernel.first_start_cycles
        return ChainLink(op=op.name, start=op.start, end=op.end, why="frame", wait_cycles=wait)
    ready, why, on, tensor = max(reasons, key=lambda r: (r[0], -ops[r[2]].start, r[1] == "data"))
    if ready < op.start and op.start == problem.hardware.kernel.first_start_cycles:
        return ChainLink(op=op.name, start=op.start, end=op.end, why="frame")
    wait = op.start - ops[on].end
    return ChainLink(op=op.name, start=op.start, end=op.end, why=why, on=on, tensor=tensor, wait_cycles=wait)


Reason = tuple[int, str, str, str]
"""When the operation became free to start, why, after which operation, on which tensor."""


def _edges(problem: Problem, ops: dict[str, PlannedOp], op: PlannedOp) -> Iterator[Reason]:
    for edge in problem.edges:
        if edge.after == op.name and edge.before in ops:
            why = "fence" if edge.lag_cycles else edge.reason
            yield ops[edge.before].end + edge.lag_cycles, why, edge.before, edge.tensor


def _resources(ops: dict[str, PlannedOp], op: PlannedOp) -> Iterator[Reason]:
    for other in ops.values():
        if other.end <= op.start and other.name != op.name:
            for resource in set(other.contexts) & set(op.contexts):
                yield other.end, resource, other.name, ""


def _loads(ops: dict[str, PlannedOp], op: PlannedOp) -> Iterator[Reason]:
    for other in ops.values():
        if other.kind == "bitmap_load" and op.bitmap == other.bitmap and other.end <= op.start and op.kind == "pass":
            yield other.end, "bitmap_load", other.name, ""


def _places(problem: Problem, freed: Freed, op: PlannedOp) -> Iterator[Reason]:
    """Room in a register file or memory that was freed when an earlier instance's life ended."""
    for buffer in (b for b in problem.buffers if op.name in b.writers and not b.shares):
        for entry, last in freed:
            if entry.file != buffer.file or entry.tensor == buffer.name or entry.end > op.start:
                continue
            if last is not None and _contend(buffer, entry):
                yield entry.end, _FILE_REASON[entry.file], last, entry.tensor


def _last_user(buffer: Buffer | None, ops: dict[str, PlannedOp], entry: MemoryEntry) -> str | None:
    users = [u for u in (*buffer.writers, *buffer.readers) if u in ops] if buffer else []
    return next((u for u in users if ops[u].end == entry.end), None)


def _contend(buffer: Buffer, entry: MemoryEntry) -> bool:
    return buffer.bytes > 0 and entry.bytes > 0
