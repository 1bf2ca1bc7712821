"""Why a program has no layout: what its operation needs of a slice, what there is, and the tile that would fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from models.faults import Fault
from models.hardware import Hardware
from planner.program.operations import Node
from planner.readers.source import KernelSource
from planner.search.laws import Laws, Place
from planner.search.options import Finder
from planner.search.program_room import Kept, fewest_tiles, has_room, kept_through, program_rooms
from planner.search.room import Room, gap, is_held


def why_not(source: KernelSource, hardware: Hardware) -> list[Fault]:
    """A fault for each operation that the memories do not hold; where they hold all, for each without a layout."""
    return WhyNot(source, hardware).faults()


@dataclass(slots=True)
class WhyNot:
    """Looks for what a program without a kernel lacks."""

    source: KernelSource
    hardware: Hardware
    sizes: dict[str, int] = field(init=False)
    kept: dict[str, Kept] = field(init=False)

    def __post_init__(self) -> None:
        """Takes the axes of the file."""
        self.sizes = dict(self.source.kernel.axes)
        self.kept = kept_through(self.source.program)

    def faults(self) -> list[Fault]:
        """One at least."""
        rooms = program_rooms(self.source.program, self.sizes, self.hardware)
        too_large = [self._too_large(node, room) for node, room in rooms if not is_held(room)]
        illegal = [fault for node in self.source.program if (fault := self._illegal(node)) is not None]
        return too_large or illegal or [self._fullest(*max(rooms, key=lambda r: gap(r[1])))]

    def _too_large(self, node: Node, room: Room) -> Fault:
        (need, have, where), kept = room, [v.name for v in self.kept[node.out.name].values]
        beside = f", what is made before and read behind it included ({', '.join(kept)})" if kept else ""
        fault = Fault(
            rule="program_does_not_fit",
            message=f"the operation needs {need:,} bytes of a slice's {where}, {gap(room):,} more than it has{beside}",
            found=f"{need:,} bytes",
            wanted=f"at most {have:,} bytes",
            nearest=self._tiles(node),
        )
        return self._at(node, fault)

    def _tiles(self, node: Node) -> str:
        """The fewest tiles of which one has room and a legal layout."""
        axes = tuple(dict.fromkeys(a for v in (node.out, *node.reads) for a in v.axes))
        tiles = fewest_tiles(axes, self.sizes, partial(self._fits, node))
        if tiles is None:
            return ""
        cut = (f"axis {a} in {-(-self.sizes[a] // size):,} tiles of {size:,}" for a, size in tiles.items())
        return ", ".join(cut)

    def _fits(self, node: Node, sizes: dict[str, int]) -> bool:
        if not has_room(node, self.kept[node.out.name], sizes, self.hardware):
            return False
        # A tile of a tensor lies in HBM as its axes do, without the padding and the cuts of the whole.
        declared = self.source.kernel.tensors.keys()
        hbm = {v.name: Place(", ".join(v.axes) or "1") for v in (*node.reads, node.out) if v.name in declared}
        return bool(self._finder(sizes, hbm).options(node))

    def _finder(self, sizes: dict[str, int], hbm: dict[str, Place]) -> Finder:
        outputs = frozenset(n for n, t in self.source.kernel.tensors.items() if t.role == "output")
        return Finder(Laws(self.hardware, sizes), hbm, outputs, most=1)

    def _illegal(self, node: Node) -> Fault | None:
        finder = self._finder(self.sizes, {name: Place(t.element) for name, t in self.source.kernel.tensors.items()})
        if finder.options(node):
            return None
        rules = ", ".join(f"{rule} ({n})" for rule, n in sorted(finder.refused.items(), key=lambda r: -r[1]))
        none = "no layout that is searched has its result where the file states it"
        message = f"none of {finder.asked} layouts is legal" if finder.asked else none
        fault = Fault(rule="program_no_layout", message=message, found=rules, wanted="a legal layout")
        return self._at(node, fault)

    def _fullest(self, node: Node, room: Room) -> Fault:
        need, have, where = room
        fault = Fault(
            rule="program_no_layout",
            message="each operation has layouts, no kernel of them was found that has a plan; this one needs most room",
            found=f"at least {need:,} bytes of a slice's {where}",
            wanted=f"at most {have:,} bytes",
        )
        return self._at(node, fault)

    def _at(self, node: Node, fault: Fault) -> Fault:
        s = node.statement
        return fault.model_copy(update={"file": self.source.path, "line": s.line, "column": s.column, "op": s.name})
