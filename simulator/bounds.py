"""What a plan asks for that no memory holds: an edited size must become a fault before arrays are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from models.faults import Fault
from models.mapping import MappingError, axis_names
from models.parse import parse
from models.plan import Plan

MOST_ELEMENTS = 2**30
"""More elements than the data memories of a chip hold twice over; one array of them takes up to 8 GB."""
_LEVELS = ("chip", "cluster", "slice", "lane", "element", "time", "packet")


def too_large(plan: Plan) -> list[Fault]:
    """A fault of rule plan_too_large for every tensor, buffer, stage and memory of more than MOST_ELEMENTS.

    Mappings that do not parse are left to who reads them.
    """
    out = []
    for what, parts in _claims(plan):
        size = prod(_size(part, plan.kernel.axes) for part in parts if part)
        if size > MOST_ELEMENTS:
            message = f"{what} has {size:,} elements, more than can be executed"
            out.append(
                Fault(rule="plan_too_large", op=what, found=str(size), wanted=f"{MOST_ELEMENTS}", message=message)
            )
    return out


def _claims(plan: Plan) -> Iterator[tuple[str, list[str | int]]]:
    """What stands in a plan, with the mapping texts or numbers whose sizes multiply to its elements."""
    for name, tensor in plan.kernel.tensors.items():
        yield name, [tensor.chip, tensor.element]
        yield name, _named(tensor.element, plan.kernel.axes)
    for entry in plan.memory:
        yield entry.tensor, [entry.chip, entry.cluster, entry.slice, entry.lane, entry.element]
    for program, stages in plan.programs.items():
        for stage in stages:
            what = f"{program} {stage.step}"
            yield what, [stage.chip, stage.cluster, stage.slice, stage.time, stage.packet]
            stated = {level: stage.settings.get(level) for level in _LEVELS}
            yield what, [text for text in stated.values() if isinstance(text, str)]
    geometry, trf = plan.hardware.geometry, plan.hardware.trf
    rows = max([1, *((e.row or 0) + (e.rows or 0) for e in plan.memory)])
    lanes = [geometry.slices_per_cluster, geometry.lanes_per_slice, trf.banks]
    yield "hardware", [*lanes, min(rows, trf.rows_per_bank)]


def _named(element: str, axes: dict[str, int]) -> list[str | int]:
    """Sizes of the axes of a mapping: the array in which the host holds a tensor has one dimension for each."""
    try:
        return [axes[name] for name in axis_names(parse(element, axes))]
    except MappingError:
        return []


def _size(part: str | int, axes: dict[str, int]) -> int:
    if isinstance(part, int):
        return part
    try:
        return parse(part, axes).size
    except MappingError:
        return 1
