"""What every engine may touch while an operation runs: the machine's memories, the plan's layouts, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from models.kernel import DmaOp, LoopOp, Op, PassOp, Place, Tile
from models.plan import MemoryEntry, Plan, PlannedOp, Stage, Violation
from simulator.carried import carried_axes
from simulator.layouts import Identity, Layouts
from simulator.linear import evaluate
from simulator.memories import Memories

if TYPE_CHECKING:
    from simulator.sampling import Sample

Effect = Callable[[], None]
"""What becomes visible when an operation ends."""

UNFIT = (ValueError, ArithmeticError, TypeError, AttributeError)
"""What numbers of a plan that do not fit together raise when they are used."""

_MOST_PER_RULE = 8


@dataclass(slots=True)
class Report:
    """Collects violations; the same rule at the same operation is named once, and a rule only a few times."""

    violations: list[Violation] = field(default_factory=list)

    def add(self, rule: str, message: str, op: str = "", found: object = "", wanted: object = "") -> None:
        """Names a broken rule."""
        same = [v for v in self.violations if v.rule == rule]
        if len(same) >= _MOST_PER_RULE or any(v.op == op and v.message == message for v in same):
            return
        self.violations.append(Violation(rule=rule, op=op, found=str(found), wanted=str(wanted), message=message))


@dataclass
class Bench:
    """The machine on which one plan runs."""

    plan: Plan
    layouts: Layouts
    memories: Memories
    report: Report
    dead_routers: frozenset[int] = frozenset()
    """Routers of the switch that neither send nor copy, to see what becomes of a plan."""
    sample: Sample | None = None
    """What of the outputs is computed and compared; None: all."""

    @cached_property
    def entries(self) -> dict[str, MemoryEntry]:
        """Memory entries by instance name."""
        return {e.tensor: e for e in self.plan.memory}

    @cached_property
    def carried(self) -> dict[str, frozenset[str]]:
        """Which axes the data of every instance has; along the others its layout holds copies."""
        return carried_axes(self)

    @cached_property
    def kernel_ops(self) -> dict[str, DmaOp | PassOp]:
        """Operations of the kernel by name, those in loops too."""
        return {op.name: op for op in flat(self.plan.kernel.ops) if isinstance(op, DmaOp | PassOp)}


@dataclass
class Run:
    """One operation on the bench."""

    bench: Bench
    op: PlannedOp
    effects: list[Effect] = field(default_factory=list)

    @property
    def layouts(self) -> Layouts:
        """The plan's layouts."""
        return self.bench.layouts

    @property
    def main(self) -> bool:
        """Whether the operation runs in the Main context."""
        return "main" in self.op.contexts

    def fail(self, rule: str, message: str, found: object = "", wanted: object = "") -> None:
        """Names a broken rule at this operation."""
        self.bench.report.add(rule, message, self.op.name, found, wanted)

    def entry(self, tensor: str) -> MemoryEntry | None:
        """Where the instance of an on-chip tensor lies that this operation uses; None for HBM tensors."""
        return self.bench.entries.get(self.op.uses.get(tensor, tensor))

    def cells_of(self, entry: MemoryEntry, inner: tuple[str, ...]) -> Identity:
        """Which cell stands where in a buffer: dimensions [units, one per inner level]."""
        whole = self.layouts.identity(spatial(entry), inner)
        return whole.only(self.carried(entry.tensor))

    def carried(self, instance: str) -> frozenset[str]:
        """The axes that an instance's data has; none when nobody writes it, since its cells hold nothing then."""
        return self.bench.carried.get(instance, frozenset())

    def tile_place(self, tensor: str) -> Tile | None:
        """The tile of a tensor that this operation takes, as the kernel states it."""
        op = self.bench.kernel_ops.get(kernel_name(self.op.base))
        places = () if op is None else _places(op)
        return next((p for p in places if isinstance(p, Tile) and p.tensor == tensor), None)

    def tile(self, tensor: str) -> tuple[str, int] | None:
        """The digit of a tile and the position where it starts."""
        place = self.tile_place(tensor)
        return None if place is None else (place.tile, evaluate(place.start, self.op.iteration))

    def base_elements(self, base: dict[str, Any] | None) -> int:
        """The offset of a tile in a slice's buffer, as the settings give it."""
        if not base:
            return 0
        return evaluate(str(base["start"]), self.op.iteration) * int(base["stride"])


def kernel_name(base: str) -> str:
    """The operation of the kernel that a planned one belongs to: `move.first` and `move.bitmap` come before `move`."""
    return base.partition(".")[0]


def flat(ops: tuple[Op, ...]) -> Iterator[Op]:
    """Operations in program order, loops opened but not repeated."""
    for op in ops:
        if isinstance(op, LoopOp):
            yield from flat(op.ops)
        else:
            yield op


def _places(op: DmaOp | PassOp) -> Iterator[Place]:
    if isinstance(op, DmaOp):
        yield from (op.read, op.write)
        return
    yield from (op.read,) if isinstance(op.read, str | Tile) else op.read
    yield from (step.write for step in op.steps if step.step == "commit")


def spatial(level: Stage | MemoryEntry) -> tuple[str, str, str]:
    """Chip, Cluster and Slice of a stage or a memory entry."""
    return level.chip, level.cluster, level.slice
