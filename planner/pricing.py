"""What every other value of every choice would have cost: each figure from a solve of its own, with its status.

A choice belongs to an operation of the kernel file; inside a loop its value is forced in all iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from models.graph import Operation, Problem
from models.plan import Alternative
from planner.assemble import places_in_use
from planner.choices import BUFFERS, REGION, Choices, in_place_edges
from solver import Solution

NOT_PRICED = "not priced: the kernel has many operations, and others take longer"


@dataclass(frozen=True, slots=True)
class Variant:
    """The problem with one choice forced to one value."""

    op: str
    field: str
    value: str
    problem: Problem


def price(
    problem: Problem, chosen: Solution, solve: Callable[[Problem, Solution], Solution], most: int | None = None
) -> dict[tuple[str, str], tuple[Alternative, ...]]:
    """Alternatives by (operation of the kernel file, field); for `buffers` the chosen value comes first.

    With `most` only so many are solved for, those of the operations that take the most cycles; the others say so.
    """
    out: dict[tuple[str, str], list[Alternative]] = {}
    for op, field, value, alternative in _illegal(problem):
        out.setdefault((op, field), []).append(alternative)
        del value
    looped = {op.base for op in problem.operations if op.iteration}
    for variant, priced in _chosen_for(list(variants(problem, chosen)), problem, chosen, most):
        if not priced:
            left_out = Alternative(value=variant.value, makespan_cycles=None, status="unknown", message=NOT_PRICED)
            out.setdefault((variant.op, variant.field), []).append(left_out)
            continue
        found = solve(variant.problem, chosen)
        scope = "in all iterations" if variant.op in looped else ""
        alternative = Alternative(
            value=variant.value, makespan_cycles=found.makespan, status=found.status, message=scope
        )
        out.setdefault((variant.op, variant.field), []).append(alternative)
    for tensor, op in _staged(problem).items():
        places = Alternative(
            value=str(places_in_use(problem, chosen, tensor)),
            makespan_cycles=chosen.makespan,
            status=chosen.status,
        )
        out[op, BUFFERS] = [places, *out.get((op, BUFFERS), [])]
    return {key: tuple(values) for key, values in out.items()}


def _chosen_for(
    found: list[Variant], problem: Problem, chosen: Solution, most: int | None
) -> list[tuple[Variant, bool]]:
    """Every variant, and whether it is solved for."""
    if most is None or len(found) <= most:
        return [(v, True) for v in found]
    work: dict[str, int] = {}
    for op in problem.operations:
        cycles = sum(m.cycles for m in op.modes if m.id == chosen.modes.get(op.name))
        work[op.base] = work.get(op.base, 0) + cycles
    first = set(sorted(range(len(found)), key=lambda k: (-work.get(found[k].op, 0), k))[:most])
    return [(v, k in first) for k, v in enumerate(found)]


def variants(problem: Problem, chosen: Solution) -> Iterator[Variant]:
    """One forced problem for each value that was not chosen."""
    yield from _mode_variants(problem, chosen)
    yield from _region_variants(problem, chosen)
    for tensor, op in _staged(problem).items():
        if places_in_use(problem, chosen, tensor) > 1:
            edges = tuple(in_place_edges(problem.buffers, Choices(fixed={f"{tensor}.{BUFFERS}": "1"})))
            yield Variant(op, BUFFERS, "1", replace(problem, edges=problem.edges + edges))


def _mode_variants(problem: Problem, chosen: Solution) -> Iterator[Variant]:
    used = _used(problem, chosen)
    seen: set[tuple[str, str, str]] = set()
    for op in problem.operations:
        for mode in (*op.modes, *op.dominated):
            for field, value in mode.decisions.items():
                key = (op.base, field, value)
                if key not in seen and used.get((op.base, field)) != {value}:
                    seen.add(key)
                    yield Variant(*key, _forced(problem, *key))


def _used(problem: Problem, chosen: Solution) -> dict[tuple[str, str], set[str]]:
    """Values in use by (operation of the kernel file, field); iterations of a loop may differ."""
    used: dict[tuple[str, str], set[str]] = {}
    for op in problem.operations:
        for mode in op.modes:
            if chosen.modes.get(op.name) == mode.id:
                for field, value in mode.decisions.items():
                    used.setdefault((op.base, field), set()).add(value)
    return used


def _forced(problem: Problem, base: str, field: str, value: str) -> Problem:
    def only(op: Operation) -> Operation:
        left = tuple(m for m in (*op.modes, *op.dominated) if m.decisions.get(field) == value)
        return replace(op, modes=left) if op.base == base else op

    return replace(problem, operations=tuple(only(o) for o in problem.operations))


def _region_variants(problem: Problem, chosen: Solution) -> Iterator[Variant]:
    seen: set[tuple[str, str]] = set()
    for buffer in problem.buffers:
        if len(buffer.regions) < 2 or buffer.shares:
            continue
        for region in buffer.regions:
            siblings = [b for b in problem.buffers if b.tensor == buffer.tensor]
            used = {chosen.regions[b.name][0] for b in siblings if b.name in chosen.regions}
            if used == {region} or (buffer.tensor, region) in seen:
                continue
            seen.add((buffer.tensor, region))
            forced = tuple(replace(b, regions=(region,)) if b.tensor == buffer.tensor else b for b in problem.buffers)
            op = buffer.writers[0].partition("[")[0]
            yield Variant(op, REGION, region, replace(problem, buffers=forced))


def _illegal(problem: Problem) -> Iterator[tuple[str, str, str, Alternative]]:
    seen: set[tuple[str, str, str]] = set()
    for op in problem.operations:
        for i in op.illegal:
            key = (op.base, i.decision, i.value)
            if key not in seen:
                seen.add(key)
                yield (
                    *key,
                    Alternative(value=i.value, makespan_cycles=None, status="illegal", rule=i.rule, message=i.message),
                )


def _staged(problem: Problem) -> dict[str, str]:
    """Register tensors with several instances, and the operation of the kernel file that stores each."""
    count: dict[str, list[str]] = {}
    for b in problem.buffers:
        if b.file != "dm" and not b.shares:
            count.setdefault(b.tensor, []).append(b.writers[0].partition("[")[0])
    return {tensor: ops[0] for tensor, ops in count.items() if len(ops) > 1}
