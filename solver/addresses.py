"""The second stage: rows and addresses for places whose lifetimes are known.

Distinct places where everything fits at once, first fit otherwise, and where that fails CP-SAT. Where that fails too,
the places that cannot be put come back, so that the main model can part them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd

from ortools.sat.python import cp_model

from solver.engine import run
from solver.index import Index, Place
from solver.rules.register_regions import all_at_once, first_free
from solver.solution import Options, Solution
from solver.variables import birth_of, death_of

SHRINK_UP_TO = 40
"""Largest set of places that is shrunk one by one before it is cut off."""

EXACT_UP_TO = 300
"""Places up to which CP-SAT looks for addresses where first fit fails: its model grows with the square."""

Span = tuple[int, int]


class NoRowsError(Exception):
    """More TRF tensors are alive than there are rows: not a schedule of this problem."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Addresses in bytes by place; or the places that do not fit together, and whether that is proven."""

    addresses: Mapping[str, int]
    conflict: tuple[str, ...] = ()
    proven: bool = True


def with_places(index: Index, solution: Solution, options: Options) -> tuple[Solution, Placement]:
    """The solution with regions and addresses, and the placement that says whether all were put."""
    solution = replace(solution, regions=deal_rows(index, solution))
    addresses: dict[str, int] = {}
    for file in ("dm", "vrf"):
        found = place(index, file, lifetimes(index, solution, file), options)
        if found.conflict:
            return solution, found
        addresses |= found.addresses
    return replace(solution, addresses=addresses), Placement(addresses)


def lifetimes(index: Index, solution: Solution, file: str) -> dict[str, Span]:
    """Birth and death of every place of a memory that exists."""
    return {
        p.name: (birth_of(solution, p), death_of(index, solution, p))
        for p in index.places_in(file)
        if any(w in solution.starts for w in p.writers)
    }


def deal_rows(index: Index, solution: Solution) -> dict[str, tuple[str, int]]:
    """Address mode and first row of every TRF place; those that the model decided stay."""
    lives = lifetimes(index, solution, "trf")
    places = [p for p in index.places_in("trf") if p.name in lives]
    if all(p.name in solution.regions for p in places):
        return {p.name: solution.regions[p.name] for p in places}
    together = all_at_once(index, places)
    if together is not None:
        return {p.name: together[p.name] for p in places}
    out: dict[str, tuple[str, int]] = {}
    alive: list[Place] = []
    for p in sorted(places, key=lambda p: lives[p.name]):
        alive = [q for q in alive if lives[q.name][1] > lives[p.name][0]]
        found = first_free(index, p, [index.taken_rows(*out[q.name], q.size) for q in alive])
        if found is None:
            raise NoRowsError(p.name)
        out[p.name] = found
        alive.append(p)
    return {p.name: out[p.name] for p in places}


def place(index: Index, file: str, lives: Mapping[str, Span], options: Options) -> Placement:
    """Addresses for the places of one memory with these lifetimes."""
    places = [p for p in index.places_in(file) if p.name in lives]
    room = index.capacity(file)
    if sum(p.size for p in places) <= room and all(p.fixed_address is None for p in places):
        forever = {p.name: (0, 1) for p in places}
        return Placement(_first_fit(places, forever, room) or {})
    found = _first_fit(places, lives, room)
    if found is not None:
        return Placement(found)
    if len(places) > EXACT_UP_TO:
        return Placement({}, tuple(p.name for p in places), proven=False)
    return _exact(index, places, lives, options)


def _first_fit(places: list[Place], lives: Mapping[str, Span], room: int) -> dict[str, int] | None:
    """All from the bottom up; or the small ones from the top down, so that they leave no holes among the large ones."""
    half = max((p.size for p in places), default=0) // 2
    for small in (0, half):
        found = _fit(places, lives, room, small)
        if found is not None:
            return found
    return None


def _fit(places: list[Place], lives: Mapping[str, Span], room: int, small: int) -> dict[str, int] | None:
    """First fit in order of birth; places of at most `small` bytes from the top."""
    out = {p.name: p.fixed_address for p in places if p.fixed_address is not None}
    alive = [p for p in places if p.name in out]
    for p in sorted((p for p in places if p.name not in out), key=lambda p: lives[p.name]):
        alive = [q for q in alive if lives[q.name][1] > lives[p.name][0]]
        taken = [(out[q.name], out[q.name] + q.size) for q in alive if _meet(lives[q.name], lives[p.name])]
        at = _lowest(taken, p.size) if p.size > small else _highest(taken, p.size, room)
        if not 0 <= at <= room - p.size:
            return None
        out[p.name] = at
        alive.append(p)
    return {p.name: out[p.name] for p in places}


def _lowest(taken: list[Span], size: int) -> int:
    at = 0
    for low, high in sorted(taken):
        if low - at >= size:
            break
        at = max(at, high)
    return at


def _highest(taken: list[Span], size: int, room: int) -> int:
    end = room
    for low, high in sorted(taken, key=lambda t: t[1], reverse=True):
        if end - high >= size:
            break
        end = min(end, low)
    return end - size


def _meet(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _exact(index: Index, places: list[Place], lives: Mapping[str, Span], options: Options) -> Placement:
    """Rectangles in time and bytes; an impossible set is shrunk while it stays impossible."""
    status, found = _rectangles(index, places, lives, options)
    if found is not None:
        return Placement(found)
    proven = status == cp_model.INFEASIBLE
    small = list(places)
    for p in places if proven and len(places) <= SHRINK_UP_TO else ():
        rest = [q for q in small if q is not p]
        placed = _first_fit(rest, lives, index.capacity(p.file))
        if placed is None and _rectangles(index, rest, lives, options)[0] == cp_model.INFEASIBLE:
            small = rest
    return Placement({}, tuple(p.name for p in small), proven)


def _rectangles(
    index: Index, places: list[Place], lives: Mapping[str, Span], options: Options
) -> tuple[cp_model.CpSolverStatus, dict[str, int] | None]:
    cp = cp_model.CpModel()
    # Pushed down, every place rests on another, a given one or the first byte: multiples of what all share.
    unit = gcd(*(p.size for p in places), *(p.fixed_address for p in places if p.fixed_address is not None))
    room = index.capacity(places[0].file) // unit
    at: dict[str, cp_model.IntVar] = {}
    for p in places:
        low, high = (0, room - p.size // unit) if p.fixed_address is None else (p.fixed_address // unit,) * 2
        at[p.name] = cp.new_int_var(low, max(low, high), p.name)
    for a, b in combinations(places, 2):
        if _meet(lives[a.name], lives[b.name]):
            below = cp.new_bool_var(f"{a.name} below {b.name}")
            cp.add(at[a.name] + a.size // unit <= at[b.name]).only_enforce_if(below)
            cp.add(at[b.name] + b.size // unit <= at[a.name]).only_enforce_if(below.negated())
    done = run(cp, replace(options, time_limit_seconds=options.time_limit_seconds / 10))
    return done.status, {n: done.solver.value(v) * unit for n, v in at.items()} if done.found else None
