"""Lower bounds of passes over rows in one layout, from bytes and step counts; no second law, they order a search."""

from __future__ import annotations

from math import prod

from models.hardware import Hardware
from planner.pass_cycles import InterSlice, Steps, pass_cycles
from planner.program.operations import RowPass, Rows, Value
from planner.search import bounds
from planner.search.parts import Parts, fill, size_of, whole_axis
from planner.search.rows import RowLayout
from planner.search.spec import Named, bytes_of


def span(load_cycles: list[int], first_cycles: int, chain: list[int]) -> int:
    """No shorter from the first load to the last pass: loads follow each other, the passes of a chain too.

    `first_cycles`: loads that the first pass of the chain waits for, at least; the last pass waits for all.
    """
    if not chain:
        return sum(load_cycles)
    return max(sum(load_cycles) + chain[-1], first_cycles + sum(chain))


def floor_cycles(
    node: Rows, layout: RowLayout, sizes: dict[str, int], hardware: Hardware, hbm: frozenset[str], *, stored: bool
) -> int:
    """All loads from HBM, the longest chain of passes, and the store or the cheapest move before it."""
    loads = [_load(v, layout, sizes, hardware) for v in node.reads if v.name in hbm]
    chain = longest(node, {p.out.name: _pass(p, layout, hardware) for p in node.passes})
    total = span(loads, min(loads, default=0), chain)
    return total + (_store(node.out, layout, sizes, hardware) if stored else 0)


def longest(node: Rows, cycles: dict[str, int]) -> list[int]:
    """Cycles of the passes that the last one waits for, itself included, the longest way."""
    made: dict[str, list[int]] = {}
    for one in node.passes:
        before = [made[n] for n in (one.source.name, *one.operands) if n in made]
        made[one.out.name] = [*max(before, key=sum, default=[]), cycles[one.out.name]]
    return made[node.out.name]


def _load(value: Value, layout: RowLayout, sizes: dict[str, int], hardware: Hardware) -> int:
    dma = hardware.dma
    size_bytes = bytes_of(value.dtype)
    once = prod(sizes[a] for a in value.axes) * size_bytes
    copies = prod(_live(layout, a) for a in layout.tile if a not in value.axes)
    clusters = size_of(layout.cluster) if any(p.axis for p in layout.cluster) else 1
    if clusters == 1 and all(p.axis is None for p in layout.slice):
        return (
            dma.single_slice_base_cycles + once // dma.access_bytes * dma.single_slice_request_tenths // bounds.TENTHS
        )
    engines = bounds.engines_of(hardware, layout.slice, clusters)
    run = bounds.run_elements(value.axes, sizes, layout.held(value)) * size_bytes
    spots = bounds.Spots(engines, min(dma.channels, -(-once // dma.access_bytes)), run)
    base = dma.load_base_cycles + (dma.group_cycles if engines > 1 else 0)
    return bounds.transfer_floor(hardware, once * copies, base, spots)


def _live(layout: RowLayout, axis: str) -> int:
    """Positions of Cluster and Slice that hold some of an axis."""
    found = [p for p in (*layout.cluster, *layout.slice) if p.axis == axis]
    if not found:
        return 1
    return min(size_of(found), -(-found[0].declared // min(p.stride for p in found)))


def _pass(one: RowPass, layout: RowLayout, hardware: Hardware) -> int:
    """A step for each packet of the widest kind that a slice holds, and the fold over the ring."""
    held, ring = size_of(layout.held(one.source)), None
    steps = max(1, held // hardware.vector.ways_narrow)
    if one.moves:
        steps = max(1, held // hardware.contraction.max_packet_flits // hardware.geometry.flit_bytes)
    if layout.split and one.reduced == layout.split[0].axis:
        entering = steps if layout.early else size_of(layout.held(one.out)) // hardware.vector.ways_narrow
        ring = InterSlice(size_of(layout.split), max(1, entering))
    counts = (("fetch", steps),)
    return min(
        pass_cycles(hardware, Steps("main", (*counts, (last, 1)), ring)) for last in ("to_vrf", "commit", "vector")
    )


def _store(value: Value, layout: RowLayout, sizes: dict[str, int], hardware: Hardware) -> int:
    named = Named(value.name, value.dtype, value.axes)
    clusters = size_of(layout.cluster) if any(p.axis for p in layout.cluster) else 1
    folded = layout.split and layout.split[0].axis not in value.axes
    slice_ = (*layout.outside, *fill(size_of(layout.split))) if folded else layout.slice
    engines = bounds.engines_of(hardware, slice_, clusters)
    direct = bounds.store_floor(hardware, named, sizes, layout.held(value), engines)
    gathered: Parts = tuple(whole_axis(a, sizes[a]) for a in value.axes)
    move = hardware.passes.commit_base_cycles
    return min(direct, move + bounds.store_floor(hardware, named, sizes, gathered))
