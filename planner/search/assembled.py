"""A choice over a program as an ordinary kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.kernel import Kernel
from planner.program.operations import Node
from planner.search.fragment import Need, renamed
from planner.search.kernels import Assembly
from planner.search.laws import Place
from planner.search.options import Option
from planner.search.redistribute import COPY, SOURCE, TARGET
from planner.search.select import Selection
from solver.layouts import LayoutChoice, Spot


@dataclass(slots=True)
class Assembled:
    """Puts the chosen options together; `selection` is the problem that `choice` answers."""

    head: Kernel
    nodes: list[Node]
    selection: Selection
    chosen: Mapping[str, Option]
    choice: LayoutChoice
    out: Assembly = field(init=False)
    brought: dict[Spot, tuple[str, Place]] = field(default_factory=dict)
    named: dict[tuple[str, Place], str] = field(default_factory=dict)

    def kernel(self) -> Kernel:
        """The operations in program order; what several read at one place comes there once."""
        head = self.head
        self.out = Assembly(head.kernel, head.axes, head.tensors, head.hardware, head.description)
        for node in self.nodes:
            option = self.chosen[node.out.name]
            self.out.run(option.fragment, {n.buffer: self._buffer(n) for n in option.fragment.needs})
            self._ending(node.out.name, option)
        return self.out.kernel()

    def _ending(self, name: str, option: Option) -> None:
        if name not in self.choice.endings:
            return
        ending = option.endings[int(self.choice.endings[name])]
        if ending.move is not None:
            self.out.move(ending.move)
        self.out.store(ending.buffer or option.fragment.buffer, name)

    def _buffer(self, need: Need) -> str:
        """The name under which a tensor is read at a place, brought and relabelled at its first use."""
        spot = self.selection.spot(need)
        if spot not in self.brought:
            self.brought[spot] = self._bring(spot, need)
        buffer, place = self.brought[spot]
        if place == need.place or self._lies_there(spot):
            return buffer
        key = (need.tensor, need.place)
        if key not in self.named:
            self.out.relabel(buffer, need.place, need.buffer)
            self.named[key] = need.buffer
        return self.named[key]

    def _lies_there(self, spot: Spot) -> bool:
        return self.choice.arrivals[spot] == ""

    def _bring(self, spot: Spot, need: Need) -> tuple[str, Place]:
        producer, how = self.chosen.get(need.tensor), self.choice.arrivals[spot]
        if producer is not None and not how:
            return producer.fragment.buffer, producer.fragment.gives
        source = need.tensor if producer is None else producer.fragment.buffer
        names = {n.place for o in self.chosen.values() for n in o.fragment.needs if self.selection.spot(n) == spot}
        common = self.selection.places[spot]
        # A pass was judged for the common place and is kept to it.
        place = need.place if len(names) == 1 and (producer is None or how == COPY) else common
        buffer = need.buffer if place == need.place else f"{need.buffer}_any"
        if producer is None:
            self.out.load(source, place, buffer)
        elif how == COPY:
            self.out.copy(source, place, buffer)
        else:
            ways = self.selection.ways(need.tensor, producer.fragment.gives, common)
            op = next(w.op for w in ways if w.op is not None and w.name == how)
            self.out.move(renamed(op, {SOURCE: source, TARGET: buffer}, f"move_{buffer}"))
        return buffer, place
