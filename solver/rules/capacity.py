"""Places alive together fit into a memory, and places whose given addresses meet are not alive together."""

from __future__ import annotations

from itertools import combinations

from ortools.sat.python import cp_model

from solver.guards import Literal
from solver.index import Place
from solver.rules.contexts import guarded
from solver.solution import Guard
from solver.variables import Variables


def cumulative(model: cp_model.CpModel, variables: Variables, file: str, rule: str) -> None:
    """Adds a cumulative over lifetimes, unless everything fits at once."""
    places = [p for p in variables.index.places_in(file) if p.writers]
    room = variables.index.capacity(file)
    if sum(p.size for p in places) > room or variables.guards.on:
        intervals, demands = [], []
        for place in places:
            guard = Guard(rule, buffers=(place.name,), need=place.size, have=room)
            intervals.append(alive(model, variables, place, guard))
            demands.append(place.size)
        model.add_cumulative(intervals, demands, room)
        _at_once(model, variables, places, rule)
    addresses(model, variables, places)


def alive(model: cp_model.CpModel, variables: Variables, place: Place, guard: Guard) -> cp_model.IntervalVar:
    """The lifetime of a place as an interval that the guard can switch off."""
    life = variables.life(place)
    literal = guarded(model, variables, life.present, guard)
    if literal is None:
        return model.new_interval_var(life.birth, life.size, life.death, place.name)
    return model.new_optional_interval_var(life.birth, life.size, life.death, literal, place.name)


def _at_once(model: cp_model.CpModel, variables: Variables, places: list[Place], rule: str) -> None:
    """Whatever one operation uses is alive together; the cumulative alone finds that out by search only."""
    room = variables.index.capacity(places[0].file) if places else 0
    for op, used in variables.index.places_of.items():
        mine = [p for p in used if p in places]
        if sum(p.size for p in mine) <= room:
            continue
        off: list[Literal] = []
        for place in mine:
            off += variables.guards(Guard(rule, buffers=(place.name,), need=place.size, have=room))
        exist = [variables.task(op).present, *(variables.life(place).present for place in mine)]
        model.add_bool_or([lit.negated() for lit in [*off, *(lit for lit in exist if lit is not None)]])


def addresses(model: cp_model.CpModel, variables: Variables, places: list[Place]) -> None:
    """Places that the kernel file puts onto the same bytes take turns."""
    index = variables.index
    for place in places:
        at = place.fixed_address
        if at is not None and (at % index.alignment(place.file) or at + place.size > index.capacity(place.file)):
            need, room = at + place.size, index.capacity(place.file)
            literals = variables.guards(Guard("address_alignment", buffers=(place.name,), need=need, have=room))
            present = variables.life(place).present
            model.add_bool_or([lit.negated() for lit in literals + ([present] if present is not None else [])])
    for a, b in combinations([p for p in places if p.fixed_address is not None], 2):
        if meet(a, b):
            guard = Guard("address_overlap", buffers=(a.name, b.name))
            model.add_no_overlap([alive(model, variables, a, guard), alive(model, variables, b, guard)])


def meet(a: Place, b: Place) -> bool:
    """Whether two given addresses share a byte."""
    if a.fixed_address is None or b.fixed_address is None:
        return False
    return a.fixed_address < b.fixed_address + b.size and b.fixed_address < a.fixed_address + a.size
