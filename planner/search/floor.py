"""What no layouts of a program beat: every tensor of HBM once over the DMA context, and passes at their least.

It is the schedule of a program whose operations all have the layout of their dreams: nothing is brought from place to
place, each pass takes its least. Whatever the search may choose, the planner's schedule of it is one of these, with
longer works.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from models.graph import DMA, MAIN
from models.hardware import Hardware
from models.kernel import Kernel, Tensor
from planner.pass_cycles import Steps, pass_cycles
from planner.program.operations import Einsum, Node, RowPass, Rows
from planner.search import bounds
from planner.search.contraction import contraction_cycles, tilings
from planner.search.spec import Contraction, bytes_of, contraction_of
from solver import Options, choose
from solver.layouts import Candidate, LayoutOperation, LayoutProblem, Route, Step, Work

NOWHERE, HBM = "anywhere", "hbm"
SECONDS = 4.0
"""For the schedule of the dream; its bound holds however far it came."""


@dataclass(slots=True)
class Floor:
    """The bound of a program; `head` is the kernel without operations."""

    head: Kernel
    nodes: list[Node]
    hardware: Hardware
    least: dict[tuple[object, ...], int] = field(default_factory=dict)

    def cycles(self, options: Options) -> int:
        """No plan of any layouts is shorter."""
        found = choose(self.problem(), Options(SECONDS, 1, options.seed))
        return max(found.lower_bound, self._transfers())

    def problem(self) -> LayoutProblem:
        """The schedule of the dream."""
        inputs = {n: t for n, t in self.head.tensors.items() if t.role == "input"}
        base = self.hardware.dma.load_base_cycles
        loads = {(n, HBM, NOWHERE): (self._transfer("load", t, base),) for n, t in inputs.items()}
        operations = tuple(LayoutOperation(node.out.name, self._candidates(node)) for node in self.nodes)
        return LayoutProblem(operations, dict.fromkeys(inputs, HBM), loads, bounds.frame_cycles(self.hardware))

    def _transfers(self) -> int:
        """All of HBM over the one DMA context."""
        return bounds.frame_cycles(self.hardware) + sum(
            self._transfer("", t, self._base(t)).cycles for t in self.head.tensors.values()
        )

    def _base(self, tensor: Tensor) -> int:
        dma = self.hardware.dma
        return dma.load_base_cycles if tensor.role == "input" else dma.store_base_cycles

    def _transfer(self, name: str, tensor: Tensor, base_cycles: int) -> Route:
        axes = [a for a in self.head.axes if a in tensor.element]
        size = prod(self.head.axes[a] for a in axes) * bytes_of(tensor.dtype)
        base = min(base_cycles, self.hardware.dma.single_slice_base_cycles)
        return Route(name, (Work(bounds.transfer_floor(self.hardware, size, base), frozenset({DMA})),))

    # Operations -----------------------------------------------------------------------------------------

    def _candidates(self, node: Node) -> tuple[Candidate, ...]:
        tensor = self.head.tensors.get(node.out.name)
        endings = () if tensor is None else (self._transfer("store", tensor, self._base(tensor)),)
        ways = self._einsum(node) if isinstance(node, Einsum) else (self._rows(node),)
        return tuple(Candidate(steps, NOWHERE, endings) for steps in ways)

    def _einsum(self, node: Einsum) -> tuple[tuple[Step, ...], ...]:
        """Either operand is put into the TRF, on whichever context, then the matrix pass runs."""
        spec = contraction_of(node, dict(self.head.axes), {})
        stored = min(self._steps("to_trf", 1, short=short) for short in (False, True))
        hold = Route("hold", (Work(stored, frozenset()),))
        matrix = Route("matrix", (Work(self._contraction(spec), frozenset({MAIN})),))
        names = (node.left.name, node.right.name)
        return tuple(
            (Step((hold,), ((held, NOWHERE),)), Step((matrix,), ((stream, NOWHERE),), (0,)))
            for held, stream in (names, names[::-1])
        )

    def _contraction(self, spec: Contraction) -> int:
        # Equal shapes have equal answers, whatever their tensors are called.
        key = (spec.left.dtype, spec.left.axes, spec.right.dtype, spec.right.axes, spec.out.dtype, spec.out.axes)
        if key not in self.least:
            every = (contraction_cycles(self.hardware, t) for t in tilings(spec, self.hardware))
            self.least[key] = min(every, default=0)
        return self.least[key]

    def _rows(self, node: Rows) -> tuple[Step, ...]:
        made: dict[str, int] = {}
        steps: list[Step] = []
        for i, one in enumerate(node.passes):
            names = (one.source.name, *one.operands)
            reads = tuple((n, NOWHERE) for n in names if n not in made)
            after = tuple(made[n] for n in names if n in made)
            steps.append(Step((Route("rows", (Work(self._pass(one), frozenset()),)),), reads, after))
            made[one.out.name] = i
        return tuple(steps)

    def _pass(self, one: RowPass) -> int:
        """Flits of a slice where all slices of both clusters share everything that is read."""
        geometry = self.hardware.geometry
        units = geometry.slices_per_cluster * geometry.clusters_per_chip
        size = prod(self.head.axes[a] for a in one.source.axes) * bytes_of(one.source.dtype)
        return min(self._steps(end, max(1, size // units // geometry.flit_bytes)) for end in ("to_vrf", "commit"))

    def _steps(self, stage: str, count: int, *, short: bool = False) -> int:
        return pass_cycles(self.hardware, Steps(MAIN, ((stage, count),), short=short))
