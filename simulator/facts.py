"""What every check looks at: a plan's operations with their traffic and program order, nothing taken on trust."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from models.hardware import Hardware
from models.kernel import DmaOp, PassOp, Tile
from models.plan import MemoryEntry, Plan, PlannedOp, Stage
from simulator.bench import Bench, Run, kernel_name
from simulator.layouts import Layouts
from simulator.linear import evaluate
from simulator.reference import unrolled
from simulator.traffic import Traffic, traffic_of

Span = tuple[str, int, int] | None
"""A tile's digit, its first position and the one after its last; None is the whole tensor."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A finding of a check; `rule` is empty where it is the check's own."""

    message: str
    op: str = ""
    found: object = ""
    wanted: object = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """An operation that reads or writes an instance, or a tile of it."""

    op: PlannedOp
    span: Span

    def meets(self, other: Access) -> bool:
        """Whether both may touch one cell."""
        if self.span is None or other.span is None or self.span[0] != other.span[0]:
            return True
        return self.span[1] < other.span[2] and other.span[1] < self.span[2]


@dataclass
class Facts:
    """A plan, and what its execution gave."""

    bench: Bench
    cycles: dict[str, int]
    stages: dict[str, tuple[int, ...]]
    transfers: dict[str, dict[str, float]]

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every stage of every program in use, once."""
        seen: dict[str, PlannedOp] = {}
        for op in self.plan.ops:
            if op.kind != "bitmap_load" and op.program in self.plan.programs:
                seen.setdefault(op.program, op)
        return tuple(
            Place(self, stage, stages[i - 1] if i else None, op, stages, i)
            for name, op in seen.items()
            for stages in (self.plan.programs[name],)
            for i, stage in enumerate(stages)
        )

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.bench.plan

    @cached_property
    def ops(self) -> dict[str, PlannedOp]:
        """Operations by name."""
        return {op.name: op for op in self.plan.ops}

    @cached_property
    def traffic(self) -> dict[str, Traffic]:
        """Traffic by operation."""
        return {op.name: traffic_of(self.plan, op) for op in self.plan.ops}

    @cached_property
    def order(self) -> dict[tuple[str, tuple[tuple[str, int], ...]], int]:
        """Place in program order of every (operation of the kernel, iteration)."""
        walked = unrolled(self.plan.kernel.ops)
        named = ((op, known) for op, known in walked if isinstance(op, DmaOp | PassOp))
        return {(op.name, tuple(sorted(known.items()))): i for i, (op, known) in enumerate(named)}

    def place(self, op: PlannedOp) -> int | None:
        """An operation's place in program order; None for one that the kernel does not state.

        What the planner puts before an operation of the kernel (`move.first`) comes just before it.
        """
        name = kernel_name(op.base)
        at = self.order.get((name, tuple(sorted(op.iteration.items()))))
        return None if at is None else 2 * at + (name == op.base)

    def root(self, instance: str) -> str:
        """The instance that owns the place: a relabelled tensor lies where its origin lies."""
        seen = {instance}
        while (entry := self.bench.entries.get(instance)) and entry.shares and entry.shares not in seen:
            instance = entry.shares
            seen.add(instance)
        return instance

    @cached_property
    def readers(self) -> dict[str, list[Access]]:
        """Who reads an instance, operands too."""
        return self._accesses(lambda traffic: (*traffic.reads, *traffic.operands))

    @cached_property
    def writers(self) -> dict[str, list[Access]]:
        """Who writes an instance."""
        return self._accesses(lambda traffic: traffic.writes)

    def _accesses(self, names: Callable[[Traffic], tuple[str, ...]]) -> dict[str, list[Access]]:
        out: dict[str, list[Access]] = defaultdict(list)
        for op in self.plan.ops:
            for name in names(self.traffic[op.name]):
                out[self.root(op.uses.get(name, name))].append(Access(op, self._span(op, name)))
        return out

    def _span(self, op: PlannedOp, tensor: str) -> Span:
        place: Tile | None = Run(self.bench, op).tile_place(tensor)
        if place is None:
            return None
        start = evaluate(place.start, op.iteration)
        return place.tile, start, start + place.length

    def before(self, first: Access, second: Access) -> bool:
        """Whether program order puts one access before the other; unknown order counts as given by the times."""
        places = self.place(first.op), self.place(second.op)
        if places[0] is None or places[1] is None:
            return first.op.start <= second.op.start
        return places[0] < places[1]

    @cached_property
    def earliest(self) -> dict[str, int]:
        """How early every operation could start with all others in the same order: the schedule pushed left."""
        begins: dict[str, int] = {}
        ends: dict[str, int] = {}
        waits = self._waits()
        for op in sorted(self.plan.ops, key=lambda o: (o.start, o.end)):
            ready = [ends[name] + lag for name, lag in waits[op.name] if name in ends]
            begins[op.name] = max([self.plan.hardware.kernel.first_start_cycles, *ready])
            ends[op.name] = begins[op.name] + op.cycles
        return begins

    def slack(self, op: PlannedOp) -> int:
        """By how much an operation starts later than it must."""
        return op.start - self.earliest[op.name]

    def _waits(self) -> dict[str, list[tuple[str, int]]]:
        """What each operation waits for: (operation, lag)."""
        out: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for first, second in self._one_at_a_time():
            out[second].append((first, 0))
        fence = self.plan.hardware.kernel.fence_cycles
        for instance, writes in self.writers.items():
            lag = 0 if instance in self.bench.entries else fence
            for access in (*writes, *self.readers.get(instance, ())):
                for earlier in writes:
                    if earlier.op.end <= access.op.start:
                        out[access.op.name].append((earlier.op.name, lag if access not in writes else 0))
                for earlier in self.readers.get(instance, ()) if access in writes else ():
                    if earlier.op.end <= access.op.start:
                        out[access.op.name].append((earlier.op.name, 0))
        for user, owner in self._handed_over():
            out[owner].append((user, 0))
        return out

    def _one_at_a_time(self) -> Iterator[tuple[str, str]]:
        """Neighbours in one context, and a bitmap load with the pass it is for."""
        for resource in ("main", "sub", "dma", "vector"):
            users = sorted((o for o in self.plan.ops if resource in o.contexts), key=lambda o: (o.start, o.end))
            yield from ((a.name, b.name) for a, b in pairwise(users))
        for load in (o for o in self.plan.ops if o.kind == "bitmap_load"):
            yield from ((load.name, o.name) for o in self.plan.ops if o.bitmap == load.bitmap and o is not load)

    def _handed_over(self) -> Iterator[tuple[str, str]]:
        """(user of the old, writer of the new) where one place is used by one instance after another."""
        owners = [e for e in self.plan.memory if not e.shares]
        for old in owners:
            for new in owners:
                if old is new or old.file != new.file or not places_meet(old, new) or old.end > new.start:
                    continue
                users = (*self.readers.get(old.tensor, ()), *self.writers.get(old.tensor, ()))
                for writer in self.writers.get(new.tensor, ()):
                    yield from ((user.op.name, writer.op.name) for user in users)


