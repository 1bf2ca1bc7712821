"""Checks of a whole kernel: names in program order, memories, tiles and loops (kernel-file page, operations)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import networkx as nx

from models.kernel import (
    AUTO,
    Commit,
    ContractOuter,
    DmaOp,
    PassOp,
    Place,
    ReshapeOp,
    SourcePath,
    Tensor,
    Tile,
    ToTrf,
    ToVrf,
    Vector,
)
from models.linear import parse_linear
from models.vector_ops import VectorOp
from planner.readers.context import Context
from planner.readers.nodes import walk
from planner.readers.operations import Operations, Placed

MAX_UNROLLED = 100_000
_DMA = frozenset({"HBM", "DM"})
_RELABELLED = frozenset({"DM", "TRF", "VRF"})


@dataclass(frozen=True, slots=True)
class Use:
    """A tensor that an operation reads or writes: its path, the step, the memories it may be in, whether it is new."""

    tensor: str
    path: SourcePath
    memories: frozenset[str]
    step: str = ""
    creates: bool = False
    tile: Tile | None = None


def check(ctx: Context, tensors: Mapping[str, Tensor | None], operations: Operations) -> None:
    """Reports every fault of the kernel as a whole. Names in operations that could not be read are never at fault."""
    names = _Names(ctx, tensors, operations)
    _operation_names(ctx, operations.placed)
    _unrolled(ctx, operations.placed)
    for placed in operations.placed:
        ctx.op = placed.op.name
        for use in reads(placed):
            names.read(use)
            _tile(ctx, use, placed)
        for use in writes(placed):
            names.write(use, placed)
            _tile(ctx, use, placed)
    ctx.op = ctx.step = ""
    names.finish()


def reads(placed: Placed) -> Iterator[Use]:
    """The tensors that an operation reads, in the order of the file."""
    op, path = placed.op, placed.path
    if isinstance(op, DmaOp):
        yield _use(op.read, (*path, "read"), _DMA)
    elif isinstance(op, ReshapeOp):
        yield Use(op.of, (*path, "of"), _RELABELLED)
    else:
        several = isinstance(op.read, tuple)
        for i, place in enumerate(op.read if isinstance(op.read, tuple) else (op.read,)):
            yield _use(place, (*path, "read", i) if several else (*path, "read"), frozenset({"DM"}))
        yield from _operands(op, path)


def writes(placed: Placed) -> Iterator[Use]:
    """The tensors that an operation writes; `creates` marks a name it binds."""
    op, path = placed.op, placed.path
    if isinstance(op, DmaOp):
        creates = op.element is not None
        yield _use(op.write, (*path, "write"), frozenset({"DM"}) if creates else _DMA, creates=creates)
    elif isinstance(op, ReshapeOp):
        yield Use(op.name, (*path, "name"), _RELABELLED, creates=True)
    else:
        for i, step in enumerate(op.steps):
            memory = _STORES.get(type(step))
            if memory is not None and isinstance(step, ToTrf | ToVrf | Commit):
                where = (*path, "steps", i, "write")
                yield _use(step.write, where, frozenset({memory}), step.step, creates=True)


_STORES = {ToTrf: "TRF", ToVrf: "VRF", Commit: "DM"}


def _use(place: Place, path: SourcePath, memories: frozenset[str], step: str = "", *, creates: bool = False) -> Use:
    if isinstance(place, Tile):
        return Use(place.tensor, (*path, "tensor"), memories, step, creates, place)
    return Use(place, path, memories, step, creates)


def _operands(op: PassOp, path: SourcePath) -> Iterator[Use]:
    for i, step in enumerate(op.steps):
        where = (*path, "steps", i)
        if isinstance(step, ContractOuter):
            if step.with_ != AUTO:
                yield Use(step.with_, (*where, "with_"), frozenset({"TRF"}), step.step)
            for j, name in enumerate(step.operands or ()):
                yield Use(name, (*where, "operands", j), frozenset({"TRF"}), step.step)
        elif isinstance(step, Vector):
            for j, vector_op in enumerate(step.ops):
                for name, part in _registers(vector_op):
                    yield Use(name, (*where, "ops", j, *part), frozenset({"VRF"}), step.step)


def _registers(op: VectorOp) -> Iterator[tuple[str, SourcePath]]:
    places: list[tuple[object, SourcePath]] = [(op.operand, ("operand",))]
    places += [(o, ("operands", n)) for n, o in enumerate(op.operands or ())]
    places += [(g.rf, ("guards", n, "rf")) for n, g in enumerate(op.guards or ())]
    yield from ((name, part) for name, part in places if isinstance(name, str) and name != "stash")


@dataclass(slots=True)
class _Names:
    """What each name stands for at the current place of the program."""

    ctx: Context
    tensors: Mapping[str, Tensor | None]
    operations: Operations
    memory: dict[str, str] = field(default_factory=dict)
    created: dict[str, SourcePath] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    cycles: dict[str, frozenset[str]] | None = None

    def __post_init__(self) -> None:
        for failed in self.operations.failed:
            self.unclear.update(node.text for _, node in walk(failed) if node.kind == "scalar")
        for name, tensor in self.tensors.items():
            self.memory[name] = "HBM"
            if tensor is None or tensor.role == "input":
                self.written.add(name)
        later: set[str] = set()
        for placed in self.operations.placed:
            later.update(use.tensor for use in writes(placed) if use.creates)
        self.known = later | set(self.tensors)

    known: set[str] = field(default_factory=set)

    def read(self, use: Use) -> None:
        self.used.add(use.tensor)
        self.ctx.step = use.step
        if use.tensor in self.unclear and use.tensor not in self.memory:
            return
        if use.tensor not in self.known:
            self.ctx.unknown("unknown_tensor", self._at(use), "tensor", use.tensor, self.known)
        elif use.tensor not in self.written and use.tensor not in self.unclear:
            self._too_early(use)
        else:
            self._in_memory(use)

    def _too_early(self, use: Use) -> None:
        cycle = self._cycle(use.tensor)
        rule, message = (
            ("cycle", f"`{use.tensor}` is made from itself: {cycle}")
            if cycle
            else ("used_before_written", f"`{use.tensor}` is read before it is written")
        )
        self.ctx.fault(rule, self._at(use), message, use.tensor, "an operation before that writes it")

    def _in_memory(self, use: Use) -> bool:
        memory = self.memory.get(use.tensor)
        if memory is None or memory in use.memories:
            return True
        wanted = " or ".join(sorted(use.memories))
        self.ctx.fault(
            "wrong_memory", self._at(use), f"`{use.tensor}` is in {memory}, wanted in {wanted}", memory, wanted
        )
        return False

    def write(self, use: Use, placed: Placed) -> None:
        self.ctx.step = use.step
        if use.creates:
            self._create(use, placed)
        elif use.tensor not in self.memory:
            if use.tensor not in self.unclear:
                self._unknown_destination(use)
        elif self._in_memory(use):
            tensor = self.tensors.get(use.tensor)
            if tensor is not None and tensor.role == "input":
                self.ctx.fault(
                    "input_written",
                    self._at(use),
                    f"`{use.tensor}` is an input",
                    use.tensor,
                    "an output",
                    "role: output",
                )
        self.written.add(use.tensor)

    def _unknown_destination(self, use: Use) -> None:
        if use.tensor in self.known:
            self.ctx.fault(
                "used_before_written", self._at(use), f"`{use.tensor}` is created only later", use.tensor, "an element"
            )
            return
        self.ctx.unknown("unknown_tensor", self._at(use), "tensor", use.tensor, self.known)

    def _create(self, use: Use, placed: Placed) -> None:
        memory = self.memory.get(use.tensor)
        if isinstance(placed.op, ReshapeOp):
            new = self.memory.get(placed.op.of, "")
            taken = memory is not None
        else:
            new = next(iter(use.memories))
            taken = memory not in (None, new)
        if taken:
            message = f"`{use.tensor}` already stands for a tensor in {memory}"
            self.ctx.fault("duplicate_tensor", self._at(use), message, use.tensor, "a new name", f"{use.tensor}_2")
            return
        if new:
            self.memory[use.tensor] = new
            self.created.setdefault(use.tensor, use.path)
        else:
            # It relabels what is at fault itself: where it lies is not known.
            self.unclear.add(use.tensor)

    def _at(self, use: Use) -> tuple[int, int]:
        return position(self.ctx, use.path)

    def _cycle(self, name: str) -> str:
        if self.cycles is None:
            graph: nx.DiGraph[str] = nx.DiGraph()
            for placed in self.operations.placed:
                sources = [use.tensor for use in reads(placed)]
                graph.add_edges_from((w.tensor, source) for w in writes(placed) for source in sources)
            self.cycles = defaultdict(frozenset)
            for component in nx.strongly_connected_components(graph):
                if len(component) > 1 or any(graph.has_edge(n, n) for n in component):
                    self.cycles.update(dict.fromkeys(component, frozenset(component)))
        return ", ".join(sorted(self.cycles.get(name, ()))[:8])

    def finish(self) -> None:
        unused: dict[str, tuple[int, int]] = {}
        for name, tensor in self.tensors.items():
            place = position(self.ctx, ("tensors", name))
            if name in self.unclear or tensor is None:
                continue
            if tensor.role == "output" and name not in self.written:
                self.ctx.fault(
                    "output_never_written", place, f"nothing writes the output `{name}`", name, "a dma into it"
                )
            if tensor.role == "input" and name not in self.used:
                unused[name] = place
        for name, path in self.created.items():
            if name not in self.used and name not in self.unclear:
                unused[name] = position(self.ctx, path)
        # A misspelt name leaves the right one unread: no second message for that.
        if not any(f.severity == "error" for f in self.ctx.faults):
            for name, place in unused.items():
                self._unused(name, place)

    def _unused(self, name: str, place: tuple[int, int]) -> None:
        self.ctx.fault("unused_tensor", place, f"nothing reads `{name}`", name, "a reader", severity="warning")


def position(ctx: Context, path: SourcePath) -> tuple[int, int]:
    """The place of a path or of its nearest parent."""
    return next((ctx.at[path[:n]] for n in range(len(path), 0, -1) if path[:n] in ctx.at), (1, 1))


def _operation_names(ctx: Context, placed: list[Placed]) -> None:
    seen: set[str] = set()
    for p in placed:
        if p.op.name in seen and not isinstance(p.op, ReshapeOp):
            ctx.op = p.op.name
            where = position(ctx, (*p.path, "name"))
            message = f"the name `{p.op.name}` is taken"
            ctx.fault("duplicate_operation", where, message, p.op.name, "a new name", f"{p.op.name}_2")
        seen.add(p.op.name)


def _unrolled(ctx: Context, placed: list[Placed]) -> None:
    total = 0
    for p in placed:
        total += prod(count for _, count in p.loops)
        if total > MAX_UNROLLED:
            ctx.op = p.op.name
            ctx.fault(
                "too_many_operations",
                position(ctx, (*p.path[:-2], "count") if p.loops else p.path),
                f"loops unroll to {total:,} operations and more",
                str(total),
                f"at most {MAX_UNROLLED:,}",
            )
            return


def _tile(ctx: Context, use: Use, placed: Placed) -> None:
    tile = use.tile
    if tile is None:
        return
    ctx.step = use.step
    counts = dict(placed.loops)
    where = position(ctx, (*use.path[:-1], "start"))
    expression = parse_linear(tile.start)
    unknown = [name for name in expression.coefficients if name not in counts]
    # A loop whose own name is at fault stands as "" and may be the one that is meant.
    for name in unknown if "" not in counts else ():
        ctx.unknown("unknown_loop_variable", where, "the loop variable", name, counts)
    if unknown:
        return
    size = ctx.texts.read(tile.tile)[1].size
    low, high = expression.bounds(counts)
    if low < 0 or high + tile.length > size:
        found = f"{low} to {high + tile.length}"
        message = f"positions {found} of `{tile.tile}`, which has {size}"
        near = f"length: {size - high}" if low >= 0 and high < size else ""
        ctx.fault("tile_out_of_range", where, message, found, f"0 to {size}", near)
