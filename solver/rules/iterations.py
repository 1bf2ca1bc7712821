"""Iterations of a loop that cannot be told apart keep their order.

Two iterations can be told apart when they differ in modes, edges or buffers once their own operations are named by
their base. Exchanging two alike iterations maps schedules to schedules of the same makespan, so ordering *one*
operation of the body loses no optimum; ordering a second one could.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import pairwise

from ortools.sat.python import cp_model

from models.graph import Buffer, Operation, Problem
from solver.index import Index
from solver.variables import Variables

Iteration = tuple[tuple[str, int], ...]


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the order of starts among alike iterations; without meaning while explaining."""
    if variables.guards.on:
        return
    for names in alike(variables.index):
        for first, second in pairwise(names):
            model.add(variables.task(first).start <= variables.task(second).start)


def alike(index: Index) -> list[tuple[str, ...]]:
    """The operation to be ordered, of each class of alike iterations: the longest of the body."""
    bodies: dict[Iteration, dict[str, Operation]] = defaultdict(dict)
    for op in index.ops.values():
        if op.iteration:
            bodies[op.iteration][op.base] = op
    touched = _buffers_by_iteration(index.problem)
    classes: dict[Hashable, list[Iteration]] = defaultdict(list)
    for iteration, body in bodies.items():
        classes[_signature(index, iteration, body, touched[iteration])].append(iteration)
    out = []
    for iterations in classes.values():
        body = bodies[iterations[0]]
        base = max(body, key=lambda b: index.min_cycles(body[b].name) if body[b].requires is None else -1)
        names = tuple(bodies[i][base].name for i in iterations)
        if len(names) > 1 and all(index.ops[n].requires is None for n in names):
            out.append(names)
    return out


def _buffers_by_iteration(problem: Problem) -> dict[Iteration, list[Buffer]]:
    of = {o.name: o.iteration for o in problem.operations}
    out: dict[Iteration, list[Buffer]] = defaultdict(list)
    for buffer in problem.buffers:
        for iteration in {of[u] for u in (*buffer.writers, *buffer.readers)}:
            out[iteration].append(buffer)
    return out


def _signature(index: Index, iteration: Iteration, body: dict[str, Operation], buffers: list[Buffer]) -> Hashable:
    """Equal for two iterations exactly when exchanging them leaves the problem as it is."""
    own = {op.name: base for base, op in body.items()}

    def named(op: str) -> tuple[bool, str]:
        return (True, own[op]) if op in own else (False, op)

    ops = tuple(
        (
            base,
            tuple((m.id, m.holds, m.cycles, m.bitmap) for m in op.modes),
            op.requires and (named(op.requires[0]), op.requires[1]),
            frozenset((True, named(e.before), e.lag_cycles) for e in index.before[op.name]),
            frozenset((False, named(e.after), e.lag_cycles) for e in index.after[op.name]),
        )
        for base, op in sorted(body.items())
    )
    return tuple(v for v, _ in iteration), ops, frozenset(_life(index, b, own) for b in buffers)


def _life(index: Index, buffer: Buffer, own: dict[str, str]) -> Hashable:
    """What a buffer is to one iteration; one that others use too is the same object for all of them."""
    mine = tuple(own[w] for w in buffer.writers if w in own), tuple(own[r] for r in buffer.readers if r in own)
    shared = any(u not in own for u in (*buffer.writers, *buffer.readers))
    place = (buffer.file, buffer.bytes, buffer.rows, buffer.regions, buffer.fixed_address)
    if not shared:
        return (*mine, place, _family(index, buffer, own))
    return (*mine, buffer.name)


def _family(index: Index, buffer: Buffer, own: dict[str, str]) -> Hashable:
    """Places are exchanged whole: one that reaches out of the iteration ties it to where it reaches."""
    place = next(p for p in index.places if buffer.name in p.members)
    inside = all(u in own for u in place.users)
    return (True, len(place.members)) if inside else (False, place.name)