@dataclass(frozen=True, slots=True)
class Place:
    """A stage in its program, with the stage before it and an operation that runs the program."""

    facts: Facts
    stage: Stage
    before: Stage | None
    op: PlannedOp
    stages: tuple[Stage, ...]
    at: int

    @property
    def run(self) -> Run:
        """The operation on the bench."""
        return Run(self.facts.bench, self.op)

    @property
    def layouts(self) -> Layouts:
        """The plan's layouts."""
        return self.facts.bench.layouts

    @property
    def hardware(self) -> Hardware:
        """The plan's chip."""
        return self.facts.plan.hardware

    def entry(self, setting: str) -> MemoryEntry | None:
        """Where the tensor that a setting names lies; None for one in HBM, or none at all."""
        return self.run.entry(str(self.stage.settings[setting])) if setting in self.stage.settings else None

    def broken(self, message: str, found: object = "", wanted: object = "", rule: str = "") -> Broken:
        """A finding at this operation."""
        return Broken(message, self.op.name, found, wanted, rule)

    @property
    def main(self) -> bool:
        """Whether the operation runs in the Main context."""
        return "main" in self.op.contexts

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.facts.plan.hardware.geometry.flit_bytes

    def size(self, text: str) -> int:
        """Positions of a mapping."""
        return self.facts.bench.layouts.size(text)


def places_meet(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether two instances of one memory share a byte, or a row of the TRF, which mode full takes whole."""
    if one.file == "trf":
        if "full" in (one.region, other.region):
            return True
        first, second = (e.row or 0 for e in (one, other))
        return first < second + (other.rows or 0) and second < first + (one.rows or 0)
    first, second = (e.address or 0 for e in (one, other))
    return first < second + other.bytes and second < first + one.bytes


def makespan_of(plan: Plan) -> int:
    """From 0 to the end of the final sync."""
    return max((op.end for op in plan.ops), default=0) + plan.hardware.kernel.final_sync_cycles


def stretched(facts: Facts) -> bool:
    """Whether operations merely start later than they must, so that the stated makespan would still be reached.

    This tells an edited schedule that is still legal, only longer, from an edited makespan.
    """
    ends = [facts.earliest[op.name] + op.cycles for op in facts.plan.ops]
    reachable = max(ends, default=0) + facts.plan.hardware.kernel.final_sync_cycles
    return makespan_of(facts.plan) > (facts.plan.makespan_cycles or 0) >= reachable
