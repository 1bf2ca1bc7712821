"""From what a kernel file leaves to the planner (a program, `passes: auto`, `with: auto`) to operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from models.faults import Fault, FaultError
from models.hardware import Hardware
from models.kernel import AUTO, ContractOuter, DmaOp, Kernel, Op, PassOp
from models.parse import parse
from planner.build import build
from planner.choices import Choices
from planner.readers.source import KernelSource
from planner.search.fits import why_not
from planner.search.kernels import Judged, judge
from planner.search.laws import Laws, Place
from planner.search.moves import moves
from planner.search.parts import Parts, of_mapping
from planner.search.programs import ProgramSearch
from planner.search.spec import DmPlace, bytes_of
from planner.search.watch import Watch
from solver import Options

MOST_ENDINGS = 16
"""Kernels with another way to store that are solved, the lowest bounds first."""


def lowered(
    source: KernelSource,
    hardware: Hardware,
    options: Options,
    watch: Watch = Watch(),  # noqa: B008  # frozen; nobody sets its event
) -> KernelSource:
    """The source with operations alone; what was searched stands in its warnings.

    Raises:
        FaultError: an operation of the program has no legal layout, or fits nowhere.

    """
    if source.program:
        return _program(source, hardware, options, watch)
    kernel = source.kernel
    if not any(_open(op) for op in kernel.ops):
        return source
    for at, op in enumerate(kernel.ops):
        if isinstance(op, PassOp) and _auto_operand(op):
            kernel = _best(_operands(kernel, at), hardware, options) or kernel
    at = 0
    while at < len(kernel.ops):
        op = kernel.ops[at]
        if isinstance(op, DmaOp) and op.passes == AUTO:
            before = len(kernel.ops)
            kernel = _with_passes(replace(source, kernel=kernel), at, op, hardware, options)
            at += len(kernel.ops) - before
        at += 1
    if len(kernel.ops) == len(source.kernel.ops):
        return replace(source, kernel=kernel)
    # Places in the file no longer tell one operation from another once some were inserted.
    return replace(source, kernel=kernel, positions=source.positions.model_copy(update={"at": {}}))


def _program(source: KernelSource, hardware: Hardware, options: Options, watch: Watch) -> KernelSource:
    search = ProgramSearch(source.kernel, list(source.program), hardware, options, watch)
    found = search.run(options.time_limit_seconds)
    if found is None:
        raise FaultError(why_not(source, hardware))
    return replace(source, kernel=found.kernel, program=(), notes=found.notes)


# with: auto ---------------------------------------------------------------------------------------------------


def _open(op: Op) -> bool:
    return (isinstance(op, DmaOp) and op.passes == AUTO) or (isinstance(op, PassOp) and _auto_operand(op))


def _auto_operand(op: PassOp) -> bool:
    return any(isinstance(s, ContractOuter) and s.with_ == AUTO for s in op.steps)


def _operands(kernel: Kernel, at: int) -> Iterator[Kernel]:
    """The kernel once per operand that `with: auto` may take."""
    op = kernel.ops[at]
    assert isinstance(op, PassOp)
    which = next(i for i, s in enumerate(op.steps) if isinstance(s, ContractOuter) and s.with_ == AUTO)
    step = op.steps[which]
    assert isinstance(step, ContractOuter)
    for name in step.operands or ():
        chosen = step.model_copy(update={"with_": name, "operands": None})
        steps = (*op.steps[:which], chosen, *op.steps[which + 1 :])
        yield _replaced(kernel, at, op.model_copy(update={"steps": steps}))


def _replaced(kernel: Kernel, at: int, *ops: Op) -> Kernel:
    return kernel.model_copy(update={"ops": (*kernel.ops[:at], *ops, *kernel.ops[at + 1 :])})


def _best(kernels: Iterator[Kernel], hardware: Hardware, options: Options) -> Kernel | None:
    judged: list[Judged] = [j for k in kernels if (j := judge(k, hardware, options)) is not None]
    best = min(judged, key=lambda j: j.makespan or 0, default=None)
    return None if best is None else best.kernel


# passes: auto -------------------------------------------------------------------------------------------------


def _with_passes(source: KernelSource, at: int, op: DmaOp, hardware: Hardware, options: Options) -> Kernel:
    """The shortest of the kernels that store as it lies or behind one move."""
    kernel = source.kernel
    plain = op.model_copy(update={"passes": None})
    found = [_replaced(kernel, at, plain)]
    held, dtype = _held(source, at, op, hardware)
    name = op.read if isinstance(op.read, str) else op.read.tensor
    order = tuple(dict.fromkeys(p.axis for p in _parts(kernel, kernel.tensors[_name(op)].element) or () if p.axis))
    ways = sorted(
        moves(hardware, bytes_of(dtype) * 8, held, order, name, f"{name}_moved"),
        key=lambda m: m.floor_cycles,
    )
    ranked = [
        (_stored(source, m.gives.place(), dtype, _name(op), hardware) + m.floor_cycles, i) for i, m in enumerate(ways)
    ]
    for _, i in sorted(ranked)[:MOST_ENDINGS]:
        found.append(_replaced(kernel, at, ways[i].op, plain.model_copy(update={"read": f"{name}_moved"})))
    return _best(iter(found), hardware, options) or found[0]


def _name(op: DmaOp) -> str:
    return op.write if isinstance(op.write, str) else op.write.tensor


def _held(source: KernelSource, at: int, op: DmaOp, hardware: Hardware) -> tuple[DmPlace, str]:
    """Where the tensor of a store lies, as digits."""
    kernel = source.kernel
    name = op.read if isinstance(op.read, str) else op.read.tensor
    sofar = kernel.model_copy(update={"ops": kernel.ops[:at]})
    problem = build(replace(source, kernel=sofar), hardware, Choices()).problem
    buffer = next((b for b in reversed(problem.buffers) if b.tensor == name), None)
    parts = None if buffer is None else [_parts(kernel, t) for t in (buffer.cluster, buffer.slice, buffer.element)]
    if buffer is None or parts is None or any(p is None for p in parts) or not isinstance(op.read, str):
        line, column = source.positions.position(("ops", at))
        message = f"{op.name}: {name} does not lie in digits of axes; state its passes"
        raise FaultError(
            [Fault(rule="passes_auto", file=source.path, line=line, column=column, op=op.name, message=message)]
        )
    cluster, slice_, element = (p or () for p in parts)
    return DmPlace(cluster, slice_, element), buffer.dtype


def _parts(kernel: Kernel, text: str) -> Parts | None:
    return of_mapping(parse(text, kernel.axes), dict(kernel.axes))


def _stored(source: KernelSource, place: Place, dtype: str, target: str, hardware: Hardware) -> int:
    laws = Laws(hardware, dict(source.kernel.axes))
    outcome = laws.store(dtype, place, Place(source.kernel.tensors[target].element))
    return outcome.steps if outcome.ok else 2**40
