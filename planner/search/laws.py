"""What transfers and passes take by the engines' laws, each question asked once in a search."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.hardware import Hardware
from models.kernel import AUTO, PassOp, Switch
from models.layout import Memory, TensorLayout
from models.parse import parse
from planner import compositions, passes
from planner.engines import dma
from planner.engines.base import Ground, Outcome
from planner.passes import PassResult


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor's place as mapping text; HBM has chip `1` and no cluster or slice."""

    element: str
    slice: str = "1"
    cluster: str = "1"


@dataclass(slots=True)
class Laws:
    """Asks the laws of one kernel's chip and axes, and remembers the answers."""

    hardware: Hardware
    axes: dict[str, int]
    transfers: dict[tuple[str, Place, Place, str], Outcome] = field(default_factory=dict)
    passed: dict[tuple[PassOp, tuple[TensorLayout, ...]], PassResult] = field(default_factory=dict)
    paired: dict[tuple[PassOp, tuple[TensorLayout, ...]], PassResult] = field(default_factory=dict)

    @property
    def ground(self) -> Ground:
        """What every law may look at."""
        return Ground(self.hardware, self.axes)

    def layout(self, name: str, memory: Memory, dtype: str, place: Place, pad: str = "poison") -> TensorLayout:
        """A parsed layout."""
        element, slice_, cluster = (parse(t, self.axes) for t in (place.element, place.slice, place.cluster))
        return TensorLayout(name, memory, dtype, element, cluster=cluster, slice=slice_, pad=pad)

    def load(self, dtype: str, hbm: Place, dm: Place) -> Outcome:
        """A transfer from HBM to DM."""
        return self._transfer("hbm", "dm", dtype, hbm, dm)

    def store(self, dtype: str, dm: Place, hbm: Place) -> Outcome:
        """A transfer from DM to HBM."""
        return self._transfer("dm", "hbm", dtype, dm, hbm)

    def copy(self, dtype: str, source: Place, target: Place) -> Outcome:
        """A transfer from DM to DM."""
        return self._transfer("dm", "dm", dtype, source, target)

    def _transfer(self, source: Memory, target: Memory, dtype: str, read: Place, write: Place) -> Outcome:
        key = (f"{source}>{target}:{dtype}", read, write, "")
        if key not in self.transfers:
            ends = self.layout("source", source, dtype, read), self.layout("target", target, dtype, write)
            self.transfers[key] = dma.law(self.ground, *ends)
        return self.transfers[key]

    def of_pass(self, op: PassOp, tensors: dict[str, TensorLayout]) -> PassResult:
        """All legal ways of a pass."""
        key = (op, tuple(tensors.values()))
        if key not in self.passed:
            self.passed[key] = passes.evaluate(op, tensors, self.ground, {}, ())
        return self.passed[key]

    def of_pass_or_pair(self, op: PassOp, tensors: dict[str, TensorLayout]) -> PassResult:
        """The same with the pairs of passes that an open switch may become, as the planner will offer them."""
        if not any(isinstance(s, Switch) and s.config == AUTO for s in op.steps):
            return self.of_pass(op, tensors)
        key = (op, tuple(tensors.values()))
        if key not in self.paired:
            self.paired[key] = compositions.evaluate(op, tensors, self.ground, {}, ())
        return self.paired[key]
