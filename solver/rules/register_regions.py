"""TRF tensors take rows of an address mode for as long as they live; taken rows do not meet (domain: sections 2, 6).

Three forms of one rule, the simplest that is exact: nothing where all tensors fit beside each other; a cumulative over
slots where all have the same rows and address modes (an interval graph can be coloured with as many colours as its
largest overlap, so rows are dealt out afterwards); rectangles in rows and time otherwise.
"""

from __future__ import annotations

from functools import partial
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
    for region in options(index, place):
        low, high = index.rows(region)
        for row in sorted({low, *(end for _, end in taken if low <= end)} if region != "full" else {low}):
            first, last = index.taken_rows(region, row, place.size)
            if row + place.size <= high and all(last <= s or e <= first for s, e in taken):
                return region, row
    return None


def _cumulative(model: cp_model.CpModel, variables: Variables, places: list[Place], slots: int) -> None:
    intervals = [alive(model, variables, p, _guard(p)) for p in places]
    if slots == 1:
        model.add_no_overlap(intervals)
    else:
        model.add_cumulative(intervals, [1] * len(places), slots)


def _guard(place: Place) -> Guard:
    return Guard("region_overlap", buffers=(place.name,))


def _rectangles(model: cp_model.CpModel, variables: Variables, places: list[Place]) -> None:
    step = gcd(*(p.size for p in places)) if places else 1
    times: list[cp_model.IntervalVar] = []
    rows: list[cp_model.IntervalVar] = []
    lives = [alive(model, variables, place, _guard(place)) for place in places]
    for place, life in zip(places, lives, strict=True):
        for region in _choose(model, variables, place):
            times.append(life)
            rows.append(_row_interval(model, variables, place, region, step))
    model.add_no_overlap_2d(times, rows)
    if not variables.guards.on:
        model.add_cumulative(lives, [p.size for p in places], variables.index.capacity("trf"))


def _choose(model: cp_model.CpModel, variables: Variables, place: Place) -> tuple[str, ...]:
    """Adds the choice of an address mode; returns those with room."""
    index = variables.index
    present = variables.life(place).present
    for region in place.regions:
        literal = model.new_bool_var(f"{place.name} {region}")
        variables.know(literal, partial(_chosen, place=place.name, region=region))
        variables.regions[place.name, region] = literal
    chosen = [variables.regions[place.name, r] for r in place.regions]
    model.add(sum(chosen) == (1 if present is None else present)).only_enforce_if(
        [] if chosen else variables.guards(_too_small(index, place, ""))
    )
    fit = options(index, place)
    for region in place.regions:
        if region not in fit:
            guards = variables.guards(_too_small(index, place, region))
            model.add_bool_or([lit.negated() for lit in [variables.regions[place.name, region], *guards]])
    return fit


def _too_small(index: Index, place: Place, region: str) -> Guard:
    low, high = index.rows(region) if region else (0, 0)
    return Guard("region_out_of_bounds", buffers=(place.name,), need=place.size, have=high - low)


def _chosen(solution: Solution, place: str, region: str) -> int:
    return int(solution.regions.get(place, ("", 0))[0] == region)


def _row_interval(
    model: cp_model.CpModel, variables: Variables, place: Place, region: str, step: int
) -> cp_model.IntervalVar:
    low, high = variables.index.rows(region)
    literal = variables.regions[place.name, region]
    name = f"{place.name} in {region}"
    if region == "full":
        variables.rows[place.name, region] = low
        return model.new_optional_fixed_size_interval_var(low, high - low, literal, name)
    # Rectangles can be pushed down until each rests on another or on the first row: multiples of the common size.
    values = list(range(low, high - place.size + 1, step))
    row = model.new_int_var_from_domain(cp_model.Domain.from_values(values), name)
    variables.know(row, lambda s: s.regions[place.name][1] if _chosen(s, place.name, region) else None)
    variables.rows[place.name, region] = row
    return model.new_optional_fixed_size_interval_var(row, place.size, literal, name)
