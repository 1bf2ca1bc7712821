"""The choice over a program as data for the solver: what each option takes, and how tensors get from place to place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from models.graph import DMA
from models.kernel import PassOp
from models.layout import TensorLayout
from planner.engines.shapes import size_bytes
from planner.passes import PassResult
from planner.program.operations import Node, Value
from planner.search import bounds
from planner.search.fragment import Need, touched
from planner.search.laws import Laws, Place
from planner.search.options import Ending, Option
from planner.search.redistribute import Redistributions, Way, anonymous, routes_of
from solver.layouts import Candidate, LayoutChoice, LayoutOperation, LayoutProblem, Route, Spot, Step, Work

HBM = "hbm"
Routes = dict[tuple[str, str, str], tuple[Route, ...]]


def named(place: Place) -> str:
    """A place as the solver knows it."""
    return f"{place.cluster} | {place.slice} | {place.element}"


@dataclass(slots=True)
class Selection:
    """The problem of some operations: `options` by result, `values` all tensors, `given` what lies in DM already."""

    laws: Laws
    hbm: Mapping[str, Place]
    values: Mapping[str, Value]
    options: Mapping[str, list[Option]]
    redistributions: Redistributions
    given: Mapping[str, Place] = field(default_factory=dict)
    places: dict[Spot, Place] = field(default_factory=dict)
    operations: tuple[LayoutOperation, ...] = ()
    _common: dict[tuple[str, Place], Place] = field(init=False)

    def __post_init__(self) -> None:
        """Finds which places differ in the names of broadcast axes alone."""
        needs = {(n.tensor, n.place) for _, o in self._all() for n in o.fragment.needs}
        bare = {key: anonymous(self.laws, key[1], self.values[key[0]].axes) for key in needs}
        alike: dict[tuple[str, Place], set[Place]] = {}
        for (tensor, place), common in bare.items():
            alike.setdefault((tensor, common), set()).add(place)
        self._common = {k: place if len(alike[k[0], place]) > 1 else k[1] for k, place in bare.items()}
        self.places |= {(tensor, named(place)): place for (tensor, _), place in self._common.items()}

    def problem(self) -> LayoutProblem:
        """Operations, routes as far as they are known, and memory."""
        if not self.operations:
            every = ((n, tuple(map(self._candidate, o))) for n, o in self.options.items())
            self.operations = tuple(LayoutOperation(*one) for one in every)
        spots = {s for op in self.operations for c in op.candidates for s in c.reads}
        used = {s[0] for s in spots}
        given = {t: named(p) for t, p in self.given.items() if t in used}
        given |= {t: HBM for t in self.hbm if t in used and t not in given and t not in self.options}
        hardware = self.laws.hardware
        return LayoutProblem(
            self.operations,
            given,
            self._routes(spots),
            bounds.frame_cycles(hardware),
            bytes={s: self._bytes(*s) for s in (*spots, *((n, named(o.fragment.gives)) for n, o in self._all()))},
            # Register files hold one operation's values at a time and are left to the planner's rules.
            capacities={"dm": hardware.dm.bytes_per_slice},
        )

    def settle(self, choice: LayoutChoice) -> bool:
        """Judges the passes between operations that a choice takes; whether any was not judged before."""
        gives = {n: self.options[n][i].fragment.gives for n, i in choice.candidates.items()} | dict(self.given)
        taken = [(s, how) for s, how in choice.arrivals.items() if s[0] in gives]
        judge = self.redistributions.judge
        # All of them, not up to the first.
        return sum(judge(self.values[s[0]], gives[s[0]], self.places[s], how) for s, how in taken) > 0

    def _all(self) -> Iterator[tuple[str, Option]]:
        return ((n, o) for n, found in self.options.items() for o in found)

    # Candidates -----------------------------------------------------------------------------------------

    def spot(self, need: Need) -> Spot:
        """Where a buffer is read; places that a relabelling turns into each other are one."""
        return need.tensor, named(self._common[need.tensor, need.place])

    def _candidate(self, option: Option) -> Candidate:
        made = option.fragment
        self.places[made.out, named(made.gives)] = made.gives
        reads = {n.buffer: self.spot(n) for n in made.needs}
        known, steps, held = made.layouts(self.laws), [], {"dm": 0}
        makers: dict[str, int] = {}
        for i, op in enumerate(made.passes):
            found = self.judged(op, known)
            names = touched(op)
            after = tuple(makers[n] for n in sorted(names & makers.keys()))
            spots = tuple(reads[n] for n in sorted(names & reads.keys()))
            steps.append(Step(routes_of(self.laws, op.name, found), spots, after))
            if found.writes is not None:
                fresh = made.written(self.laws, found.writes)
                known, makers = known | fresh, makers | dict.fromkeys(fresh, i)
                if found.writes.memory == "dm" and found.writes.name != made.buffer:
                    held["dm"] += found.bytes
        endings = tuple(r for i, e in enumerate(option.endings) for r in self._ending(str(i), option, e))
        return Candidate(tuple(steps), named(made.gives), endings, held)

    def judged(self, op: PassOp, known: Mapping[str, TensorLayout]) -> PassResult:
        """All ways of a pass, given the layouts of everything before it."""
        return self.laws.of_pass_or_pair(op, {n: t for n, t in known.items() if n in touched(op)})

    def _ending(self, name: str, option: Option, ending: Ending) -> tuple[Route, ...]:
        store = Work(ending.store_cycles, frozenset({DMA}))
        if ending.move is None:
            return (Route(name, (store,)),)
        made = option.fragment
        found = self.judged(ending.move, {made.buffer: self.laws.layout(made.buffer, "dm", made.dtype, made.gives)})
        return tuple(Route(name, (*r.works, store)) for r in routes_of(self.laws, name, found))

    # Routes ---------------------------------------------------------------------------------------------

    def _bytes(self, tensor: str, place: str) -> int:
        value = self.values[tensor]
        layout = self.laws.layout(tensor, "dm", value.dtype, self.places[tensor, place])
        return size_bytes(value.dtype, layout.element.size)

    def _routes(self, spots: set[Spot]) -> Routes:
        out: Routes = {}
        for tensor, target in sorted(spots):
            for source in self._sources(tensor):
                routes = self.ways(tensor, source, self.places[tensor, target])
                name = HBM if source is None else named(source)
                out[tensor, name, target] = tuple(r for way in routes for r in way.routes)
        return out

    def _sources(self, tensor: str) -> list[Place | None]:
        if tensor in self.given:
            return [self.given[tensor]]
        if tensor in self.options:
            return list(dict.fromkeys(o.fragment.gives for o in self.options[tensor]))
        return [None]

    def ways(self, tensor: str, source: Place | None, target: Place) -> tuple[Way, ...]:
        """How a tensor gets from a place, None for HBM, to where it is read."""
        value = self.values[tensor]
        if source is not None:
            return self.redistributions.ways(value, source, target)
        loaded = self.laws.load(value.dtype, self.hbm[tensor], target)
        return (Way("load", (Route("load", (Work(loaded.steps, frozenset({DMA})),)),)),) if loaded.ok else ()


def values_of(nodes: list[Node]) -> dict[str, Value]:
    """Every tensor that operations read or leave."""
    return {v.name: v for node in nodes for v in (*node.reads, node.out)}
