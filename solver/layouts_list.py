"""Choices of layouts found by list scheduling and exchange: quick, for a start that the model improves and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from solver.layouts import Candidate, LayoutProblem, Route, Spot
from solver.layouts_first import fitting

Key = tuple[str, ...]
"""What has works of its own: `("step", op, index)`, `("to", tensor, place)`, `("ends", op)`."""
Ways = dict[Key, tuple[Route, ...]]
Cost = tuple[int, int]
"""The last end, and all ends together."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A choice with a schedule: `starts` of the works of every key, in order."""

    candidates: Mapping[str, int]
    routes: Mapping[Key, Route]
    starts: Mapping[Key, tuple[int, ...]]
    cost: Cost

    @property
    def makespan(self) -> int:
        """The last end."""
        return self.cost[0]


@dataclass(slots=True)
class Lister:
    """Schedules choices of a problem, and looks for better ones than `start` until `most` were scheduled."""

    problem: LayoutProblem
    most: int
    start: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Numbers the operations."""
        self.index = {op.name: i for i, op in enumerate(self.problem.operations)}

    def search(self) -> Listed | None:
        """The start or first candidates, then exchanges of one, of routes, and of two that feed each other."""
        best = self._first()
        while best is not None:
            better = next((b for b in self._changes(best) if b.cost < best.cost), None)
            if better is None or self.asked >= self.most:
                return better or best
            best = better
        return None

    def _first(self) -> Listed | None:
        """The first candidates; where two are impossible together, the first that is not; none left: others."""
        chosen: dict[str, int] = {}
        for op in self.problem.operations:
            order = sorted(range(len(op.candidates)), key=lambda i: i != self.start.get(op.name, 0))
            possible = (i for i in order if self._routes(chosen | {op.name: i}, op.name, op.candidates[i]))
            found = next(possible, None)
            if found is None:
                together = fitting(self.problem, self.start)
                return None if together is None else self.schedule(together, {})
            chosen[op.name] = found
        return self.schedule(chosen, {})

    def _changes(self, best: Listed) -> Iterator[Listed]:
        for candidates, routes in self._neighbours(best):
            if self.asked >= self.most:
                return
            found = self.schedule(candidates, routes)
            if found is not None:
                yield found

    def _neighbours(self, best: Listed) -> Iterator[tuple[dict[str, int], dict[Key, Route]]]:
        ops, taken = self.problem.operations, dict(best.candidates)
        kept = dict(best.routes)
        for op in ops:
            yield from ((taken | {op.name: i}, kept) for i in range(len(op.candidates)) if i != taken[op.name])
        for key in list(kept):
            for route in self._alternatives(key, taken):
                if route is not kept[key]:
                    yield taken, kept | {key: route}
        for op in ops:
            for name in dict.fromkeys(s[0] for s in op.candidates[taken[op.name]].reads if s[0] in self.index):
                counts = len(ops[self.index[name]].candidates), len(op.candidates)
                for i, j in product(*map(range, counts)):
                    if i != taken[name] and j != taken[op.name]:
                        yield taken | {name: i, op.name: j}, kept

    # Routes ---------------------------------------------------------------------------------------------

    def _alternatives(self, key: Key, chosen: Mapping[str, int]) -> tuple[Route, ...]:
        if key[0] == "to":
            return self._between(chosen, (key[1], key[2]))
        candidate = self.problem.operations[self.index[key[1]]].candidates[chosen[key[1]]]
        return candidate.endings if key[0] == "ends" else candidate.steps[int(key[2])].routes

    def _between(self, chosen: Mapping[str, int], spot: Spot) -> tuple[Route, ...]:
        tensor, place = spot
        source = self.problem.given.get(tensor)
        if source is None:
            source = self.problem.operations[self.index[tensor]].candidates[chosen[tensor]].gives
        return self.problem.between(tensor, source, place)

    def _routes(self, chosen: Mapping[str, int], name: str, candidate: Candidate) -> Ways | None:
        """The routes of everything that one operation needs; None where a tensor cannot be brought."""
        out: Ways = {}
        for spot in candidate.reads:
            found = self._between(chosen, spot)
            if not found:
                return None
            out["to", *spot] = found
        out |= {("step", name, str(i)): s.routes for i, s in enumerate(candidate.steps)}
        if candidate.endings:
            out["ends", name] = candidate.endings
        return out

    # Schedules ------------------------------------------------------------------------------------------

    def schedule(self, chosen: Mapping[str, int], wanted: Mapping[Key, Route]) -> Listed | None:
        """A list schedule, the longest tail first; `wanted` routes are taken where the choice has them."""
        self.asked += 1
        routes: dict[Key, Route] = {}
        before: dict[Key, list[Key]] = {}
        for op in self.problem.operations:
            candidate = op.candidates[chosen[op.name]]
            found = self._routes(chosen, op.name, candidate)
            if found is None:
                return None
            for key, ways in found.items():
                if key not in routes:
                    old = wanted.get(key)
                    routes[key] = old if old in ways and old is not None else min(ways, key=lambda r: r.cycles)
                    before[key] = self._before(key, candidate, chosen)
        starts, ends = _listed(routes, before)
        return Listed(dict(chosen), routes, starts, (max(ends.values(), default=0), sum(ends.values())))

    def _before(self, key: Key, candidate: Candidate, chosen: Mapping[str, int]) -> list[Key]:
        if key[0] == "step":
            step = candidate.steps[int(key[2])]
            return [*(("to", *spot) for spot in step.reads), *(("step", key[1], str(i)) for i in step.after)]
        if key[0] == "to" and key[1] in self.problem.given:
            return []
        made = self.problem.operations[self.index[key[1]]].candidates[chosen[key[1]]]
        return [("step", key[1], str(i)) for i in range(len(made.steps))]


def _listed(
    routes: Mapping[Key, Route], before: Mapping[Key, list[Key]]
) -> tuple[dict[Key, tuple[int, ...]], dict[Key, int]]:
    """Starts of all works and ends of all keys; keys come after those before them."""
    tails = _tails(routes, before)
    waiting = {k: len(set(b)) for k, b in before.items()}
    behind: dict[Key, list[Key]] = {k: [] for k in routes}
    for key, earlier in before.items():
        for one in set(earlier):
            behind[one].append(key)
    free: dict[str, int] = {}
    starts: dict[Key, tuple[int, ...]] = {}
    ends: dict[Key, int] = {}
    ready = {k: 0 for k, n in waiting.items() if not n}
    while ready:
        key = min(ready, key=lambda k: (_start(routes[k], ready[k], free), -tails[k], k))
        starts[key], ends[key] = _placed(routes[key], ready.pop(key), free)
        for later in behind[key]:
            waiting[later] -= 1
            if not waiting[later]:
                ready[later] = max(ends[b] for b in before[later])
    return starts, ends


def _start(route: Route, at: int, free: Mapping[str, int]) -> int:
    return max([at, *(free.get(h, 0) for h in route.works[0].holds)]) if route.works else at


def _placed(route: Route, at: int, free: dict[str, int]) -> tuple[tuple[int, ...], int]:
    starts = []
    for work in route.works:
        at = max([at, *(free.get(h, 0) for h in work.holds)])
        starts.append(at)
        at += work.cycles
        free.update(dict.fromkeys(work.holds, at))
    return tuple(starts), at


def _tails(routes: Mapping[Key, Route], before: Mapping[Key, list[Key]]) -> dict[Key, int]:
    """Cycles from the start of a key to the end, contexts aside."""
    out: dict[Key, int] = {}
    behind: dict[Key, list[Key]] = {k: [] for k in routes}
    for key, earlier in before.items():
        for one in earlier:
            behind[one].append(key)
    stack = [(k, False) for k in routes]
    while stack:
        key, seen = stack.pop()
        if key in out:
            continue
        if seen:
            out[key] = routes[key].cycles + max((out[b] for b in behind[key]), default=0)
        else:
            stack += [(key, True), *((b, False) for b in behind[key] if b not in out)]
    return out


def load_bound(problem: LayoutProblem) -> int:
    """What the resources have to serve at least, whatever is chosen: no schedule of any choice is shorter."""
    total: dict[str, int] = {}
    for op in problem.operations:
        parts = [_least([s.routes for s in c.steps] + ([c.endings] if c.endings else [])) for c in op.candidates]
        _add(total, {r: min(p.get(r, 0) for p in parts) for r in parts[0]})
    for tensor, place in problem.given.items():
        reading = (op.candidates for op in problem.operations)
        always = [cs for cs in reading if all(any(s[0] == tensor for s in c.reads) for c in cs)]
        ways = [
            routes for (t, source, _), routes in problem.routes.items() if (t, source) == (tensor, place) and routes
        ]
        if always and ways and not any(s == (tensor, place) for cs in always for c in cs for s in c.reads):
            parts = [_least([routes]) for routes in ways]
            _add(total, {r: min(p.get(r, 0) for p in parts) for r in parts[0]})
    return problem.frame_cycles + max(total.values(), default=0)


def _least(choices: list[tuple[Route, ...]]) -> dict[str, int]:
    """Cycles of each resource that all choices take together, each by the route that takes least of it."""
    out: dict[str, int] = {}
    for routes in choices:
        resources = {h for r in routes for w in r.works for h in w.holds}
        _add(out, {h: min(sum(w.cycles for w in r.works if h in w.holds) for r in routes) for h in resources})
    return out


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for resource, cycles in more.items():
        total[resource] = total.get(resource, 0) + cycles
