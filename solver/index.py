"""A problem as the solver's rooms look it up: operations by name, neighbours, order, and places of buffers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from models.graph import Buffer, Edge, Mode, Operation, Problem, operation_graph, region_rows


@dataclass(frozen=True, slots=True)
class Place:
    """What a buffer and everything that relabels it occupy together; `size`: rows (trf), aligned bytes (dm, vrf)."""

    name: str
    file: str
    members: tuple[str, ...]
    writers: tuple[str, ...]
    users: tuple[str, ...]
    size: int
    regions: tuple[str, ...]
    fixed_address: int | None


class Index:
    """Look-ups over one problem; nothing here decides anything."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.hardware = problem.hardware
        self.ops: dict[str, Operation] = {o.name: o for o in problem.operations}
        self.before: dict[str, list[Edge]] = defaultdict(list)
        self.after: dict[str, list[Edge]] = defaultdict(list)
        for edge in problem.edges:
            self.before[edge.after].append(edge)
            self.after[edge.before].append(edge)

    @cached_property
    def order(self) -> tuple[str, ...] | None:
        """Operations in an order that the edges allow, program order where they do not care; None on a cycle."""
        rank = {name: i for i, name in enumerate(self.ops)}
        try:
            return tuple(nx.lexicographical_topological_sort(operation_graph(self.problem), key=rank.__getitem__))
        except nx.NetworkXUnfeasible:
            return None

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Places in program order of their buffers."""
        by_name = {b.name: b for b in self.problem.buffers}
        groups: dict[str, list[Buffer]] = {}
        for buffer in self.problem.buffers:
            root = buffer
            while root.shares:
                root = by_name[root.shares]
            groups.setdefault(root.name, []).append(buffer)
        return tuple(self._place(by_name[root], members) for root, members in groups.items())

    def _place(self, root: Buffer, members: list[Buffer]) -> Place:
        writers = _unique(w for b in members for w in b.writers)
        size = (
            max(b.rows for b in members)
            if root.file == "trf"
            else self.aligned(root.file, max(b.bytes for b in members))
        )
        fixed = next((b.fixed_address for b in members if b.fixed_address is not None), None)
        return Place(
            root.name,
            root.file,
            tuple(b.name for b in members),
            writers,
            _unique((*writers, *(r for b in members for r in b.readers))),
            size,
            root.regions,
            fixed,
        )

    @cached_property
    def places_of(self) -> dict[str, tuple[Place, ...]]:
        """Places that an operation writes or reads."""
        out: dict[str, list[Place]] = {name: [] for name in self.ops}
        for place in self.places:
            for user in place.users:
                out[user].append(place)
        return {name: tuple(places) for name, places in out.items()}

    @cached_property
    def deciding(self) -> frozenset[str]:
        """Operations on whose mode the presence of others depends."""
        return frozenset(o.requires[0] for o in self.ops.values() if o.requires)

    def places_in(self, file: str) -> tuple[Place, ...]:
        """Places of one memory."""
        return tuple(p for p in self.places if p.file == file)

    def alignment(self, file: str) -> int:
        """Bytes that addresses of a memory (dm, vrf) are multiples of."""
        return self.hardware.dm.alignment_bytes if file == "dm" else self.hardware.vrf.alignment_bytes

    def capacity(self, file: str) -> int:
        """Bytes per slice (dm, vrf), or rows per bank (trf)."""
        return {
            "dm": self.hardware.dm.bytes_per_slice,
            "vrf": self.hardware.vrf.bytes_per_slice,
            "trf": self.hardware.trf.rows_per_bank,
        }[file]

    def aligned(self, file: str, size_bytes: int) -> int:
        """Bytes rounded up to the alignment of a memory."""
        unit = self.alignment(file)
        return -(-size_bytes // unit) * unit

    def rows(self, region: str) -> tuple[int, int]:
        """First row and row after the last of an address mode."""
        return region_rows(region, self.hardware.trf.rows_per_bank)

    def taken_rows(self, region: str, first_row: int, rows: int) -> tuple[int, int]:
        """Rows that a tensor keeps from others: all of the bank in Full mode, its own in a half (seed 000)."""
        return self.rows(region) if region == "full" else (first_row, first_row + rows)

    def mode(self, op: str, mode_id: str) -> Mode:
        """A mode by its id."""
        return next(m for m in self.ops[op].modes if m.id == mode_id)

    def min_cycles(self, op: str) -> int:
        """Cycles of the shortest mode; 0 when none is left."""
        return min((m.cycles for m in self.ops[op].modes), default=0)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
