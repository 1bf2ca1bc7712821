"""From a kernel to the scheduling problem: operations, edges and buffers, loops unrolled in program order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from models.faults import Fault, FaultError, Finding
from models.graph import DMA, Buffer, Edge, Mode, Operation, Problem
from models.hardware import Hardware
from models.kernel import (
    DEFAULT_CHIP,
    DEFAULT_CLUSTER,
    DEFAULT_SLICE,
    DmaOp,
    Kernel,
    LoopOp,
    Op,
    PassOp,
    Place,
    ReshapeOp,
    SourcePath,
    Tile,
)
from models.layout import TensorLayout
from models.linear import parse_linear
from models.mapping import Pad, axis_names, nodes, text
from models.parse import Scope, parse
from models.plan import Stage
from planner import casts, compositions, contention, passes, starvation
from planner.buffers import Buffers, Draft
from planner.choices import Choices, in_place_edges
from planner.engines import dma, reshape
from planner.engines.base import Ground, Outcome
from planner.engines.dma_explain import explain
from planner.hazards import WHOLE, Access, Hazards, Span, missing
from planner.readers.source import KernelSource

Iteration = tuple[tuple[str, int], ...]
Verdict = TypeVar("Verdict", Outcome, passes.PassResult)
Tensors = dict[str, TensorLayout]
"""Layouts by name."""
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


def layouts(source: KernelSource, hardware: Hardware) -> Tensors:
    """Where every tensor lies that a legal operation reads or writes; what comes after a fault may be missing."""
    builder = _Builder(source, hardware, Choices({}, ()))
    with suppress(FaultError):
        builder.run()
    return builder.tensors


def unrolled(kernel: Kernel) -> Iterator[Step]:
    """Executions in program order."""

    def walk(ops: tuple[Op, ...], path: SourcePath, iteration: Iteration) -> Iterator[Step]:
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
        self._transfers: dict[object, Outcome] = {}
        self._verdicts: dict[SourcePath, tuple[list[TensorLayout | None], Any]] = {}

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
        if not self.faults:
            self.faults += self.choices.unknown(self.operations, self.buffers)
        if self.faults:
            raise FaultError(dict.fromkeys(self.faults))
        buffers = self.choices.regions(tuple(d.buffer() for d in self.buffers))
        edges = (*self.hazards.edges(), *in_place_edges(buffers, self.choices))
        return Built(self._problem(buffers, edges), list(dict.fromkeys(self.warnings)), self.paths)

    def _problem(self, buffers: tuple[Buffer, ...], edges: tuple[Edge, ...]) -> Problem:
        ops = casts.settled(self.operations)
        return contention.reserved(starvation.settled(Problem(ops, edges, buffers, self.hardware, self.programs)))

    def _hbm(self, name: str) -> TensorLayout:
        tensor = self.source.kernel.tensors[name]
        chip, element = parse(tensor.chip, self.scope), parse(tensor.element, self.scope)
        return TensorLayout(name, "hbm", tensor.dtype, element, chip=chip, pad=tensor.pad)

    # Operations -------------------------------------------------------------------------------------------

    def _pass(self, step: Step, op: PassOp) -> None:
        reads = [*(op.read if isinstance(op.read, tuple) else (op.read,)), *passes.register_operands(op)]
        if not self._known(reads):
            return
        result = self._once(
            step, reads, lambda: compositions.evaluate(op, self.tensors, self.ground, *self.choices.of(op.name))
        )
        self.programs.update(result.programs or {})
        if not result.modes or result.writes is None:
            return
        if result.first is not None:
            reads += self._first(step, op, result.first)
        self.operations.append(_operation(step, result))
        for place in reads:
            self._reads(step, place)
        self._writes(step, passes.target(op), result.writes, rows=result.trf_rows, regions=result.regions)

    def _first(self, step: Step, op: PassOp, first: passes.First) -> list[Place]:
        """The pass that some modes of a pass need before it; gives what it leaves for the pass."""
        assert first.result.writes is not None
        self.programs.update(first.result.programs)
        before = Step(first.op, step.path, step.iteration)
        operation = replace(_operation(before, first.result), requires=(step.name, first.needed_by))
        self.operations.append(operation)
        for place in op.read if isinstance(op.read, tuple) else (op.read,):
            self._reads(before, place)
        self._writes(before, first.between, first.result.writes)
        return [first.between]

    def _dma(self, step: Step, op: DmaOp) -> None:
        if not self._known([op.read, *([] if op.element else [op.write])]):
            return
        source = self.tensors[_tensor(op.read)]
        target = self._created(op, source) if op.element else self.tensors[_tensor(op.write)]
        outcome = self._once(
            step,
            [op.read, op.write],
            lambda: self._transfer_law(op, source, target),
        )
        if not outcome.ok:
            return
        self.programs[op.name] = (_transfer(self.ground, outcome, target),)
        mode = Mode("dma", {}, frozenset({DMA}), outcome.steps, op.name)
        self.operations.append(Operation(step.name, op.name, "dma", (mode,), step.iteration))
        self._reads(step, op.read)
        self._writes(step, op.write, target)

    def _transfer_law(self, op: DmaOp, source: TensorLayout, target: TensorLayout) -> Outcome:
        """The verdict on a transfer, of those that differ in the names of their tensors alone once for all."""
        read, write = _tile(op.read), _tile(op.write)
        cuts = tuple(None if t is None else (t.tile, t.length, t.start) for t in (read, write))
        key = (replace(source, name=""), replace(target, name=""), cuts)
        known = self._transfers.get(key)
        if known is None or not known.ok:
            known = dma.law(self.ground, source, target, read_tile=read, write_tile=write)
            self._transfers[key] = known
        return replace(known, settings=known.settings | {"read": source.name, "write": target.name})

    def _reshape(self, step: Step, op: ReshapeOp) -> None:
        if not self._known([op.of]):
            return
        old = self.tensors[op.of]
        new = self._relabelled(op, old)
        outcome = self._once(step, [op.of], lambda: reshape.law(self.ground, old, new))
        draft = self.buffers.current(op.of)
        if outcome.ok and draft is not None:
            fresh = self.buffers.create(new, step.iteration, rows=draft.rows, regions=draft.regions, shares=draft.name)
            fresh.writers = draft.writers
            self.tensors[op.name] = new

    def _known(self, places: list[Place]) -> bool:
        """Whether all tensors exist; if one does not, the operation that makes it has a fault of its own."""
        return all(_tensor(p) in self.tensors for p in places)

    def _created(self, op: DmaOp, source: TensorLayout) -> TensorLayout:
        values = (op.chip or DEFAULT_CHIP, op.cluster or DEFAULT_CLUSTER, op.slice or DEFAULT_SLICE)
        chip, cluster, slice_ = (parse(v, self.scope) for v in values)
        element = parse(op.element or "1", self.scope)
        # what the host wrote into padding travels where the destination pads the same expressions
        padded = {n for e in (slice_, element) for n in nodes(e) if isinstance(n, Pad) and axis_names(n)}
        pad = source.pad if padded <= set(nodes(source.element)) else "poison"
        return TensorLayout(_tensor(op.write), "dm", source.dtype, element, chip, cluster, slice_, pad=pad)

    def _relabelled(self, op: ReshapeOp, old: TensorLayout) -> TensorLayout:
        levels = {level: getattr(op, level) for level in reshape.LEVELS}
        new = {level: getattr(old, level) if v is None else parse(v, self.scope) for level, v in levels.items()}
        chip, cluster, slice_, lane, element = (new[level] for level in reshape.LEVELS)
        return TensorLayout(op.name, old.memory, old.dtype, element, chip, cluster, slice_, lane, old.pad)

    # Faults -----------------------------------------------------------------------------------------------

    def _once(self, step: Step, touched: list[Place], evaluate: Callable[[], Verdict]) -> Verdict:
        """A law's verdict, asked again only when a layout it looks at has changed since the last iteration."""
        layouts = [self.tensors.get(_tensor(p)) for p in touched]
        known = self._verdicts.get(step.path)
        if known is not None and known[0] == layouts:
            return known[1]  # type: ignore[no-any-return]
        result = evaluate()
        self._verdicts[step.path] = (layouts, result)
        self.faults += [_fault(self.source, step, at, f) for at, f in _placed(result.findings)]
        warnings = [_fault(self.source, step, at, f) for at, f in _placed(result.warnings)]
        self.warnings += [w.model_copy(update={"severity": "warning"}) for w in warnings]
        return result

    # Memory -----------------------------------------------------------------------------------------------

    def _reads(self, step: Step, place: Place) -> None:
        tensor, span = _tensor(place), _span(step, place)
        draft = self.buffers.current(tensor)
        access = Access(step.name, write=False, span=span)
        if draft is None:
            self.hazards.access(tensor, access, fence_cycles=self.hardware.kernel.fence_cycles)
            return
        draft.readers.append(step.name)
        root = self.buffers.root(draft)
        self._covered(step, root, span)
        self.hazards.access(root.name, access, created=len(set(root.writers)) == 1)

    def _covered(self, step: Step, root: Draft, span: Span) -> None:
        """A tensor that tiles fill is complete before it is read; of a tile, the part that is read."""
        if not root.written or any(not w.tile for w in root.written):
            return
        tile = root.written[0].tile
        size = parse(tile, self.scope).size
        gap = missing(root.written, span if span.tile == tile else Span(tile, 0, size))
        if gap is not None:
            finding = Finding(
                "tile_not_covered",
                f"{root.layout.name} is read before its tiles along `{tile}` cover it",
                found=f"positions {gap.first} to {gap.last - 1} of {size} are unwritten",
                wanted="tiles that cover the tensor, in program order, before it is read",
            )
            self.faults.append(_fault(self.source, step, None, finding))

    def _writes(
        self, step: Step, place: Place, layout: TensorLayout, *, rows: int = 0, regions: tuple[str, ...] = ()
    ) -> None:
        tensor, access = _tensor(place), Access(step.name, write=True, span=_span(step, place))
        if layout.memory == "hbm":
            self.hazards.access(tensor, access)
            return
        draft = self.buffers.current(tensor)
        if draft is None or not isinstance(place, Tile):
            iteration = () if isinstance(place, Tile) else step.iteration
            draft = self.buffers.create(layout, iteration, rows=rows, regions=regions)
            self.tensors[tensor] = layout
        draft.writers.append(step.name)
        draft.written.append(access.span)
        self.hazards.access(self.buffers.root(draft).name, access)


