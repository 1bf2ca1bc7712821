"""A first plan by list scheduling: as the start of the search, and its answer where the bound is met at once.

Places are handed out so that those of earlier operations in program order always still fit; without that the schedule
could dead-lock on registers that only a later release would free.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, product

from models.graph import DMA, SUB, Mode
from solver.bound import Bound
from solver.index import Index, Place
from solver.rules.capacity import meet
from solver.rules.register_regions import first_free
from solver.shift import makespan
from solver.solution import BitmapLoad, Solution

Priority = Callable[[str], tuple[int, ...]]

LOOK_BACK = 64
"""Places of earlier operations that are reserved for when a later one is handed out early."""

TRIES = 24
"""Operations of one kind that are tried at one time, unless nothing runs any more."""


def list_schedules(index: Index, bound: Bound) -> Iterable[Solution]:
    """Plans for several priorities, where they come to an end; addresses are not given yet."""
    if index.order is None:
        return
    rank = {name: i for i, name in enumerate(index.order)}
    choices = any(len(o.modes) > 1 for o in index.ops.values())
    priorities: tuple[Priority, ...] = (
        lambda n: (rank[n],),
        lambda n: (-bound.tails.get(n, 0), rank[n]),
        lambda n: (bound.heads.get(n, 0), -bound.tails.get(n, 0), rank[n]),
    )
    for priority in priorities:
        for variant, thrifty in product(_presences(index), (False, True) if choices else (False,)):
            found = _Run(index, priority, variant, thrifty=thrifty).run()
            if found is not None:
                yield found


def _presences(index: Index) -> tuple[int, ...]:
    """Operations that decide on others try their first mode and their last."""
    return (0, -1) if any(o.requires for o in index.ops.values()) else (0,)


@dataclass(slots=True)
class _Memory:
    """One memory while time goes on: what waits in program order, what is taken; `fixed`: some addresses are given."""

    waiting: dict[str, Place]
    fixed: bool = False
    used: int = 0
    taken: dict[str, Place] = field(default_factory=dict)

    def take(self, place: Place) -> None:
        """Hands a place out."""
        del self.waiting[place.name]
        self.taken[place.name] = place
        self.used += place.size

    def give_back(self, place: Place) -> bool:
        """Whether the place was taken; it no longer is."""
        found = self.taken.pop(place.name, None) is not None
        self.used -= place.size if found else 0
        return found


class _Run:
    def __init__(self, index: Index, priority: Priority, variant: int, *, thrifty: bool) -> None:
        self.thrifty = thrifty
        self.index = index
        self.priority = priority
        self.modes = self._modes_left(variant)
        present = [n for n in index.order or () if n in self.modes]
        rank = {name: i for i, name in enumerate(index.ops)}
        self.left = {n: sum(e.before in self.modes for e in index.before[n]) for n in present}
        self.earliest = dict.fromkeys(present, index.hardware.kernel.first_start_cycles)
        self.kinds = {n: tuple(m.holds for m in self.modes[n]) for n in present}
        self.ready: dict[tuple[frozenset[str], ...], list[str]] = {kind: [] for kind in self.kinds.values()}
        for name in sorted((n for n in present if not self.left[n]), key=priority):
            self.ready[self.kinds[name]].append(name)
        self.free: dict[str, int] = {}
        self.events = [index.hardware.kernel.first_start_cycles]
        self.starts: dict[str, int] = {}
        self.chosen: dict[str, str] = {}
        self.ends: dict[str, int] = {}
        self.running: list[tuple[int, str]] = []
        self.regions: dict[str, tuple[str, int]] = {}
        self.loads: list[BitmapLoad] = []
        self.ring_free = 0
        self.changes = 0
        self.refused: dict[str, int] = {}
        self.users = {p.name: {u for u in p.users if u in self.modes} for p in index.places}
        first = {p.name: min((rank[w] for w in p.writers if w in self.modes), default=-1) for p in index.places}
        waiting = sorted((p for p in index.places if first[p.name] >= 0), key=lambda p: first[p.name])
        self.memories = {
            f: _Memory(
                {p.name: p for p in waiting if p.file == f},
                any(p.fixed_address is not None for p in index.places_in(f)),
            )
            for f in ("dm", "trf", "vrf")
        }

    def run(self) -> Solution | None:
        """The schedule, or None when it gets stuck."""
        while self.events:
            now = heapq.heappop(self.events)
            while self.events and self.events[0] == now:
                heapq.heappop(self.events)
            self._finish(now)
            while any(self._try(name, now) for name in self._next(now)):
                pass
        if len(self.starts) < len(self.modes):
            return None
        return Solution(
            status="feasible",
            stopped_by="time_limit",
            makespan=makespan(self.index, self.ends),
            lower_bound=0,
            starts={n: self.starts[n] for n in self.index.ops if n in self.starts},
            modes={n: self.chosen[n] for n in self.index.ops if n in self.chosen},
            regions=self.regions,
            loads=tuple(self.loads),
        )

    def _modes_left(self, variant: int) -> dict[str, tuple[Mode, ...]]:
        """Modes to choose from; those that decide on other operations are settled first."""
        deciding = {o.requires[0] for o in self.index.ops.values() if o.requires}
        out: dict[str, tuple[Mode, ...]] = {}
        names = list(self.index.ops)
        while names:
            waiting = [n for n in names if (r := self.index.ops[n].requires) is not None and r[0] in names]
            for name in (n for n in names if n not in waiting):
                op = self.index.ops[name]
                parent = op.requires and {m.id for m in out.get(op.requires[0], ())} & op.requires[1]
                if (op.requires is None or parent) and op.modes:
                    out[name] = (op.modes[variant],) if name in deciding else op.modes
            names = waiting
        return out

    def _next(self, now: int) -> Iterator[str]:
        """Operations to try now, by priority; kinds that can start nowhere are left out."""
        idle = [names for kind, names in self.ready.items() if any(self._idle(holds, now) for holds in kind)]
        tries = TRIES if self.running else len(self.index.ops)
        return heapq.merge(*(names[:tries] for names in idle if names), key=self.priority)

    def _finish(self, now: int) -> None:
        while self.running and self.running[0][0] <= now:
            end, name = heapq.heappop(self.running)
            for edge in self.index.after[name]:
                if edge.after in self.left:
                    self.left[edge.after] -= 1
                    self.earliest[edge.after] = max(self.earliest[edge.after], end + edge.lag_cycles)
                    if not self.left[edge.after]:
                        insort(self.ready[self.kinds[edge.after]], edge.after, key=self.priority)
                        heapq.heappush(self.events, max(now, self.earliest[edge.after]))
            for place in self.index.places_of[name]:
                users = self.users[place.name]
                users.discard(name)
                if not users:
                    self.changes += self.memories[place.file].give_back(place)

    def _try(self, name: str, now: int) -> bool:
        """Starts an operation when its best mode can start now and its places can be handed out."""
        if self.earliest[name] > now:
            return False
        mode = min(self.modes[name], key=lambda m: self._cost(m, now))
        start = self._start(mode, now)
        needs_load = self._needs_load(mode)
        if start > now and not (needs_load and self._load_start(now) == now and start == self._loaded(now)):
            return False
        if not self._hand_out(name):
            return False
        if needs_load:
            self._load(name, mode, now)
        self.ready[self.kinds[name]].remove(name)
        end = start + mode.cycles
        self.starts[name], self.chosen[name], self.ends[name] = start, mode.id, end
        for resource in mode.holds:
            self.free[resource] = end
        if mode.bitmap:
            self.ring_free = max(self.ring_free, end)
        heapq.heappush(self.running, (end, name))
        heapq.heappush(self.events, end)
        return True

    def _cost(self, mode: Mode, now: int) -> tuple[int, int]:
        """The earliest end decides, or, thrifty, the least time taken from all contexts together."""
        start, held = self._start(mode, now), len(mode.holds)
        return (mode.cycles * held, start) if self.thrifty else (start + mode.cycles, held)

    def _idle(self, holds: frozenset[str], now: int) -> bool:
        return all(self.free.get(r, 0) <= now for r in holds)

    def _start(self, mode: Mode, now: int) -> int:
        start = max([now, *(self.free.get(r, 0) for r in mode.holds)])
        return max(start, self._loaded(now)) if self._needs_load(mode) else start

    def _needs_load(self, mode: Mode) -> bool:
        return mode.bitmap is not None and (not self.loads or self.loads[-1].bitmap != mode.bitmap)

    def _load_start(self, now: int) -> int:
        return max(now, self.ring_free, self.free.get(DMA, 0), self.free.get(SUB, 0))

    def _loaded(self, now: int) -> int:
        return self._load_start(now) + self.index.hardware.switch.bitmap_load_cycles

    def _load(self, name: str, mode: Mode, now: int) -> None:
        end = self._loaded(now)
        self.loads.append(BitmapLoad(name, mode.bitmap or "", self._load_start(now), end))
        self.free[DMA] = self.free[SUB] = end
        heapq.heappush(self.events, end)

    def _hand_out(self, name: str) -> bool:
        """Takes every place that an operation is the first to write, or none of them."""
        if self.refused.get(name) == self.changes:
            return False
        self.refused[name] = self.changes
        new = [p for p in self.index.places_of[name] if p.name in self.memories[p.file].waiting and name in p.writers]
        rows: dict[str, tuple[str, int]] = {}
        for file in {p.file for p in new}:
            memory = self.memories[file]
            mine = {p.name: p for p in new if p.file == file}
            ahead = (p for p in _until(memory.waiting, mine) if p.name not in mine)
            fits = (
                self._fits_rows(memory, [*mine.values()], ahead, rows)
                if file == "trf"
                else self._fits_bytes(memory, [*mine.values()], ahead)
            )
            if not fits:
                return False
        self.regions |= rows
        for p in new:
            self.memories[p.file].take(p)
        self.changes += bool(new)
        return True

    def _fits_bytes(self, memory: _Memory, mine: list[Place], ahead: Iterable[Place]) -> bool:
        room = self.index.capacity(mine[0].file) - memory.used - sum(p.size for p in mine)
        fixed = [p for p in (memory.taken.values() if memory.fixed else ()) if p.fixed_address is not None]
        for p in ahead:
            room -= p.size
            if room < 0:
                return False
            fixed += [p] if p.fixed_address is not None else []
        return room >= 0 and not any(meet(p, q) for p in mine for q in fixed)

    def _fits_rows(
        self, memory: _Memory, mine: list[Place], ahead: Iterable[Place], rows: dict[str, tuple[str, int]]
    ) -> bool:
        taken = [self.index.taken_rows(*self.regions[p.name], p.size) for p in memory.taken.values()]
        names = {p.name for p in mine}
        for k, p in enumerate(chain(mine, ahead)):
            found = first_free(self.index, p, taken) if k < LOOK_BACK else None
            if found is None:
                return False
            taken.append(self.index.taken_rows(*found, p.size))
            if p.name in names:
                rows[p.name] = found
        return True


def _until(waiting: dict[str, Place], wanted: dict[str, Place]) -> Iterable[Place]:
    """Places in program order up to the last of those wanted."""
    count = len(wanted)
    for place in waiting.values():
        if not count:
            return
        count -= place.name in wanted
        yield place
