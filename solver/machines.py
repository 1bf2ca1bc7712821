"""Machines: sets of operations of which no two can overlap, whatever their modes.

Beside each resource these are cliques across resources, such as a pass that holds Main and Sub together with passes
that hold one of the two. CP-SAT does not see them by itself.
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx

from models.graph import RESOURCES, Operation
from solver.index import Index

Kind = frozenset[frozenset[str]]
"""What an operation may hold: one set of resources per mode."""

Machine = dict[str, int]
"""Least work in cycles of every operation that surely runs on the machine."""


def machines(index: Index) -> list[Machine]:
    """Every resource with what surely holds it, then the cliques across resources."""
    single = [_always(index, resource) for resource in RESOURCES]
    return [m for m in [*single, *cliques(index)] if m]


def cliques(index: Index) -> list[Machine]:
    """Sets across resources; operations that are not always there do not count."""
    kinds: dict[Kind, list[str]] = {}
    for op in index.ops.values():
        if op.requires is None and op.modes:
            kinds.setdefault(frozenset(m.holds for m in op.modes), []).append(op.name)
    graph: nx.Graph[Kind] = nx.Graph()
    graph.add_nodes_from(k for k in kinds if _exclude(k, k))
    graph.add_edges_from((a, b) for a, b in combinations(graph.nodes, 2) if _exclude(a, b))
    found = []
    for clique in nx.find_cliques(graph):
        if len(clique) > 1 and not frozenset.intersection(*(holds for kind in clique for holds in kind)):
            members = {name for kind in clique for name in kinds[kind]}
            found.append({name: index.min_cycles(name) for name in index.ops if name in members})
    return sorted(found, key=lambda m: tuple(m))


def _always(index: Index, resource: str) -> Machine:
    return {n: index.min_cycles(n) for n, op in index.ops.items() if op.requires is None and _holds(op, resource)}


def _holds(op: Operation, resource: str) -> bool:
    return bool(op.modes) and all(resource in m.holds for m in op.modes)


def _exclude(a: Kind, b: Kind) -> bool:
    return all(x & y for x in a for y in b)
