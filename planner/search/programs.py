"""From a program to the kernel that the search chooses for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.hardware import Hardware
from models.kernel import Kernel
from planner.program.operations import Einsum, Node, Rows, Value
from planner.search.alike import Alike
from planner.search.floor import Floor
from planner.search.laws import Laws, Place
from planner.search.options import Finder, Option
from planner.search.redistribute import Redistributions
from planner.search.rows_single import RowSearch
from planner.search.select import Selection, values_of
from planner.search.single import Found, SingleSearch
from planner.search.spec import contraction_of
from planner.search.tiled import TiledSearch
from planner.search.together import Together
from planner.search.watch import Watch
from solver import Options


@dataclass(frozen=True, slots=True)
class Chosen:
    """The kernel of a program, its makespan, and what is known of all others.

    `bound`: no layout gives a shorter plan; `proved`: no other of the candidates does. `notes` say how.
    """

    kernel: Kernel
    makespan: int
    bound: int
    proved: bool
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class ProgramSearch:
    """Searches layouts for the operations of a program; `head` is the kernel without operations."""

    head: Kernel
    nodes: list[Node]
    hardware: Hardware
    options: Options = field(default_factory=Options)
    watch: Watch = field(default_factory=Watch)
    laws: Laws = field(init=False)
    hbm: dict[str, Place] = field(init=False)
    values: dict[str, Value] = field(init=False)
    redistributions: Redistributions = field(init=False)

    def __post_init__(self) -> None:
        """Takes the axes and tensors of the head."""
        self.laws = Laws(self.hardware, dict(self.head.axes))
        self.hbm = {name: Place(t.element) for name, t in self.head.tensors.items()}
        self.values = values_of(self.nodes)
        self.redistributions = Redistributions(self.laws)

    @property
    def outputs(self) -> frozenset[str]:
        """The tensors that are stored."""
        return frozenset(n for n, t in self.head.tensors.items() if t.role == "output")

    def run(self, seconds: float) -> Chosen | None:
        """The best kernel that was found, in tiles where the slices hold no other; None where there is none."""
        found = self._untiled(seconds)
        if found is not None or self.watch.stopped or any(map(_states, self.nodes)):
            return found

        def part(head: Kernel, seconds: float) -> Kernel | None:
            search = ProgramSearch(head, self.nodes, self.hardware, self.options, self.watch)
            chosen = search._untiled(seconds)
            return None if chosen is None else chosen.kernel

        return _chosen(TiledSearch(self.nodes, self.head, self.hardware, self.options, part).run(seconds))

    def _untiled(self, seconds: float) -> Chosen | None:
        finder = Finder(self.laws, self.hbm, self.outputs)
        if len(self.nodes) == 1 and (isinstance(self.nodes[0], Rows) or not _states(self.nodes[0])):
            return _chosen(self._alone(self.nodes[0], finder, seconds))
        found: dict[str, list[Option]] = {}
        alike = Alike(finder)
        for i, node in enumerate(self.nodes):
            self.watch.progress("searching layouts", i / len(self.nodes))
            found[node.out.name] = alike.options(node)
            if not found[node.out.name]:
                return None
        return self._together(found, seconds)

    # One operation --------------------------------------------------------------------------------------

    def _alone(self, node: Node, finder: Finder, seconds: float) -> Found:
        if isinstance(node, Einsum):
            spec = contraction_of(node, dict(self.head.axes), self.hbm)
            return SingleSearch(spec, self.hardware, self.head, self.options, self.watch).run(seconds)
        return RowSearch(node, finder, self.hardware, self.head, self.options, self.watch).run(seconds)

    def selection(self, options: dict[str, list[Option]], given: dict[str, Place] | None = None) -> Selection:
        """The choice among options of some operations; `given` lies in DM already."""
        return Selection(self.laws, self.hbm, self.values, options, self.redistributions, given or {})

    # Several operations ---------------------------------------------------------------------------------

    def _together(self, found: dict[str, list[Option]], seconds: float) -> Chosen | None:
        chosen = Together(self, found, seconds).run()
        if chosen is None:
            return None
        floor = Floor(self.head, self.nodes, self.hardware).cycles(self.options)
        makespan = chosen.judged.makespan or 0
        loss = makespan - floor
        note = (
            f"layout search: {sum(map(len, found.values()))} layouts of {len(found)} operations, {chosen.how};"
            f" no layouts at all give less than {floor:,} cycles, a loss of at most {loss:,}"
        )
        return Chosen(chosen.judged.kernel, makespan, floor, loss <= 0, (note,))


def _chosen(found: Found) -> Chosen | None:
    if found.judged is None or found.judged.makespan is None:
        return None
    asked = ", ".join(f"{n} {name}" for name, n in found.asked.items())
    how = "no other candidate is shorter" if found.proved else f"no candidate is below {found.bound:,}"
    note = f"layout search: {how}; asked {asked}"
    return Chosen(found.judged.kernel, found.judged.makespan, found.bound, found.proved, (note,))


def _states(node: Node) -> bool:
    s = node.statement
    return any(t is not None for t in (s.cluster, s.slice, s.element))
