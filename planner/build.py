"""From a kernel to the scheduling problem: operations, edges and buffers, loops unrolled in program order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.linear import parse_linear

from models.faults import Fault, FaultError, Finding
from models.graph import Buffer, Edge, Mode, Operation, Problem
from models.hardware import Hardware
from models.kernel import DmaOp, Kernel, LoopOp, PassOp, Place, ReshapeOp, SourcePath, Tile
from models.layout import TensorLayout
from models.mapping import ONE, Mapping
from models.parse import Scope, parse
from models.plan import Stage
from planner import passes
from planner.buffers import Buffers
from planner.choices import Choices, in_place_edges
from planner.engines import dma, reshape
from planner.engines.base import Ground, Outcome
from planner.hazards import WHOLE, Access, Hazards, Span
from planner.readers.source import KernelSource

Iteration = tuple[tuple[str, int], ...]
MOST_FAULTS = 100
"""After so many a report stops: the rest most likely follows from the first ones."""


@dataclass(frozen=True, slots=True)
class Step:
    """One execution of one operation of the kernel."""

    op: DmaOp | PassOp | ReshapeOp
    path: SourcePath
    iteration: Iteration

    @property
    def name(self) -> str:
        """`scale[3]` inside a loop, `scale` outside."""
        return self.op.name + "".join(f"[{value}]" for _, value in self.iteration)


@dataclass(slots=True)
class Built:
    """The problem, and what was found on the way: warnings, and the kernel's paths of its operations."""

    problem: Problem
    warnings: list[Fault] = field(default_factory=list)
    paths: dict[str, SourcePath] = field(default_factory=dict)


def build(source: KernelSource, hardware: Hardware, choices: Choices) -> Built:
    """Checks every operation and builds the problem.

    Raises:
        FaultError: with every fault of every operation.

    """
    return _Builder(source, hardware, choices).run()


def unrolled(kernel: Kernel) -> Iterator[Step]:
    """Executions in program order."""

    def walk(ops: tuple, path: SourcePath, iteration: Iteration) -> Iterator[Step]:  # type: ignore[type-arg]
        for i, op in enumerate(ops):
            here = (*path, "ops", i)
            if isinstance(op, LoopOp):
                for n in range(op.count):
                    yield from walk(op.ops, here, (*iteration, (op.name, n)))
            else:
                yield Step(op, here, iteration)

    yield from walk(kernel.ops, (), ())


