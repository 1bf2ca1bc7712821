"""Which axes the data of every buffer really has, followed through the plan from the tensors in HBM.

A layout may spread a tensor over units along an axis that the tensor lacks: those units hold copies, and a claim
about that axis can never be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.mapping import axis_names
from simulator.traffic import Traffic, traffic_of

if TYPE_CHECKING:
    from models.plan import PlannedOp
    from simulator.bench import Bench

Carried = dict[str, frozenset[str]]


def carried_axes(bench: Bench) -> Carried:
    """Axes by instance; an instance is done when no operation can add to it any more."""
    plan, layouts = bench.plan, bench.layouts
    carried: Carried = {
        name: axis_names(layouts.mapping(t.chip)) | axis_names(layouts.mapping(t.element))
        for name, t in plan.kernel.tensors.items()
        if t.role == "input"
    }
    moves = [(op, traffic_of(plan, op)) for op in plan.ops]
    changed = True
    while changed:
        grown = [_follow(bench, carried, op, traffic) for op, traffic in moves]
        grown += [_add(bench, carried, e.tensor, carried.get(e.shares)) for e in plan.memory if e.shares]
        changed = any(grown)
    return carried


def _follow(bench: Bench, carried: Carried, op: PlannedOp, traffic: Traffic) -> bool:
    reads, writes = traffic.used(op)
    found = frozenset[str]().union(*(carried.get(name, frozenset()) for name in reads))
    grown = [_add(bench, carried, name, found) for name in writes]
    return any(grown)


def _add(bench: Bench, carried: Carried, name: str, axes: frozenset[str] | None) -> bool:
    """Adds what a buffer's layout names of some axes; gives whether that was news."""
    if axes is None:
        return False
    known = carried.get(name)
    whole = (known or frozenset()) | (axes & _named(bench, name))
    carried[name] = whole
    return known != whole


def _named(bench: Bench, name: str) -> frozenset[str]:
    entry = bench.entries.get(name)
    if entry is None:
        tensor = bench.plan.kernel.tensors.get(name)
        texts: tuple[str, ...] = (tensor.chip, tensor.element) if tensor else ()
    else:
        texts = (entry.chip, entry.cluster, entry.slice, entry.lane, entry.element)
    return frozenset[str]().union(*(axis_names(bench.layouts.mapping(t)) for t in texts))
