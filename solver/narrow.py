"""Choices made by hand: the modes and address modes that are left, and modes that no best plan needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from models.graph import Buffer, Mode, Operation, Problem
from solver.index import Index

REGION = "region"
"""Field under which the address mode of a TRF tensor is chosen, at the operation that stores it."""

Fixed = Mapping[tuple[str, str], str]
Forbidden = Collection[tuple[str, str, str]]


def allowed(names: Collection[str], field: str, value: str, fixed: Fixed, forbidden: Forbidden) -> bool:
    """Whether a value is left; an operation answers to its own name and to that of its loop's operation."""
    return all(fixed.get((n, field), value) == value and (n, field, value) not in forbidden for n in names)


def narrow(problem: Problem, fixed: Fixed, forbidden: Forbidden) -> Problem:
    """The problem with the values that are left; an operation may end up without a mode.

    Raises:
        ValueError: a fixed or forbidden choice does not exist.

    """
    _known(problem, fixed, forbidden)
    if not fixed and not forbidden:
        return problem
    ops = tuple(
        replace(o, modes=tuple(m for m in o.modes if _left(o, m, fixed, forbidden))) for o in problem.operations
    )
    buffers = tuple(
        replace(b, regions=tuple(r for r in b.regions if allowed(storers(problem, b), REGION, r, fixed, forbidden)))
        for b in problem.buffers
    )
    return replace(problem, operations=ops, buffers=buffers)


def _left(op: Operation, mode: Mode, fixed: Fixed, forbidden: Forbidden) -> bool:
    return all(allowed({op.name, op.base}, f, v, fixed, forbidden) for f, v in mode.decisions.items())


def storers(problem: Problem, buffer: Buffer) -> set[str]:
    """Names under which the address mode of a buffer is chosen: its writers', its tensor's, its own."""
    bases = {o.base for o in problem.operations if o.name in buffer.writers}
    return {*buffer.writers, *bases, buffer.tensor, buffer.name}


def _known(problem: Problem, fixed: Fixed, forbidden: Forbidden) -> None:
    asked = {(o, f) for o, f in fixed} | {(o, f) for o, f, _ in forbidden}
    missing = asked - set(_choices(problem)) if asked else set()
    if missing:
        raise ValueError("no such choice: " + ", ".join(".".join(c) for c in sorted(missing)))


def _choices(problem: Problem) -> Iterator[tuple[str, str]]:
    for op in problem.operations:
        for mode in op.modes:
            for name in (op.name, op.base):
                yield from ((name, field) for field in mode.decisions)
    for buffer in problem.buffers:
        if buffer.file == "trf":
            yield from ((name, REGION) for name in storers(problem, buffer))


def undominated(problem: Problem) -> Problem:
    """Leaves out modes that are nowhere better than another of the same operation, later ones on a tie.

    Fewer cycles and fewer resources never make a schedule longer, so no optimum is lost. Operations whose mode
    decides on the presence of others keep all modes.
    """
    deciding = {o.requires[0] for o in problem.operations if o.requires}
    ops = tuple(
        o if o.name in deciding or len(o.modes) < 2 else replace(o, modes=_best(o.modes)) for o in problem.operations
    )
    return replace(problem, operations=ops)


def _best(modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
    out: list[Mode] = []
    for mode in modes:
        if not any(_covers(kept, mode) for kept in out):
            out = [kept for kept in out if not _covers(mode, kept)] + [mode]
    return tuple(out)


def _covers(mode: Mode, other: Mode) -> bool:
    cheap = mode.cycles <= other.cycles and mode.holds <= other.holds
    return cheap and mode.bitmap in (None, other.bitmap)


def hopeless(index: Index) -> bool:
    """Whether an operation that must be there has no mode, or a TRF place no address mode with enough rows."""
    no_mode = any(not o.modes and o.requires is None for o in index.ops.values())
    return no_mode or any(not fitting(index, p.size, p.regions) for p in index.places_in("trf"))


def fitting(index: Index, rows: int, regions: tuple[str, ...]) -> tuple[str, ...]:
    """Address modes with room for so many rows."""
    return tuple(r for r in regions if index.rows(r)[1] - index.rows(r)[0] >= rows)
