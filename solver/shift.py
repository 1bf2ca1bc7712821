"""Order-preserving left shift: everything starts as early as its order allows, so that plans are stable.

Kept are edges, the order on every resource, sessions of bitmaps, and the order of places that share rows or bytes. The
makespan never grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from models.graph import DMA, SUB
from solver.index import Index, Place
from solver.solution import BitmapLoad, Solution
from solver.variables import birth_of, death_of


@dataclass(slots=True)
class _Item:
    """An operation or a bitmap load: `name` is that of the pass in both cases."""

    name: str
    load: bool
    start: int
    cycles: int
    holds: frozenset[str]
    bitmap: str | None


def left_shift(index: Index, solution: Solution) -> Solution:
    """The same order with the earliest starts; regions and addresses stay."""
    items = _items(index, solution)
    follows = _place_order(index, solution)
    free: dict[str, int] = defaultdict(int)
    ends: dict[str, int] = {}
    starts: dict[str, int] = {}
    loads: list[BitmapLoad] = []
    ring_free = loaded = 0
    for item in items:
        start = max([index.hardware.kernel.first_start_cycles, *(free[r] for r in item.holds)])
        if item.load:
            start = max(start, ring_free)
            loaded = start + item.cycles
            loads.append(BitmapLoad(item.name, item.bitmap or "", start, loaded))
        else:
            start = max([start, *(ends[e.before] + e.lag_cycles for e in index.before[item.name] if e.before in ends)])
            start = max([start, *(ends[u] for u in follows.get(item.name, ()))])
            start = max(start, loaded) if item.bitmap else start
            starts[item.name], ends[item.name] = start, start + item.cycles
            ring_free = max(ring_free, start + item.cycles) if item.bitmap else ring_free
        for resource in item.holds:
            free[resource] = start + item.cycles
    ordered = {name: starts[name] for name in index.ops if name in starts}
    return replace(solution, starts=ordered, loads=tuple(loads), makespan=makespan(index, ends))


def one_by_one(index: Index, solution: Solution) -> Solution:
    """The same order with one operation at a time, whatever it holds; what was parted stays parted."""
    time = index.hardware.kernel.first_start_cycles
    starts: dict[str, int] = {}
    loads: list[BitmapLoad] = []
    ends: dict[str, int] = {}
    for item in _items(index, solution):
        if item.load:
            loads.append(
                BitmapLoad(item.name, item.bitmap or "", time, time + index.hardware.switch.bitmap_load_cycles)
            )
            time = loads[-1].end
            continue
        time = max([time, *(ends[e.before] + e.lag_cycles for e in index.before[item.name] if e.before in ends)])
        starts[item.name] = time
        time = ends[item.name] = time + item.cycles
    return replace(solution, starts=starts, loads=tuple(loads), makespan=makespan(index, ends))


def makespan(index: Index, ends: Mapping[str, int]) -> int:
    """From 0 to the end of the final sync."""
    frame = index.hardware.kernel
    return max(ends.values(), default=frame.first_start_cycles) + frame.final_sync_cycles


def _items(index: Index, solution: Solution) -> list[_Item]:
    rank = {name: i for i, name in enumerate(index.order or index.ops)}
    items = [
        _Item(load.op, True, load.start, load.end - load.start, frozenset({DMA, SUB}), load.bitmap)
        for load in solution.loads
    ]
    for name, mode_id in solution.modes.items():
        mode = index.mode(name, mode_id)
        items.append(_Item(name, False, solution.starts[name], mode.cycles, mode.holds, mode.bitmap))
    return sorted(items, key=lambda i: (i.start, i.start + i.cycles, not i.load, rank[i.name]))


def _place_order(index: Index, solution: Solution) -> dict[str, set[str]]:
    """Users that a writer waits for, since its place shares rows or bytes with an earlier one."""
    out: dict[str, set[str]] = defaultdict(set)
    for file in ("dm", "trf", "vrf"):
        spans = [
            (p, span, birth_of(solution, p), death_of(index, solution, p))
            for p in index.places_in(file)
            if (span := extent(index, solution, p)) is not None
        ]
        spans.sort(key=lambda s: s[1])
        for i, (a, (_, high), birth_a, death_a) in enumerate(spans):
            for b, (low, _), birth_b, death_b in spans[i + 1 :]:
                if low >= high:
                    break
                first, second = (a, b) if death_a <= birth_b else (b, a)
                if death_a <= birth_b or death_b <= birth_a:
                    for writer in second.writers:
                        out[writer].update(u for u in first.users if u in solution.starts)
    return out


def extent(index: Index, solution: Solution, place: Place) -> tuple[int, int] | None:
    """First and last (excluded) row or byte of a place in a solution; None where it is absent."""
    if not any(w in solution.starts for w in place.writers):
        return None
    if place.file == "trf":
        region, row = solution.regions[place.name]
        return index.taken_rows(region, row, place.size)
    address = solution.addresses[place.name]
    return address, address + place.size
