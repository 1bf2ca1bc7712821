"""The optimum by enumeration: all modes and address modes, every order, each operation as early as it can.

Independent of the solver's rules: an order is turned into starts by trying times one after the other against the
validator's view of what is allowed. Small integers only.
"""

from __future__ import annotations

from itertools import combinations, product

from models.graph import Mode, Problem, region_rows


def optimum(problem: Problem) -> int | None:
    """The least makespan, None when there is no schedule."""
    best: int | None = None
    for modes in _mode_choices(problem):
        for regions in _region_choices(problem, modes):
            found = _Search(problem, modes, regions, best).run()
            if found is not None and (best is None or found < best):
                best = found
    return best


def _mode_choices(problem: Problem):
    for picked in product(*(op.modes for op in problem.operations)):
        modes = {op.name: m for op, m in zip(problem.operations, picked, strict=True)}
        present = {}
        for op in problem.operations:
            if op.requires is None or (op.requires[0] in present and present[op.requires[0]].id in op.requires[1]):
                present[op.name] = modes[op.name]
            elif modes[op.name] is not op.modes[0]:
                break  # absent: counted once
        else:
            yield present


def _region_choices(problem: Problem, modes: dict[str, Mode]):
    rows = problem.hardware.trf.rows_per_bank
    places = [b for b in problem.buffers if b.file == "trf" and any(w in modes for w in b.writers)]
    spots = []
    for b in places:
        mine = []
        for region in b.regions:
            low, high = region_rows(region, rows)
            if region == "full" and b.rows <= high - low:
                mine.append((low, high))
            elif region != "full":
                mine += [(row, row + b.rows) for row in range(low, high - b.rows + 1)]
        spots.append(list(dict.fromkeys(mine)))
    for picked in product(*spots):
        yield {b.name: span for b, span in zip(places, picked, strict=True)}


class _Search:
    """Orders of operations and bitmap loads, depth first; items start in that order, as early as everything allows."""

    def __init__(self, problem, modes, regions, best):
        self.p, self.modes, self.best = problem, modes, best
        self.edges = [e for e in problem.edges if e.before in modes and e.after in modes]
        self.first = problem.hardware.kernel.first_start_cycles
        self.sync = problem.hardware.kernel.final_sync_cycles
        self.load = problem.hardware.switch.bitmap_load_cycles
        self.buffers = [b for b in problem.buffers if any(w in modes for w in b.writers)]
        self.users = {b.name: {u for u in (*b.writers, *b.readers) if u in modes} for b in self.buffers}
        self.by_name = {b.name: b for b in self.buffers}
        self.regions = regions
        self.meets = {
            frozenset((a, b))
            for a, b in combinations(regions, 2)
            if regions[a][0] < regions[b][1] and regions[b][0] < regions[a][1]
        }

    def run(self):
        self._go({}, {}, {}, frozenset(), None, self.first, self.first)
        return self.best

    def _go(self, ends, free, dead, alive, ring, ring_free, now):
        """`now`: no item starts earlier than the one before; the order of starts is what is enumerated."""
        if len(ends) == len(self.modes):
            makespan = max(ends.values(), default=self.first) + self.sync
            self.best = makespan if self.best is None else min(self.best, makespan)
            return
        if self.best is not None and max([now, *ends.values()]) + self.sync >= self.best:
            return
        state = ends, free, dead, alive, ring, ring_free, now
        self._load_bitmap(*state)
        for name in self.modes:
            if name not in ends and all(e.before in ends for e in self.edges if e.after == name):
                self._start(name, *state)

    def _load_bitmap(self, ends, free, dead, alive, ring, ring_free, now):
        for bitmap in {m.bitmap for n, m in self.modes.items() if m.bitmap and n not in ends}:
            if ring is None or (ring[0] != bitmap and ring[2]):
                begin = max(now, ring_free, free.get("dma", 0), free.get("sub", 0))
                after = {**free, "dma": begin + self.load, "sub": begin + self.load}
                self._go(ends, after, dead, alive, (bitmap, begin + self.load, False), ring_free, begin)

    def _start(self, name, ends, free, dead, alive, ring, ring_free, now):
        mode = self.modes[name]
        if mode.bitmap and (ring is None or ring[0] != mode.bitmap):
            return
        low = max([now, *(ends[e.before] + e.lag_cycles for e in self.edges if e.after == name)])
        low = max([low, ring[1] if mode.bitmap else 0, *(free.get(r, 0) for r in mode.holds)])
        start = self._room(name, low, dead, alive)
        if start is None:
            return
        end = start + mode.cycles
        new_ends = {**ends, name: end}
        new_alive = alive | {b.name for b in self.buffers if name in b.writers}
        new_dead = dict(dead)
        for b in new_alive:
            if self.users[b] <= set(new_ends):
                new_dead[b] = max(new_ends[u] for u in self.users[b])
        new_free = {**free, **dict.fromkeys(mode.holds, end)}
        used = max(ring_free, end) if mode.bitmap else ring_free
        held = (ring[0], ring[1], True) if mode.bitmap else ring
        self._go(new_ends, new_free, new_dead, new_alive, held, used, start)

    def _room(self, name, low, dead, alive):
        """The earliest start from `low` at which the places that begin here fit beside those that live on."""
        new = [b.name for b in self.buffers if name in b.writers and b.name not in alive]
        for start in sorted({low, *(d for d in dead.values() if d > low)}):
            living = [b for b in alive if dead.get(b, start + 1) > start] + new
            if self._fits(living):
                return start
        return None

    def _fits(self, living):
        for file, room in (("vrf", self.p.hardware.vrf.bytes_per_slice), ("dm", self.p.hardware.dm.bytes_per_slice)):
            if sum(self.by_name[b].bytes for b in living if self.by_name[b].file == file) > room:
                return False
        rows = [b for b in living if b in self.regions]
        return not any(frozenset(pair) in self.meets for pair in combinations(rows, 2))
