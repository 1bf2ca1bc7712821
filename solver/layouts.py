"""Which layout each operation of a program takes: the problem and its answer; layouts_search.py solves it.

Every operation makes one tensor and has candidates. A candidate reads tensors at places and leaves its own at one. A
tensor comes from where it lies to where it is read by one of several routes, once for all that read it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.plan import Status, StoppedBy

Spot = tuple[str, str]
"""A tensor and the name of a place."""


@dataclass(frozen=True, slots=True)
class Work:
    """Cycles for which some of the resources are held."""

    cycles: int
    holds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Route:
    """A way to do something: works one after the other, none where nothing has to be done.

    Routes of one name are the same to whoever reads the answer; they differ in the resources that they hold.
    """

    name: str
    works: tuple[Work, ...] = ()

    @property
    def cycles(self) -> int:
        """All works together."""
        return sum(w.cycles for w in self.works)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a candidate: what it reads, and the steps (by index, earlier ones) that have to end before it."""

    routes: tuple[Route, ...]
    reads: tuple[Spot, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to do an operation; its result is there when all steps have ended, at the place `gives`.

    `endings`: the ways to bring the result away, one of which is taken; none where it stays. `bytes`: what it holds of
    each memory, beside the tensors that it reads and its result, from its first step to its last.
    """

    steps: tuple[Step, ...]
    gives: str
    endings: tuple[Route, ...] = ()
    bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[Spot, ...]:
        """Everything that it reads, each once."""
        return tuple(dict.fromkeys(spot for step in self.steps for spot in step.reads))


@dataclass(frozen=True, slots=True)
class LayoutOperation:
    """An operation that makes the tensor `name`."""

    name: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class LayoutProblem:
    """Operations in an order in which each reads only tensors that are given or made before it.

    `given`: the place of every tensor that is there at the start. `routes`: by tensor, the place where it lies and the
    place where it is read; a pair that is missing is impossible, an equal pair is free. `frame_cycles` come on top of
    every schedule. `bytes`: what a tensor takes of `memory` at a place, of which there are `capacity_bytes`;
    `capacities` are those of what candidates hold.
    """

    operations: tuple[LayoutOperation, ...]
    given: Mapping[str, str]
    routes: Mapping[tuple[str, str, str], tuple[Route, ...]]
    frame_cycles: int = 0
    memory: str = "dm"
    bytes: Mapping[Spot, int] = field(default_factory=dict)
    capacities: Mapping[str, int] = field(default_factory=dict)

    def between(self, tensor: str, source: str, target: str) -> tuple[Route, ...]:
        """The routes of a tensor from a place to another one."""
        return (Route(""),) if source == target else self.routes.get((tensor, source, target), ())


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """One way to do the whole program: a candidate for each operation, and names of routes and endings."""

    candidates: Mapping[str, int]
    arrivals: Mapping[Spot, str] = field(default_factory=dict)
    endings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LayoutSolution:
    """The best choice that was found, its cycles, and a bound that no allowed choice is below.

    Without a choice `status` is `infeasible` where there is none, `unknown` where none was found.
    """

    status: Status
    stopped_by: StoppedBy
    choice: LayoutChoice | None
    makespan: int | None
    lower_bound: int
