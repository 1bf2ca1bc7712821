"""From a program to the kernel that the search chooses for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from math import prod

from models.hardware import Hardware
from models.kernel import Kernel, Tensor
from planner.program.operations import Einsum, Node
from planner.search import bounds
from planner.search.kernels import Assembly, Judged, judge
from planner.search.laws import Laws, Place
from planner.search.options import Ending, Finder, Option, contraction_of
from planner.search.select import Selection
from planner.search.single import SingleSearch
from planner.search.spec import bytes_of
from solver import Options

MOST_TOGETHER = 24
"""Operations of one choice; more are chosen in windows, each with what was chosen before it held fast."""
MOST_IMPROVED = 8
"""Operations of a program whose choice is improved by planning changes of it."""
PLANS_PER_SECOND = 2
"""About what one processor plans of small kernels."""
MODEL_SECONDS = 10.0
"""Deterministic time of one choice."""
MOST_SOLVED = 24
"""Kernels of a single operation that are solved, the lowest bounds first."""


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
    laws: Laws = field(init=False)
    hbm: dict[str, Place] = field(init=False)

    def __post_init__(self) -> None:
        self.laws = Laws(self.hardware, dict(self.head.axes))
        self.hbm = {name: Place(t.element) for name, t in self.head.tensors.items()}

    @property
    def outputs(self) -> frozenset[str]:
        """The tensors that are stored."""
        return frozenset(n for n, t in self.head.tensors.items() if t.role == "output")

    def run(self, seconds: float) -> Chosen | None:
        """The best kernel that was found; None where an operation has no legal layout."""
        if len(self.nodes) == 1 and isinstance(self.nodes[0], Einsum) and not _states(self.nodes[0]):
            return self._alone(self.nodes[0], seconds)
        finder = Finder(self.laws, self.hbm, self.outputs)
        found = {node.out.name: finder.options(node) for node in self.nodes}
        if any(not options for options in found.values()):
            return None
        return self._row_alone(found) if len(self.nodes) == 1 else self._together(found, seconds)

    def floor(self) -> int:
        """No plan is shorter: the frame, and all inputs and outputs once over the one DMA context."""
        dma, total = self.hardware.dma, bounds.frame_cycles(self.hardware)
        for tensor in self.head.tensors.values():
            base = dma.load_base_cycles if tensor.role == "input" else dma.store_base_cycles
            total += bounds.transfer_floor(self.hardware, self._bytes(tensor), min(base, dma.single_slice_base_cycles))
        return total

    def _bytes(self, tensor: Tensor) -> int:
        names = {a for a in self.head.axes if a in tensor.element}
        return prod(self.head.axes[a] for a in names) * bytes_of(tensor.dtype)

    # One operation --------------------------------------------------------------------------------------

    def _alone(self, node: Einsum, seconds: float) -> Chosen | None:
        search = SingleSearch(
            contraction_of(node, dict(self.head.axes), self.hbm), self.hardware, self.head, self.options
        )
        found = search.run(seconds)
        if found.judged is None or found.judged.makespan is None:
            return None
        asked = ", ".join(f"{n} {name}" for name, n in found.asked.items())
        how = "no other candidate is shorter" if found.proved else f"no candidate is below {found.bound:,}"
        note = f"layout search: {how}; asked {asked}"
        return Chosen(found.judged.kernel, found.judged.makespan, found.bound, found.proved, (note,))

    def _row_alone(self, found: dict[str, list[Option]]) -> Chosen | None:
        ((name, options),) = found.items()
        frame = bounds.frame_cycles(self.hardware)
        ways = [(frame + self._least(o, e), i, o, e) for i, o in enumerate(options) for e in o.endings]
        best: Judged | None = None
        proved = False
        for bound, _, option, ending in sorted(ways, key=lambda w: w[:2])[:MOST_SOLVED]:
            if best is not None and bound >= (best.makespan or 0):
                proved = True
                break
            judged = judge(self._kernel({name: option}, {name: ending}), self.hardware, self.options)
            if judged is not None and (best is None or (judged.makespan or 0) < (best.makespan or 0)):
                best = judged
        if best is None or best.makespan is None:
            return None
        note = f"layout search: {len(options)} layouts" + (", no other is shorter" if proved else "")
        return Chosen(best.kernel, best.makespan, best.makespan if proved else self.floor(), proved, (note,))

    @staticmethod
    def _least(option: Option, ending: Ending) -> int:
        """Loads follow each other, the last pass and what follows it come after them."""
        return sum(option.loads.values()) + option.passes[-1] + ending.move_cycles + ending.store_cycles

    # Several operations ---------------------------------------------------------------------------------

    def _together(self, found: dict[str, list[Option]], seconds: float) -> Chosen | None:
        picked: dict[str, Option] = {}
        proved, names = True, list(found)
        for at in range(0, len(names), MOST_TOGETHER):
            window = names[at : at + MOST_TOGETHER]
            read = {n.tensor for name in window for o in found[name] for n in o.fragment.needs} & picked.keys()
            ways = {n: [picked[n]] for n in names if n in read} | {n: found[n] for n in window}
            selected = Selection(self.laws, ways).run(min(seconds, MODEL_SECONDS), self.options.seed)
            if selected is None:
                return None
            picked |= selected.options
            proved = proved and selected.proved
        picked, tried = self._improved(picked, found, int(seconds * PLANS_PER_SECOND))
        return self._assembled(
            picked, sum(map(len, found.values())), tried, proved=proved and len(names) <= MOST_TOGETHER
        )

    def _improved(
        self, picked: dict[str, Option], found: dict[str, list[Option]], most: int
    ) -> tuple[dict[str, Option], int]:
        """Changes one operation at a time while the plan gets shorter; few operations only, each try is a plan."""
        best, tried = self._planned(picked), 0
        if len(picked) > MOST_IMPROVED or best is None:
            return picked, 0
        ways = [(name, option) for name, options in found.items() for option in options]
        left = len(ways)
        for name, option in cycle(ways):
            if left == 0 or tried >= most:
                break
            left -= 1
            if option is picked[name]:
                continue
            tried += 1
            judged = self._planned(picked | {name: option})
            if judged is not None and (judged.makespan or 0) < (best.makespan or 0):
                best, picked, left = judged, picked | {name: option}, len(ways)
        return picked, tried

    def _planned(self, picked: dict[str, Option]) -> Judged | None:
        ends = {n: min(o.endings, key=_cycles) for n, o in picked.items() if o.endings}
        return judge(self._kernel(picked, ends), self.hardware, self.options)

    def _assembled(self, picked: dict[str, Option], layouts: int, tried: int, *, proved: bool) -> Chosen | None:
        judged = self._planned(picked)
        if judged is None or judged.makespan is None:
            return None
        bound, makespan = self.floor(), judged.makespan
        how = "chosen together" if len(picked) <= MOST_TOGETHER else f"chosen {MOST_TOGETHER} operations at a time"
        note = (
            f"layout search: {layouts} layouts of {len(picked)} operations, {how}"
            f"{', proved best of these in the model' if proved else ''}"
            f"{f', then {tried} changes of one operation planned' if tried else ''};"
            f" no layouts at all give less than {bound:,} cycles, a loss of at most {makespan - bound:,}"
        )
        return Chosen(judged.kernel, makespan, bound, False, (note,))

    def _kernel(self, chosen: dict[str, Option], endings: dict[str, Ending]) -> Kernel:
        head = self.head
        out = Assembly(head.kernel, head.axes, head.tensors, head.hardware, head.description)
        places: dict[tuple[str, Place], str] = {}
        for node in self.nodes:
            option = chosen[node.out.name]
            names: dict[str, str] = {}
            for need in option.fragment.needs:
                key = (need.tensor, need.place)
                if key not in places:
                    places[key] = need.buffer
                    producer = chosen.get(need.tensor)
                    if producer is None:
                        out.load(need.tensor, need.place, need.buffer)
                    else:
                        out.copy(producer.fragment.buffer, need.place, need.buffer)
                names[need.buffer] = places[key]
            out.run(option.fragment, names)
            places[node.out.name, option.fragment.gives] = option.fragment.buffer
            ending = endings.get(node.out.name)
            if ending is not None:
                if ending.move is not None:
                    out.move(ending.move)
                out.store(ending.buffer or option.fragment.buffer, node.out.name)
        return out.kernel()


def _cycles(ending: Ending) -> int:
    return ending.move_cycles + ending.store_cycles


def _states(node: Node) -> bool:
    s = node.statement
    return any(t is not None for t in (s.cluster, s.slice, s.element))
