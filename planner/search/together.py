"""The choice over several operations: the solver's model proposes, the planner judges the kernel whole.

No plan of a choice is shorter than the model says, unless passes share a bitmap that is loaded once. So proposals are
judged in the model's order, and when the next one is no shorter in the model than the best plan so far, no other
choice of these layouts is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from models.hardware import Hardware
from models.kernel import Kernel
from planner.program.operations import Node
from planner.search.alike import bare
from planner.search.assembled import Assembled
from planner.search.kernels import Judged, judge
from planner.search.laws import Place
from planner.search.options import Option
from planner.search.select import Selection
from planner.search.watch import Watch
from solver import Options, choose
from solver.layouts import LayoutChoice, LayoutProblem, LayoutSolution

MOST_TOGETHER = 24
"""Operations of one model; of more, the first half of each window is held fast and the next one begins behind it."""
MOST_JUDGED = 8
"""Operations of a program of which more than one choice is planned."""
MOST_CHOICES = 8
"""Choices that are planned at most."""
PLANS_PER_SECOND = 2
"""About what one processor plans of small kernels."""
MODEL_SECONDS = 10.0
"""Limit of one model."""
HOPELESS = 1 << 62
"""The bound of choices of which there are none."""


class Searched(Protocol):
    """What the choice needs to know of the search."""

    head: Kernel
    nodes: list[Node]
    hardware: Hardware
    options: Options
    watch: Watch
    hbm: dict[str, Place]

    @property
    def outputs(self) -> frozenset[str]:
        """The tensors that are stored."""

    def selection(self, options: dict[str, list[Option]], given: dict[str, Place] | None = None) -> Selection:
        """The choice among options of some operations."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best plan, what is known of the other choices in words, and a bound that none of these is below."""

    judged: Judged
    how: str
    bound: int = 0


