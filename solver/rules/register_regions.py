"""TRF tensors take rows of an address mode for as long as they live; taken rows do not meet (domain: sections 2, 6).

Three forms of one rule, the simplest that is exact: nothing where all tensors fit beside each other; a cumulative over
slots where all have the same rows and address modes (an interval graph can be coloured with as many colours as its
largest overlap, so rows are dealt out afterwards); rectangles in rows and time otherwise.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import gcd

from ortools.sat.python import cp_model

from solver.index import Index, Place
from solver.narrow import fitting
from solver.rules.capacity import alive
from solver.solution import Guard, Solution
from solver.variables import Variables


def build(model: cp_model.CpModel, variables: Variables) -> None:
    """Adds regions, rows and their overlap."""
    index = variables.index
    places = [p for p in index.places_in("trf") if p.writers]
    if not variables.guards.on:
        if len(places) < 2 or all_at_once(index, places) is not None:
            return
        slots = uniform_slots(index, places)
        if slots:
            _cumulative(model, variables, places, len(slots))
            return
    _rectangles(model, variables, places)


def options(index: Index, place: Place) -> tuple[str, ...]:
    """Address modes that have room for a place, halves first: a half never keeps more rows from others than Full."""
    return tuple(sorted(fitting(index, place.size, place.regions), key=lambda r: (r == "full", r)))


def uniform_slots(index: Index, places: list[Place]) -> tuple[tuple[str, int], ...]:
    """(address mode, first row) of each slot when all places are alike; empty when they are not."""
    if len({(p.size, options(index, p)) for p in places}) != 1:
        return ()
    modes = options(index, places[0])
    halves = [m for m in modes if m != "full"]
    if not halves:
        return (("full", 0),) if modes else ()
    rows = places[0].size
    return tuple((m, row) for m in halves for row in range(index.rows(m)[0], index.rows(m)[1] - rows + 1, rows))


def all_at_once(index: Index, places: list[Place]) -> dict[str, tuple[str, int]] | None:
    """Region and first row of every place when all fit beside each other, first fit; else None."""
    taken: list[tuple[int, int]] = []
    out: dict[str, tuple[str, int]] = {}
    for place in sorted(places, key=lambda p: -p.size):
        found = first_free(index, place, taken)
        if found is None:
            return None
        out[place.name] = found
        taken.append(index.taken_rows(*found, place.size))
    return out


def first_free(index: Index, place: Place, taken: list[tuple[int, int]]) -> tuple[str, int] | None:
    """The first address mode and row where a place meets no taken rows."""
    runs = _runs(taken)
    for region in options(index, place):
        low, high = index.rows(region)
        for row in (low,) if region == "full" else (low, *(end for _, end in runs if end > low)):
            first, last = index.taken_rows(region, row, place.size)
            if row + place.size <= high and all(last <= s or e <= first for s, e in runs):
                return region, row
    return None


def _runs(taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Taken rows in order, those that touch or meet as one: a place that is free begins at the end of a run."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(taken):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def _cumulative(model: cp_model.CpModel, variables: Variables, places: list[Place], slots: int) -> None:
    intervals = [alive(model, variables, p, _guard(p)) for p in places]
    if slots == 1:
        model.add_no_overlap(intervals)
    else:
        model.add_cumulative(intervals, [1] * len(places), slots)


def _guard(place: Place) -> Guard:
    return Guard("region_overlap", buffers=(place.name,))


def _rectangles(model: cp_model.CpModel, variables: Variables, places: list[Place]) -> None:
    """Every pair is parted in time or in rows.

    Not NoOverlap2D: with hints, CP-SAT 9.15 calls feasible models of this form infeasible.
    """
    step = gcd(*(p.size for p in places)) if places else 1
    rows = {p.name: _rows(model, variables, p, step) for p in places}
    for a, b in combinations(places, 2):
        ways = [variables.before(a.name, b.name), variables.before(b.name, a.name)]
        for under, over in ((a, b), (b, a)):
            below = model.new_bool_var(f"{under.name} below {over.name}")
            model.add(rows[under.name][1] <= rows[over.name][0]).only_enforce_if(below)
            variables.know(below, partial(_below, index=variables.index, under=under, over=over))
            ways.append(below)
        guards = variables.guards(Guard("region_overlap", buffers=(a.name, b.name)))
        absent = [lit for p in (a, b) if (lit := variables.life(p).present) is not None]
        model.add_bool_or(ways + [lit.negated() for lit in [*guards, *absent]])
    if not variables.guards.on:
        lives = [alive(model, variables, p, _guard(p)) for p in places]
        model.add_cumulative(lives, [p.size for p in places], variables.index.capacity("trf"))


def _rows(
    model: cp_model.CpModel, variables: Variables, place: Place, step: int
) -> tuple[cp_model.IntVar, cp_model.IntVar]:
    """The first row a place keeps from others and the one after its last, by the address mode that is chosen."""
    index = variables.index
    low = model.new_int_var(0, index.capacity("trf"), f"{place.name} first row")
    high = model.new_int_var(0, index.capacity("trf"), f"{place.name} last row")
    variables.know(low, lambda s: _taken(index, s, place)[0])
    variables.know(high, lambda s: _taken(index, s, place)[1])
    for region in _choose(model, variables, place):
        literal = variables.regions[place.name, region]
        first, last = index.rows(region)
        variables.rows[place.name, region] = low
        if region == "full":
            model.add(low == first).only_enforce_if(literal)
            model.add(high == last).only_enforce_if(literal)
            continue
        # Tensors can be pushed down until each rests on another or on the first row: multiples of the common size.
        starts = cp_model.Domain.from_values(list(range(first, last - place.size + 1, step)))
        model.add_linear_expression_in_domain(low, starts).only_enforce_if(literal)
        model.add(high == low + place.size).only_enforce_if(literal)
    return low, high


def _taken(index: Index, solution: Solution, place: Place) -> tuple[int, int]:
    return index.taken_rows(*solution.regions[place.name], place.size) if place.name in solution.regions else (0, 0)


def _choose(model: cp_model.CpModel, variables: Variables, place: Place) -> tuple[str, ...]:
    """Adds the choice of an address mode; returns those with room."""
    index = variables.index
    present = variables.life(place).present
    for region in place.regions:
        literal = model.new_bool_var(f"{place.name} {region}")
        variables.know(literal, partial(_chosen, place=place.name, region=region))
        variables.regions[place.name, region] = literal
    chosen = [variables.regions[place.name, r] for r in place.regions]
    if chosen:
        model.add(sum(chosen) == (1 if present is None else present))
    fit = options(index, place)
    for region in place.regions or ("",):
        if region not in fit:
            guards = variables.guards(_too_small(index, place, region))
            literals = [variables.regions[place.name, region]] if region else [present] if present is not None else []
            model.add_bool_or([lit.negated() for lit in [*literals, *guards]])
    return fit


def _too_small(index: Index, place: Place, region: str) -> Guard:
    low, high = index.rows(region) if region else (0, 0)
    return Guard("region_out_of_bounds", buffers=(place.name,), need=place.size, have=high - low)


def _chosen(solution: Solution, place: str, region: str) -> int:
    return int(solution.regions.get(place, ("", 0))[0] == region)


def _below(solution: Solution, index: Index, under: Place, over: Place) -> int:
    return int(_taken(index, solution, under)[1] <= _taken(index, solution, over)[0])
