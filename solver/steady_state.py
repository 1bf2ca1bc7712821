"""A loop by its steady state: how often each way of doing an operation occurs, whatever the number of iterations.

Operations with equal ways, such as one operation in all iterations of its loop, are one class. How many of a class take
Operations with equal ways, such as one operation in all iterations of its loop, are one class. How many of a class
take each way is a small integer program over the load of every resource; its optimum bounds the makespan, and dealing
the ways out evenly in program order gives the pattern that repeats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ortools.sat.python import cp_model

from models.graph import RESOURCES, Mode, Operation, Problem
from solver.bound import Bound
from solver.engine import run
from solver.index import Index
from solver.solution import Options

LIMIT_SECONDS = 2.0
"""Of the integer program: it has a variable per class and way, not per iteration."""

Way = tuple[frozenset[str], int]
"""What a mode holds, and for how many cycles."""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The least makespan that loads of resources allow, and how many operations of each class take each mode."""

    makespan: int
    counts: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = ()


def steady_state(index: Index, known: Bound, options: Options) -> SteadyState | None:
    """Solves for the loads; None where no operation of several has a choice that moves load."""
    classes = _classes(index)
    if not any(len(members) > 1 and len(_ways(index.ops[members[0]])) > 1 for members in classes):
        return None
    cp = cp_model.CpModel()
    makespan = cp.new_int_var(known.makespan, _horizon(index, known), "makespan")
    taken = [_taken(cp, index.ops[members[0]], len(members)) for members in classes]
    for resource in RESOURCES:
        jobs = [
            (members, counts[i], mode)
            for members, counts in zip(classes, taken, strict=True)
            for i, mode in enumerate(index.ops[members[0]].modes)
            if resource in mode.holds
        ]
        if jobs:
            load = sum(count * mode.cycles for _, count, mode in jobs)
            names = [n for members, _, _ in jobs for n in members]
            frame = min(known.heads[n] for n in names) + min(known.tails[n] for n in names)
            cp.add(makespan >= frame + load + index.hardware.kernel.final_sync_cycles)
    cp.minimize(makespan)
    done = run(cp, replace(options, time_limit_seconds=min(LIMIT_SECONDS, options.time_limit_seconds)))
    if not done.found:
        return None
    counts = tuple(
        (members, tuple(done.solver.value(c) for c in found)) for members, found in zip(classes, taken, strict=True)
    )
    return SteadyState(max(known.makespan, round(done.solver.best_objective_bound)), counts)


def patterns(index: Index, found: SteadyState) -> Iterator[Problem]:
    """The problem with every mode settled: each class deals its counts out evenly, the rarer way early or late."""
    for early in (True, False):
        chosen: dict[str, Mode] = {}
        for members, counts in found.counts:
            order = members if early else members[::-1]
            chosen |= dict(zip(order, _dealt(index.ops[members[0]].modes, counts), strict=True))
        ops = tuple(
            replace(o, modes=tuple(m for m in o.modes if o.name not in chosen or m.id == chosen[o.name].id))
            for o in index.problem.operations
        )
        yield replace(index.problem, operations=ops)


def _dealt(modes: tuple[Mode, ...], counts: tuple[int, ...]) -> Iterator[Mode]:
    """Modes in turn, each time the one that is furthest behind its share; ties go to the rarer one."""
    total, used = sum(counts), [0] * len(counts)
    for done in range(total):
        behind = [counts[i] * (done + 1) - used[i] * total for i in range(len(counts))]
        best = max((i for i in range(len(counts)) if used[i] < counts[i]), key=lambda i: (behind[i] > 0, -counts[i]))
        used[best] += 1
        yield modes[best]


def _classes(index: Index) -> list[tuple[str, ...]]:
    """Operations that are always there, by their base and modes, in program order."""
    found: dict[object, list[str]] = defaultdict(list)
    for op in index.ops.values():
        if op.requires is None and op.modes:
            found[op.base, tuple((m.id, m.holds, m.cycles, m.bitmap) for m in op.modes)].append(op.name)
    return [tuple(members) for members in found.values()]


def _ways(op: Operation) -> set[Way]:
    return {(m.holds, m.cycles) for m in op.modes}


def _taken(cp: cp_model.CpModel, op: Operation, members: int) -> list[cp_model.IntVar]:
    counts = [cp.new_int_var(0, members, f"{op.base} {m.id}") for m in op.modes]
    cp.add(sum(counts) == members)
    return counts


def _horizon(index: Index, known: Bound) -> int:
    return known.makespan + sum(max(m.cycles for m in o.modes) for o in index.ops.values() if o.modes)
