"""A problem with its presences, bitmap sessions and register rows settled by a plan, in small integers.

What is left open is the order and, where it changes nothing that was settled, the mode. Memories become counters:
bytes, TRF slots where all tensors are alike (any schedule that counts right can be dealt out), or single rows as the
plan has them. A place is taken from the start of its first user to the end of its last one.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from models.graph import DMA, RESOURCES, SUB
from solver.index import Index, Place
from solver.rules.register_regions import all_at_once, uniform_slots
from solver.solution import Solution

Link = tuple[int, int]
"""Another item and the lag in cycles."""


@dataclass(frozen=True, slots=True)
class Way:
    """A mode: cycles, and the resources it holds by their place in RESOURCES."""

    mode: str
    cycles: int
    holds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """Items are operations in an order that edges allow, then bitmap loads.

    `takes`: places an item uses; `users`: items of a place; `demands`: counters of a place with the amount; `room`:
    what each counter has.
    """

    names: tuple[str, ...]
    ways: tuple[tuple[Way, ...], ...]
    before: tuple[tuple[Link, ...], ...]
    after: tuple[tuple[Link, ...], ...]
    takes: tuple[tuple[int, ...], ...]
    users: tuple[tuple[int, ...], ...]
    demands: tuple[tuple[Link, ...], ...]
    room: tuple[int, ...]

    def mirrored(self) -> Board:
        """The same with time running backwards."""
        return Board(self.names, self.ways, self.after, self.before, self.takes, self.users, self.demands, self.room)

    def prefix(self, count: int) -> Board:
        """Only the first items: what they need comes before them."""
        return Board(
            self.names[:count],
            self.ways[:count],
            tuple(tuple(link for link in links if link[0] < count) for links in self.before[:count]),
            tuple(tuple(link for link in links if link[0] < count) for links in self.after[:count]),
            self.takes[:count],
            tuple(tuple(u for u in users if u < count) for users in self.users),
            self.demands,
            self.room,
        )


def board(index: Index, plan: Solution) -> Board:
    """Settles a problem by a plan, which has regions where rows cannot be counted."""
    names = [n for n in index.order or () if n in plan.starts]
    ids = {name: i for i, name in enumerate(names)}
    links = [
        (ids[e.before], ids[e.after], e.lag_cycles) for e in index.problem.edges if {e.before, e.after} <= set(ids)
    ]
    links += [(a, b, 0) for a, b in _sessions(index, plan, ids)]
    before: dict[int, list[Link]] = defaultdict(list)
    after: dict[int, list[Link]] = defaultdict(list)
    for a, b, lag in links:
        before[b].append((a, lag))
        after[a].append((b, lag))
    places, demands, room = _counters(index, plan)
    users = [tuple(ids[u] for u in p.users if u in ids) for p in places]
    takes: dict[int, list[int]] = defaultdict(list)
    for p, items in enumerate(users):
        for item in items:
            takes[item].append(p)
    count = len(names) + len(plan.loads)
    cycles = index.hardware.switch.bitmap_load_cycles
    load = (Way("", cycles, _holds(frozenset({DMA, SUB}))),)
    return Board(
        (*names, *(f"load {load.op}" for load in plan.loads)),
        (*(_ways(index, plan, n) for n in names), *(load for _ in plan.loads)),
        tuple(tuple(before[i]) for i in range(count)),
        tuple(tuple(after[i]) for i in range(count)),
        tuple(tuple(takes[i]) for i in range(count)),
        tuple(users),
        tuple(demands),
        tuple(room),
    )


def _holds(resources: frozenset[str]) -> tuple[int, ...]:
    return tuple(i for i, r in enumerate(RESOURCES) if r in resources)


def _ways(index: Index, plan: Solution, name: str) -> tuple[Way, ...]:
    """The mode of the plan first; others only where neither presence nor a bitmap depends on them."""
    op, now = index.ops[name], index.mode(name, plan.modes[name])
    rest = () if name in index.deciding else tuple(m for m in op.modes if m is not now and m.bitmap == now.bitmap)
    return tuple(Way(m.id, m.cycles, _holds(m.holds)) for m in (now, *rest))


def _sessions(index: Index, plan: Solution, ids: dict[str, int]) -> list[tuple[int, int]]:
    """A load comes before the passes it serves, and after those that the load before it serves."""
    loads = sorted((load.end, item) for item, load in enumerate(plan.loads, len(ids)))
    out: list[tuple[int, int]] = []
    for name, item in ids.items():
        if loads and index.mode(name, plan.modes[name]).bitmap:
            session = bisect(loads, (plan.starts[name], len(ids) + len(loads))) - 1
            out.append((loads[session][1], item))
            out += [(item, following) for _, following in loads[session + 1 : session + 2]]
    return out


def _counters(index: Index, plan: Solution) -> tuple[list[Place], list[tuple[Link, ...]], list[int]]:
    """Places that compete, what they take of which counter, and what each counter has."""
    present = [p for p in index.places if any(w in plan.starts for w in p.writers)]
    demands: dict[str, list[Link]] = {p.name: [] for p in present}
    room: list[int] = []
    for file in ("dm", "vrf"):
        mine = [p for p in present if p.file == file]
        if sum(p.size for p in mine) > index.capacity(file):
            for p in mine:
                demands[p.name].append((len(room), p.size))
            room.append(index.capacity(file))
        given = [(p, p.fixed_address, p.fixed_address + p.size) for p in mine if p.fixed_address is not None]
        _pieces(given, demands, room)
    rows = [p for p in present if p.file == "trf"]
    slots = uniform_slots(index, rows)
    if slots and len(rows) > len(slots):
        for p in rows:
            demands[p.name].append((len(room), 1))
        room.append(len(slots))
    elif not slots and all_at_once(index, rows) is None:
        _pieces([(p, *index.taken_rows(*plan.regions[p.name], p.size)) for p in rows], demands, room)
    return [p for p in present if demands[p.name]], [tuple(d) for d in demands.values() if d], room


def _pieces(spans: list[tuple[Place, int, int]], demands: dict[str, list[Link]], room: list[int]) -> None:
    """A counter of one for every piece of rows or bytes that several places want."""
    for low, high in pairwise(sorted({at for _, *span in spans for at in span})):
        over = [p for p, first, last in spans if first <= low and high <= last]
        if len(over) > 1:
            for p in over:
                demands[p.name].append((len(room), 1))
            room.append(1)
