"""The choice of layouts as one CP-SAT model: candidates, routes between them, order on the contexts, memory.

A chain of works has one start and one end per position, whichever of its routes is taken; what differs is the cycles
and the resources held, so a position needs one interval per set of resources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from solver.layouts import Candidate, LayoutChoice, LayoutOperation, LayoutProblem, Route, Spot, Step
from solver.layouts_list import Key, Listed

Literal = cp_model.IntVar


@dataclass(frozen=True, slots=True)
class _Chain:
    """The first start and the last end of works one after the other."""

    start: Literal
    end: Literal


@dataclass(slots=True)
class LayoutModel:
    """The model of a problem; `forbidden` are choices that are not wanted again."""

    problem: LayoutProblem
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    chosen: dict[str, list[Literal]] = field(default_factory=dict)
    arrivals: dict[Spot, list[tuple[str, Literal]]] = field(default_factory=dict)
    endings: dict[str, list[tuple[str, Literal]]] = field(default_factory=dict)
    spans: dict[str, _Chain] = field(default_factory=dict)
    arrived: dict[Spot, _Chain] = field(default_factory=dict)
    held: dict[str, list[cp_model.IntervalVar]] = field(default_factory=lambda: defaultdict(list))
    load: dict[str, list[tuple[Literal, int]]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[Key, list[Literal]] = field(default_factory=dict)
    ways: dict[Key, list[tuple[Literal, Route]]] = field(default_factory=dict)
    either: dict[frozenset[int], Literal] = field(default_factory=dict)
    horizon: int = 0

    def build(self, forbidden: Iterable[LayoutChoice] = ()) -> None:
        """Variables and constraints, then the objective."""
        self.horizon = _horizon(self.problem)
        for op in self.problem.operations:
            self.chosen[op.name] = [self.cp.new_bool_var(f"{op.name}={i}") for i in range(len(op.candidates))]
            self.cp.add_exactly_one(self.chosen[op.name])
        readers = self._readers()
        done = self.cp.new_int_var(0, self.horizon, "done")
        for spot in readers:
            if spot[0] in self.problem.given:
                self._arrival(spot, readers[spot])
        for op in self.problem.operations:
            self._operation(op, done)
            for spot in readers:
                if spot[0] == op.name:
                    self._arrival(spot, readers[spot])
        for resource, intervals in self.held.items():
            self.cp.add_no_overlap(intervals)
            # Not seen by the rule above: one resource serves everything, one work after the other.
            self.cp.add(done >= sum(cycles * v for v, cycles in self.load[resource]))
        self._memory(readers)
        for choice in forbidden:
            self._forbid(choice)
        self.cp.minimize(done + self.problem.frame_cycles)

    # Choices --------------------------------------------------------------------------------------------

    def _readers(self) -> dict[Spot, list[Literal]]:
        """Every spot that some candidate reads, with the literals of those candidates."""
        out: dict[Spot, list[Literal]] = {}
        for op in self.problem.operations:
            for candidate, literal in zip(op.candidates, self.chosen[op.name], strict=True):
                for spot in candidate.reads:
                    out.setdefault(spot, []).append(literal)
        return out

    def any_of(self, literals: Sequence[Literal]) -> Literal:
        """A literal that is true where one of several is."""
        if len(literals) == 1:
            return literals[0]
        key = frozenset(v.index for v in literals)
        if key not in self.either:
            out = self.cp.new_bool_var(f"any of {len(literals)}")
            self.cp.add_max_equality(out, list(literals))
            self.either[key] = out
        return self.either[key]

    def _pick(self, when: Literal, routes: Sequence[Route], label: str) -> list[tuple[Literal, Route]]:
        """A literal for each route, exactly one of them true when `when` is."""
        if len(routes) == 1:
            return [(when, routes[0])]
        literals = [self.cp.new_bool_var(f"{label} {r.name}") for r in routes]
        self.cp.add(sum(literals) == when)
        return list(zip(literals, routes, strict=True))

    # Time -----------------------------------------------------------------------------------------------

    def _chain(self, key: Key, options: Sequence[tuple[Literal, Route]], after: Iterable[Literal]) -> _Chain:
        """Places the works of whichever option is true, none where none is, behind everything in `after`."""
        label = " ".join(key)
        self.ways[key] = list(options)
        starts = self.starts.setdefault(key, [])
        start = end = self.cp.new_int_var(0, self.horizon, f"{label} start")
        for before in after:
            self.cp.add(start >= before)
        for position in range(max((len(r.works) for _, r in options), default=0)):
            at = end if position == 0 else self.cp.new_int_var(0, self.horizon, f"{label} start {position}")
            if position:
                self.cp.add(at >= end)
            starts.append(at)
            end = self._position(label, at, [(v, r) for v, r in options if len(r.works) > position], position)
        return _Chain(start, end)

    def _position(self, label: str, at: Literal, options: list[tuple[Literal, Route]], position: int) -> Literal:
        works = [(v, r.works[position]) for v, r in options]
        size = self.cp.new_int_var(0, max(w.cycles for _, w in works), f"{label} cycles")
        self.cp.add(size == sum(w.cycles * v for v, w in works))
        end = self.cp.new_int_var(0, self.horizon, f"{label} end")
        self.cp.add(end == at + size)
        for holds in dict.fromkeys(w.holds for _, w in works):
            present = self.any_of([v for v, w in works if w.holds == holds])
            interval = self.cp.new_optional_interval_var(at, size, end, present, label)
            for resource in sorted(holds):
                self.held[resource].append(interval)
                self.load[resource] += [(v, w.cycles) for v, w in works if w.holds == holds]
        return end

    def _operation(self, op: LayoutOperation, done: Literal) -> None:
        literals = self.chosen[op.name]
        for i, literal in enumerate(literals):
            # Candidates come by their own cycles: where nothing speaks against it, the first is right.
            self.cp.add_hint(literal, i == 0)
        chains: list[_Chain] = []
        for at in range(max(len(c.steps) for c in op.candidates)):
            having = [(v, c.steps[at]) for v, c in zip(literals, op.candidates, strict=True) if len(c.steps) > at]
            chains.append(self._step(("step", op.name, str(at)), having, chains))
        start, end = (self.cp.new_int_var(0, self.horizon, f"{op.name} {what}") for what in ("first", "made"))
        for chain in chains:
            self.cp.add(start <= chain.start)
            self.cp.add(end >= chain.end)
        self.spans[op.name] = _Chain(start, end)
        self._ending(op, done)

    def _step(self, key: Key, having: list[tuple[Literal, Step]], chains: list[_Chain]) -> _Chain:
        options = [o for v, s in having for o in self._pick(v, s.routes, " ".join(key))]
        chain = self._chain(key, options, ())
        for earlier, other in enumerate(chains):
            self._when([v for v, s in having if earlier in s.after], chain.start, other.end)
        for spot in dict.fromkeys(spot for _, s in having for spot in s.reads):
            self._when([v for v, s in having if spot in s.reads], chain.start, self.arrived_at(spot).end)
        return chain

    def _when(self, literals: list[Literal], later: Literal, earlier: Literal) -> None:
        if literals:
            self.cp.add(later >= earlier).only_enforce_if(self.any_of(literals))

    def arrived_at(self, spot: Spot) -> _Chain:
        """When a tensor is where it is read."""
        return self.arrived[spot]

    def _ending(self, op: LayoutOperation, done: Literal) -> None:
        options = [
            o
            for v, c in zip(self.chosen[op.name], op.candidates, strict=True)
            if c.endings
            for o in self._pick(v, c.endings, f"{op.name} ends")
        ]
        self.endings[op.name] = [(r.name, v) for v, r in options]
        self.cp.add(done >= self._chain(("ends", op.name), options, [self.spans[op.name].end]).end)

    def _arrival(self, spot: Spot, readers: list[Literal]) -> None:
        """Brings a tensor to a place where some candidate that reads it there is chosen."""
        tensor, target = spot
        wanted, label = self.any_of(readers), f"{tensor} to {target}"
        options: list[tuple[Literal, Route]] = []
        for source, from_there in self._sources(tensor):
            routes = self.problem.between(tensor, source, target)
            literals = [self.cp.new_bool_var(f"{label} from {source} {r.name}") for r in routes]
            if from_there is not None:
                for literal in literals:
                    self.cp.add_implication(literal, from_there)
            options += zip(literals, routes, strict=True)
        self.cp.add(sum(v for v, _ in options) == wanted)
        self.arrivals[spot] = [(r.name, v) for v, r in options]
        made = [self.spans[tensor].end] if tensor in self.spans else []
        self.arrived[spot] = self._chain(("to", *spot), options, made)

    def _sources(self, tensor: str) -> list[tuple[str, Literal | None]]:
        if tensor in self.problem.given:
            return [(self.problem.given[tensor], None)]
        op = next(o for o in self.problem.operations if o.name == tensor)
        by: dict[str, list[Literal]] = {}
        for candidate, literal in zip(op.candidates, self.chosen[tensor], strict=True):
            by.setdefault(candidate.gives, []).append(literal)
        return [(gives, self.any_of(literals)) for gives, literals in by.items()]

    # Memory ---------------------------------------------------------------------------------------------

    def _memory(self, readers: dict[Spot, list[Literal]]) -> None:
        """What is alive at a time fits; memories that everything together does not fill need no constraint."""
        for memory, capacity in self.problem.capacities.items():
            demands = [*self._inside(memory), *(self._tensors(readers) if memory == self.problem.memory else ())]
            if sum(most for *_, most in demands) > capacity:
                self.cp.add_cumulative([d[0] for d in demands], [d[1] for d in demands], capacity)

    def _inside(self, memory: str) -> list[tuple[cp_model.IntervalVar, Literal, int]]:
        out = []
        for op in self.problem.operations:
            sizes = [c.bytes.get(memory, 0) for c in op.candidates]
            if any(sizes):
                span = self.spans[op.name]
                literals = zip(self.chosen[op.name], sizes, strict=True)
                out.append(self._alive(f"{op.name} in {memory}", span.start, [span.end], literals, max(sizes)))
        return out

    def _alive(
        self,
        label: str,
        start: Literal,
        ends: Iterable[Literal],
        sizes: Iterable[tuple[Literal, int]],
        most: int,
    ) -> tuple[cp_model.IntervalVar, Literal, int]:
        end, length = (self.cp.new_int_var(0, self.horizon, f"{label} {what}") for what in ("end", "length"))
        for last in ends:
            self.cp.add(end >= last)
        demand = self.cp.new_int_var(0, most, f"{label} bytes")
        self.cp.add(demand == sum(size * literal for literal, size in sizes))
        return self.cp.new_interval_var(start, length, end, label), demand, most

    def _tensors(self, readers: dict[Spot, list[Literal]]) -> list[tuple[cp_model.IntervalVar, Literal, int]]:
        """Tensors that were brought to a place, until the last operation that reads them there has ended; results
        until they are no longer read where they were made.
        """
        out = []
        for spot in readers:
            size = self.problem.bytes.get(spot, 0)
            routes = [v for (_, v), works in zip(self.arrivals[spot], self._moved(spot), strict=True) if works]
            if size and routes:
                sizes = [(v, size) for v in routes]
                out.append(self._alive(f"{spot}", self.arrived[spot].start, self._ends(spot), sizes, size))
        for op in self.problem.operations:
            by = [self.problem.bytes.get((op.name, c.gives), 0) for c in op.candidates]
            if any(by):
                sizes = list(zip(self.chosen[op.name], by, strict=True))
                made = self.spans[op.name].end
                out.append(self._alive(f"{op.name} made", made, [made, *self._last_uses(op)], sizes, max(by)))
        return out

    def _moved(self, spot: Spot) -> list[bool]:
        routes = (self.problem.between(spot[0], s, spot[1]) for s, _ in self._sources(spot[0]))
        return [bool(r.works) for found in routes for r in found]

    def _ends(self, spot: Spot) -> list[Literal]:
        """The end of every operation that may read a spot, as late as needed only where it does."""
        out = []
        for op in self.problem.operations:
            reading = [v for v, c in zip(self.chosen[op.name], op.candidates, strict=True) if spot in c.reads]
            if reading:
                last = self.cp.new_int_var(0, self.horizon, f"{spot} read by {op.name}")
                self._when(reading, last, self.spans[op.name].end)
                out.append(last)
        return out

    def _last_uses(self, op: LayoutOperation) -> list[Literal]:
        out = []
        for spot, chain in self.arrived.items():
            if spot[0] == op.name:
                out.append(chain.end)
                here = [v for v, c in zip(self.chosen[op.name], op.candidates, strict=True) if c.gives == spot[1]]
                for end in self._ends(spot) if here else ():
                    last = self.cp.new_int_var(0, self.horizon, f"{spot} where it was made")
                    self._when(here, last, end)
                    out.append(last)
        return out

    # Answers --------------------------------------------------------------------------------------------

    def _forbid(self, choice: LayoutChoice) -> None:
        taken = [self.chosen[name][i] for name, i in choice.candidates.items()]
        for table, names in ((self.arrivals, choice.arrivals), (self.endings, choice.endings)):
            for key, name in names.items():
                taken.append(self.any_of([v for n, v in table[key] if n == name]))  # type: ignore[index]
        self.cp.add_bool_or([v.negated() for v in taken])

    def pinned(self, listed: Listed) -> cp_model.CpModel:
        """The model with candidates, routes and starts as a list schedule has them."""
        part = self.cp.clone()

        def fix(variable: Literal, value: int) -> None:
            part.add(part.get_int_var_from_proto_index(variable.index) == value)

        for name, i in listed.candidates.items():
            fix(self.chosen[name][i], 1)
        for key, route in listed.routes.items():
            # Of equal routes any will do, and only those from where the tensor lies can be true.
            same = [part.get_bool_var_from_proto_index(v.index) for v, r in self.ways[key] if r == route]
            part.add_bool_or(same)
            for variable, start in zip(self.starts[key], listed.starts[key], strict=False):
                fix(variable, start)
        return part

    def answer(self, values: Sequence[int]) -> LayoutChoice:
        """The choice of a solution, its values by variable."""
        return LayoutChoice(
            {name: next(i for i, v in enumerate(vs) if values[v.index]) for name, vs in self.chosen.items()},
            {spot: n for spot, vs in self.arrivals.items() for n, v in vs if values[v.index]},
            {name: n for name, vs in self.endings.items() for n, v in vs if values[v.index]},
        )


def _horizon(problem: LayoutProblem) -> int:
    """Everything one after the other by the longest routes."""
    total = sum(_longest(c) for c in problem.operations)
    arrivals: dict[Spot, int] = {}
    for (tensor, _, target), routes in problem.routes.items():
        spot = (tensor, target)
        arrivals[spot] = max([arrivals.get(spot, 0), *(r.cycles for r in routes)])
    return total + sum(arrivals.values())


def _longest(op: LayoutOperation) -> int:
    def of(candidate: Candidate) -> int:
        steps = sum(max(r.cycles for r in s.routes) for s in candidate.steps)
        return steps + max((r.cycles for r in candidate.endings), default=0)

    return max(of(c) for c in op.candidates)