@dataclass(slots=True)
class Together:
    """Chooses among the options of all operations."""

    search: Searched
    found: dict[str, list[Option]]
    seconds: float
    tried: list[LayoutChoice] = field(default_factory=list)
    known: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The options taken in windows that were chosen, by what makes others like them."""

    def run(self) -> Found | None:
        """The best plan; None where no choice has one."""
        return self._whole() if len(self.found) <= MOST_TOGETHER else self._windows()

    def _limits(self) -> Options:
        options = self.search.options
        return Options(min(self.seconds, MODEL_SECONDS), options.workers, options.seed)

    def _propose(self, selection: Selection) -> LayoutSolution:
        """The solver's next choice; passes between operations are judged when one takes them, not all beforehand."""
        start, rough = None, True
        self.search.watch.progress("choosing layouts", None)
        while True:
            watch = self.search.watch
            proposed = choose(
                selection.problem(), self._limits(), forbidden=self.tried, start=start, rough=rough, stop=watch.stop
            )
            if proposed.choice is None:
                return proposed
            start = proposed.choice
            if not selection.settle(proposed.choice):
                if not rough or proposed.status == "optimal" or watch.stopped:
                    return proposed
                rough = False

    # One model ------------------------------------------------------------------------------------------

    def _whole(self) -> Found | None:
        selection = self.search.selection(self.found)
        most = max(1, min(MOST_CHOICES, int(self.seconds * PLANS_PER_SECOND))) if len(self.found) <= MOST_JUDGED else 1
        best: Judged | None = None
        bound = 0
        while len(self.tried) < most:
            proposed = self._propose(selection)
            bound = max(bound, proposed.lower_bound)
            if proposed.status == "infeasible":
                bound = HOPELESS
            if proposed.choice is None or self._is_settled(bound, best):
                break
            self.tried.append(proposed.choice)
            judged = self._judged(selection, proposed.choice)
            if judged is not None and (best is None or (judged.makespan or 0) < (best.makespan or 0)):
                best = judged
        if best is None and self.search.watch.stopped:
            return self._routed(dict.fromkeys(self.found, 0), "each operation's own best, stopped before any choice")
        return None if best is None else Found(best, self._how(bound, best), min(bound, best.makespan or 0))

    def _is_settled(self, bound: int, best: Judged | None) -> bool:
        return best is not None and (self.search.watch.stopped or bound >= (best.makespan or 0))

    def _how(self, bound: int, best: Judged) -> str:
        planned = f"chosen together, {len(self.tried)} choice{'s' * (len(self.tried) > 1)} planned"
        if bound >= (best.makespan or 0):
            return f"{planned}, no other choice of these is shorter in the model"
        return f"{planned}, no choice of these is below {bound:,}"

    def _judged(self, selection: Selection, choice: LayoutChoice) -> Judged | None:
        search = self.search
        chosen = {name: self.found[name][i] for name, i in choice.candidates.items()}
        kernel = Assembled(search.head, search.nodes, selection, chosen, choice).kernel()
        return judge(kernel, search.hardware, search.options)

    # Windows --------------------------------------------------------------------------------------------

    def _windows(self) -> Found | None:
        """Windows that overlap by half; then routes and endings of everything that was chosen."""
        names, chosen = list(self.found), dict[str, int]()
        half = MOST_TOGETHER // 2
        for at in range(0, len(names), half):
            window = names[at : at + MOST_TOGETHER]
            last = at + MOST_TOGETHER >= len(names)
            picked = self._window(window, chosen)
            if picked is None:
                return None
            chosen |= {n: picked[n] for n in (window if last else window[:half])}
            self.search.watch.progress("choosing layouts", len(chosen) / len(names))
            if last:
                break
        return self._routed(chosen, f"chosen {MOST_TOGETHER} operations at a time")

    def _window(self, window: list[str], chosen: Mapping[str, int]) -> Mapping[str, int] | None:
        options = {n: self.found[n] for n in window}
        read = {need.tensor for found in options.values() for o in found for need in o.fragment.needs}
        given = {n: self.found[n][chosen[n]].fragment.gives for n in read & chosen.keys()}
        key = self._alike(window, given)
        if key not in self.known:
            proposed = self._propose(self.search.selection(options, given))
            if proposed.choice is None:
                return None
            self.known[key] = tuple(proposed.choice.candidates[n] for n in window)
        return dict(zip(window, self.known[key], strict=True))

    def _alike(self, window: list[str], given: Mapping[str, Place]) -> str:
        """The same for windows that differ in the names of tensors alone: of such, one choice is enough."""
        search = self.search
        # Alike operations have their options in the same order, so that a number stands for the same one.
        nodes = [node for node in search.nodes if node.out.name in window]
        same = bare(nodes, search.hbm, search.outputs)
        places = sorted((same.names.index(n), place) for n, place in given.items())
        return repr((same.key, places))

    def _routed(self, chosen: Mapping[str, int], how: str) -> Found | None:
        options = {n: [self.found[n][i]] for n, i in chosen.items()}
        selection = self.search.selection(options)
        while (choice := shortest_routes(selection.problem())) is not None and selection.settle(choice):
            pass
        if choice is None:
            return None
        search = self.search
        picked = {n: o for n, (o,) in options.items()}
        judged = judge(
            Assembled(search.head, search.nodes, selection, picked, choice).kernel(), search.hardware, search.options
        )
        return None if judged is None else Found(judged, how)


def shortest_routes(problem: LayoutProblem) -> LayoutChoice | None:
    """The only candidate of every operation, tensors and endings by their shortest routes; None where one has none."""
    lies = dict(problem.given) | {op.name: op.candidates[0].gives for op in problem.operations}
    spots = {s for op in problem.operations for s in op.candidates[0].reads}
    routes = {(tensor, place): problem.between(tensor, lies[tensor], place) for tensor, place in spots}
    if not all(routes.values()):
        return None
    arrivals = {spot: min(found, key=lambda r: r.cycles).name for spot, found in routes.items()}
    ended = [op for op in problem.operations if op.candidates[0].endings]
    endings = {op.name: min(op.candidates[0].endings, key=lambda r: r.cycles).name for op in ended}
    return LayoutChoice({op.name: 0 for op in problem.operations}, arrivals, endings)
