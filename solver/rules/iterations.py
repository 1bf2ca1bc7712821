"""Iterations of a loop that cannot be told apart keep their order.

Two iterations can be told apart when they differ in modes, edges or buffers once their own operations are named by
their base. Exchanging two alike iterations maps schedules to schedules of the same makespan, so ordering *one*
operation of the body never loses an optimum.

Ordering *every* operation of the body loses none either where starts and ends of each come in one order and memory
only counts: deal the i-th slot of each operation (its time and mode) to iteration i. An edge u -> v held for some
matching of ends of u with starts of v, so it holds for the sorted one; and at any time no more places of a kind are
alive than before, since as many have begun at most and as many have ended at least.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import pairwise

from ortools.sat.python import cp_model

from models.graph import Buffer, Operation, Problem
from solver.index import Index
from solver.rules.register_regions import all_at_once, uniform_slots
from solver.variables import Variables

Iteration = tuple[tuple[str, int], ...]
Body = dict[str, Operation]


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds the order of starts among alike iterations; without meaning while explaining."""
    if variables.guards.on:
        return
    index = variables.index
    for bodies in alike(index):
        bases = list(bodies[0]) if variables.in_order and _countable(index, bodies) else [_longest(index, bodies[0])]
        for base in bases:
            for first, second in pairwise(bodies):
                a, b = variables.task(first[base].name), variables.task(second[base].name)
                if a.present is None and b.present is None:
                    model.add(a.start <= b.start)


def alike(index: Index) -> list[list[Body]]:
    """Classes of alike iterations, each with its operations by base."""
    bodies: dict[Iteration, Body] = defaultdict(dict)
    for op in index.ops.values():
        if op.iteration:
            bodies[op.iteration][op.base] = op
    touched = _buffers_by_iteration(index.problem)
    classes: dict[Hashable, list[Body]] = defaultdict(list)
    for iteration, body in bodies.items():
        classes[_signature(index, iteration, body, touched[iteration])].append(body)
    return [same for same in classes.values() if len(same) > 1]


def _longest(index: Index, body: Body) -> str:
    return max(body, key=lambda b: index.min_cycles(body[b].name) if body[b].requires is None else -1)


def _countable(index: Index, bodies: list[Body]) -> bool:
    """Whether slots of every operation can be dealt out in order: see the top of this file."""
    deciding = {o.requires[0] for o in index.ops.values() if o.requires}
    rows = [p for p in index.places_in("trf") if p.writers]
    rows_count = all_at_once(index, rows) is not None or bool(uniform_slots(index, rows))
    return rows_count and all(
        op.requires is None and op.name not in deciding and _one_order(op) for body in bodies for op in body.values()
    )


def _one_order(op: Operation) -> bool:
    """Equal durations, or a resource that all modes hold: what starts first ends first."""
    return len({m.cycles for m in op.modes}) == 1 or bool(frozenset.intersection(*(m.holds for m in op.modes)))


def _buffers_by_iteration(problem: Problem) -> dict[Iteration, list[Buffer]]:
    of = {o.name: o.iteration for o in problem.operations}
    out: dict[Iteration, list[Buffer]] = defaultdict(list)
    for buffer in problem.buffers:
        for iteration in {of[u] for u in (*buffer.writers, *buffer.readers)}:
            out[iteration].append(buffer)
    return out


def _signature(index: Index, iteration: Iteration, body: Body, buffers: list[Buffer]) -> Hashable:
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
