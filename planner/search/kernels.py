"""Fragments, transfers and moves put together to an ordinary kernel, and what the planner says of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import solver
from models.faults import FaultError
from models.hardware import Hardware
from models.kernel import DmaOp, Kernel, Op, PassOp, ReshapeOp, SourceMap, Tensor
from planner.build import Built, build
from planner.choices import Choices
from planner.readers.source import KernelSource
from planner.search.fragment import Fragment, renamed
from planner.search.laws import Place
from solver import Options, Solution


@dataclass(slots=True)
class Assembly:
    """A kernel that grows operation by operation; `tensors` are those of HBM."""

    name: str
    axes: dict[str, int]
    tensors: dict[str, Tensor]
    hardware: str = "rngd"
    description: str = ""
    ops: list[Op] = field(default_factory=list)

    def load(self, tensor: str, place: Place, buffer: str) -> None:
        """HBM to DM."""
        self.ops.append(_placed(f"load_{buffer}", tensor, buffer, place))

    def copy(self, source: str, place: Place, buffer: str) -> None:
        """DM to DM."""
        self.ops.append(_placed(f"copy_{buffer}", source, buffer, place))

    def relabel(self, source: str, place: Place, buffer: str) -> None:
        """A view under other names; nothing moves."""
        made = ReshapeOp(
            name=buffer, of=source, chip="1", cluster=place.cluster, slice=place.slice, element=place.element
        )
        self.ops.append(made)

    def store(self, buffer: str, tensor: str) -> None:
        """DM to HBM."""
        self.ops.append(DmaOp(name=f"store_{tensor}", read=buffer, write=tensor))

    def run(self, fragment: Fragment, names: dict[str, str]) -> None:
        """The passes of a fragment; `names` replaces its names of buffers."""
        self.ops += [renamed(op, names, op.name) if isinstance(op, PassOp) else op for op in fragment.ops()]

    def move(self, op: PassOp) -> None:
        """A pass that redistributes."""
        self.ops.append(op)

    def kernel(self) -> Kernel:
        """The kernel so far."""
        return Kernel(
            kernel=self.name,
            description=self.description,
            hardware=self.hardware,
            axes=self.axes,
            tensors=self.tensors,
            ops=tuple(self.ops),
        )


def _placed(name: str, read: str, write: str, place: Place) -> DmaOp:
    return DmaOp(
        name=name,
        read=read,
        write=write,
        chip="1",
        cluster=place.cluster,
        slice=place.slice,
        element=place.element,
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """A kernel with its problem and the solver's answer."""

    kernel: Kernel
    built: Built
    solution: Solution

    @property
    def makespan(self) -> int | None:
        """Cycles of the plan; None where there is none."""
        return self.solution.makespan


def source_of(kernel: Kernel, file: str = "", digest: str = "") -> KernelSource:
    """A kernel that was not read from a file of its own."""
    return KernelSource(kernel, SourceMap(file=file), file, digest)


def judge(kernel: Kernel, hardware: Hardware, options: Options) -> Judged | None:
    """Builds and solves a kernel; None where a rule forbids it or no plan was found."""
    try:
        built = build(source_of(kernel), hardware, Choices())
    except FaultError:
        return None
    solution = solver.solve(built.problem, options)
    return None if solution.makespan is None else Judged(kernel, built, solution)