def _operation(step: Step, result: passes.PassResult) -> Operation:
    return Operation(
        step.name, step.op.name, "pass", result.modes, step.iteration, result.illegal, dominated=result.dominated
    )


def _transfer(ground: Ground, outcome: Outcome, target: TensorLayout) -> Stage:
    """The single stage of a transfer: what the DMA engine is set to, and why it takes what it takes."""
    stream = outcome.stream
    assert stream is not None
    return Stage(
        step="dma",
        dtype=stream.dtype,
        chip=text(stream.chip),
        cluster=text(stream.cluster),
        slice=text(stream.slice),
        time=text(stream.time),
        packet=text(stream.packet),
        steps_cycles=outcome.steps,
        settings=outcome.settings | {"explanation": list(explain(ground, outcome, target))},
    )


def _placed(found: Iterable[Finding | tuple[int, Finding]]) -> Iterator[tuple[int | None, Finding]]:
    for entry in found:
        yield entry if isinstance(entry, tuple) else (None, entry)


def _fault(source: KernelSource, step: Step, at: int | None, finding: Finding) -> Fault:
    path = step.path if at is None else (*step.path, "steps", at)
    line, column = source.positions.position(path)
    return Fault(
        rule=finding.rule,
        file=source.positions.file,
        line=line,
        column=column,
        op=step.op.name,
        step=step.op.steps[at].step if at is not None and isinstance(step.op, PassOp) else "",
        found=finding.found,
        wanted=finding.wanted,
        nearest=finding.nearest,
        message=finding.message,
    )


def _span(step: Step, place: Place) -> Span:
    if not isinstance(place, Tile):
        return WHOLE
    first = parse_linear(place.start).value(dict(step.iteration))
    return Span(place.tile, first, first + place.length)


def _tensor(place: Place) -> str:
    return place.tensor if isinstance(place, Tile) else place


def _tile(place: Place) -> Tile | None:
    return place if isinstance(place, Tile) else None