class _Builder:
    def __init__(self, source: KernelSource, hardware: Hardware, choices: Choices) -> None:
        self.source, self.hardware, self.choices = source, hardware, choices
        self.scope = Scope(axes=source.kernel.axes)
        self.ground = Ground(hardware, source.kernel.axes)
        self.tensors = {name: self._hbm(name) for name in source.kernel.tensors}
        self.buffers, self.hazards = Buffers(hardware), Hazards()
        self.operations: list[Operation] = []
        self.programs: dict[str, tuple[Stage, ...]] = {}
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = list(source.faults)
        self.paths: dict[str, SourcePath] = {}
        self._known: dict[SourcePath, tuple[dict[str, TensorLayout], object]] = {}

    def run(self) -> Built:
        for step in unrolled(self.source.kernel):
            self.paths[step.op.name] = step.path
            if isinstance(step.op, PassOp):
                self._pass(step, step.op)
            elif isinstance(step.op, DmaOp):
                self._dma(step, step.op)
            else:
                self._reshape(step, step.op)
            if len(self.faults) > MOST_FAULTS:
                break
        self.faults += self.choices.unknown(self.operations, self.buffers)
        if self.faults:
            raise FaultError(dict.fromkeys(self.faults))
        buffers = self.choices.regions(tuple(d.buffer() for d in self.buffers))
        edges = (*self.hazards.edges(), *in_place_edges(buffers, self.choices))
        return Built(self._problem(buffers, edges), list(dict.fromkeys(self.warnings)), self.paths)

    def _problem(self, buffers: tuple[Buffer, ...], edges: tuple[Edge, ...]) -> Problem:
        return Problem(tuple(self.operations), edges, buffers, self.hardware, self.programs)

    def _hbm(self, name: str) -> TensorLayout:
        tensor = self.source.kernel.tensors[name]
        chip, element = parse(tensor.chip, self.scope), parse(tensor.element, self.scope)
        return TensorLayout(name, "hbm", tensor.dtype, element, chip=chip, pad=tensor.pad)

    # Operations -------------------------------------------------------------------------------------------

    def _pass(self, step: Step, op: PassOp) -> None:
        result = self._once(step, lambda: passes.evaluate(op, self.tensors, self.ground, *self.choices.of(op.name)))
        assert isinstance(result, passes.PassResult)
        self.programs.update(result.programs)
        if not result.modes or result.writes is None:
            return
        self._operation(step, "pass", result.modes, result.illegal)
        for place in op.read if isinstance(op.read, tuple) else (op.read,):
            self._reads(step, place)
        for operand in passes.register_operands(op):
            self._reads(step, operand)
        target = passes.target(op)
        self._writes(step, target, result.writes, rows=result.trf_rows, regions=result.regions)

    def _dma(self, step: Step, op: DmaOp) -> None:
        read, write = _tensor(op.read), _tensor(op.write)
        created = None if op.element is None else self._created(op, write, self.tensors[read].dtype)
        destination = created or self.tensors[write]
        tiles = {"read_tile": _tile(op.read), "write_tile": _tile(op.write)}
        outcome = self._once(step, lambda: dma.law(self.ground, self.tensors[read], destination, **tiles))
        assert isinstance(outcome, Outcome)
        if not outcome.ok:
            return
        self.programs[op.name] = (dma.stage(self.tensors[read], destination, outcome),)
        mode = Mode("dma", {}, frozenset({"dma"}), outcome.steps, op.name)
        self._operation(step, "dma", (mode,), ())
        self._reads(step, op.read)
        self._writes(step, op.write, destination)

    def _reshape(self, step: Step, op: ReshapeOp) -> None:
        of = self.tensors[op.of]
        layout = replace(self._created(op, op.name, of.dtype, of), memory=of.memory)
        outcome = self._once(step, lambda: reshape.law(self.ground, of, layout))
        assert isinstance(outcome, Outcome)
        draft = self.buffers.current(op.of)
        if outcome.ok and draft is not None:
            new = self.buffers.create(layout, step.iteration, rows=draft.rows, regions=draft.regions, shares=draft.name)
            new.writers = draft.writers
            self.tensors[op.name] = layout

    def _created(self, op: DmaOp | ReshapeOp, name: str, dtype: str, base: TensorLayout | None = None) -> TensorLayout:
        def mapping(value: str | None, default: str) -> Mapping:
            return parse(value or default, self.scope)

        defaults = ("1", "1 # 2", "1 # 256") if base is None else (str(base.chip), str(base.cluster), str(base.slice))
        element = parse(op.element, self.scope) if op.element or base is None else base.element
        lane = mapping(op.lane, str(base.lane)) if isinstance(op, ReshapeOp) and base else ONE
        chip, cluster, slice_ = (mapping(v, d) for v, d in zip((op.chip, op.cluster, op.slice), defaults, strict=True))
        return TensorLayout(name, "dm", dtype, element, chip, cluster, slice_, lane)

    def _once(self, step: Step, evaluate):  # type: ignore[no-untyped-def]
        """A law's verdict, asked again only when a layout has changed since the last iteration."""
        known = self._known.get(step.path)
        if known is None or known[0] != self.tensors:
            result = evaluate()
            self._known[step.path] = (dict(self.tensors), result)
            self._report(step, result)
            return result
        return known[1]

    def _report(self, step: Step, result: object) -> None:
        findings: list[tuple[int | None, Finding]]
        if isinstance(result, passes.PassResult):
            findings = list(result.findings)
            warnings = list(result.warnings)
        else:
            assert isinstance(result, Outcome)
            findings = [(None, f) for f in result.findings]
            warnings = [(None, f) for f in result.warnings]
        self.faults += [self._fault(step, at, f, "error") for at, f in findings]
        self.warnings += [self._fault(step, at, f, "warning") for at, f in warnings]

    def _fault(self, step: Step, at: int | None, finding: Finding, severity: str) -> Fault:
        path = step.path if at is None else (*step.path, "steps", at)
        line, column = self.source.positions.position(path)
        name = step.op.steps[at].step if at is not None and isinstance(step.op, PassOp) else ""
        return Fault(
            rule=finding.rule,
            severity="warning" if severity == "warning" else "error",
            file=self.source.positions.file,
            line=line,
            column=column,
            op=step.op.name,
            step=name,
            found=finding.found,
            wanted=finding.wanted,
            nearest=finding.nearest,
            message=finding.message,
        )

    def _operation(self, step: Step, kind, modes, illegal) -> None:  # type: ignore[no-untyped-def]
        self.operations.append(Operation(step.name, step.op.name, kind, modes, step.iteration, illegal))

    # Memory -----------------------------------------------------------------------------------------------

    def _span(self, step: Step, place: Place) -> Span:
        if not isinstance(place, Tile):
            return WHOLE
        first = parse_linear(place.start).value(dict(step.iteration))
        return Span(place.tile, first, first + place.length)

    def _reads(self, step: Step, place: Place) -> None:
        tensor, span = _tensor(place), self._span(step, place)
        draft = self.buffers.current(tensor)
        if draft is None:
            fence = self.hardware.kernel.fence_cycles
            self.hazards.access(tensor, Access(step.name, False, span), fence_cycles=fence)
            return
        draft.readers.append(step.name)
        root = self.buffers.root(draft)
        self.hazards.access(root.name, Access(step.name, False, span), created=len(set(root.writers)) == 1)

    def _writes(self, step: Step, place: Place, layout: TensorLayout, **trf) -> None:  # type: ignore[no-untyped-def]
        tensor, span = _tensor(place), self._span(step, place)
        if layout.memory == "hbm":
            self.hazards.access(tensor, Access(step.name, True, span))
            return
        draft = self.buffers.current(tensor)
        if draft is None or not isinstance(place, Tile):
            draft = self.buffers.create(layout, () if isinstance(place, Tile) else step.iteration, **trf)
            self.tensors[tensor] = layout
        draft.writers.append(step.name)
        self.hazards.access(self.buffers.root(draft).name, Access(step.name, True, span))


def _tensor(place: Place) -> str:
    return place.tensor if isinstance(place, Tile) else place


def _tile(place: Place) -> Tile | None:
    return place if isinstance(place, Tile) else None
