"""A program in tiles: the best kernel of a part of an axis, repeated by a loop over all parts.

What does not depend on the axis is done once, before the loop. The planner overlaps transfers of one tile with passes
of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from models.hardware import Hardware
from models.kernel import DmaOp, Kernel, LoopOp, Op, PassOp, ReshapeOp, Tensor, Tile
from planner.passes import target
from planner.program.operations import Node, Rows
from planner.search import bounds
from planner.search.fragment import touched
from planner.search.kernels import Judged, judge
from planner.search.program_room import has_room, kept_through
from planner.search.single import Found
from planner.search.spec import bytes_of
from solver import Options

LOOP = "tile"
"""Name of the loop variable."""
MOST_TILES = 64
"""Iterations of a loop: each is planned for itself."""
MOST_SIZES = 3
"""Tile sizes of an axis that are searched: the largest that fits, and smaller ones, each at least halved."""
_MAPPINGS = frozenset({"chip", "cluster", "slice", "lane", "element", "time", "packet"})
_NARROWINGS = frozenset({"narrow_trim", "narrow_split", "widen_pad", "widen_concat"})
Search = Callable[[Kernel, float], Kernel | None]
"""The search of the program over other axis sizes, within a time: the best kernel."""


@dataclass(slots=True)
class TiledSearch:
    """Searches an axis and a tile size for a program that no slices hold whole; `head` has no operations."""

    nodes: Sequence[Node]
    head: Kernel
    hardware: Hardware
    options: Options
    search: Search
    asked: dict[str, int] = field(default_factory=lambda: {"tiles": 0, "plans": 0})

    def run(self, seconds: float) -> Found:
        """The best loop; `proved` holds for the kernels of a tile alone, so it is never claimed here."""
        sizes = sorted((self._floor(a, n), a, n) for a in self._axes() for n in self._sizes(a))
        best: Judged | None = None
        for floor, axis, size in sizes:
            if best is not None and floor >= (best.makespan or 0):
                break
            self.asked["tiles"] += 1
            part = self.search(self._part(axis, size), seconds / len(sizes))
            if part is None:
                continue
            self.asked["plans"] += 1
            judged = judge(looped(part, self.head, axis, size), self.hardware, self.options)
            if judged is not None and (best is None or (judged.makespan or 0) < (best.makespan or 0)):
                best = judged
        return Found(best, min((f for f, _, _ in sizes), default=0), False, self.asked)

    def _axes(self) -> tuple[str, ...]:
        """Axes along which the parts know nothing of each other: nothing sums or reduces them."""
        every = dict.fromkeys(a for n in self.nodes for a in n.out.axes)
        reduced = {a for n in self.nodes for a in _reduced(n)}
        return tuple(a for a in every if a not in reduced)

    def _part(self, axis: str, size: int) -> Kernel:
        return self.head.model_copy(update={"axes": {**self.head.axes, axis: size}})

    def _sizes(self, axis: str) -> Iterator[int]:
        """Tile sizes that fit, the largest first; none where the axis is padded or cut as it lies in HBM."""
        if not all(_lies_plainly(t, axis) for t in self.head.tensors.values()):
            return
        whole, last, found = self.head.axes[axis], None, 0
        for tiles in range(2, min(whole, MOST_TILES) + 1):
            if whole % tiles or (last is not None and 2 * (whole // tiles) > last) or found == MOST_SIZES:
                continue
            if self._has_room({**self.head.axes, axis: whole // tiles}):
                last, found = whole // tiles, found + 1
                yield last

    def _has_room(self, sizes: dict[str, int]) -> bool:
        kept = kept_through(self.nodes)
        return all(has_room(n, kept[n.out.name], sizes, self.hardware) for n in self.nodes)

    def _floor(self, axis: str, size: int) -> int:
        """The frame, and the transfers of all tiles one after the other on their one context."""
        dma, total, tiles = self.hardware.dma, bounds.frame_cycles(self.hardware), self.head.axes[axis] // size
        for tensor in self.head.tensors.values():
            names = set(re.findall(r"[A-Z]\w*", tensor.element)) & self.head.axes.keys()
            often = tiles if axis in names else 1
            size_bytes = prod(self.head.axes[a] for a in names) * bytes_of(tensor.dtype) // often
            base = dma.load_base_cycles if tensor.role == "input" else dma.store_base_cycles
            least = min(base, dma.single_slice_base_cycles)
            total += often * bounds.transfer_floor(self.hardware, size_bytes, least)
        return total


def _reduced(node: Node) -> set[str | None]:
    """The axes that an operation reduces or sums."""
    if isinstance(node, Rows):
        return {p.reduced for p in node.passes}
    return {a for v in node.reads for a in v.axes if a not in node.out.axes}


def _lies_plainly(tensor: Tensor, axis: str) -> bool:
    """Whether an axis stands in HBM without padding or cuts, or not at all."""
    return not re.search(rf"\b{axis}\s*[/%=#]", tensor.element)


# The loop ---------------------------------------------------------------------------------------------------


def looped(part: Kernel, head: Kernel, axis: str, size: int) -> Kernel:
    """The kernel of one tile repeated over all of `axis`, whose tile has `size` positions."""
    before: list[Op] = []
    inside: list[Op] = []
    changing = {n for n, t in head.tensors.items() if axis in re.findall(r"\w+", t.element)}
    for op in part.ops:
        assert not isinstance(op, LoopOp)
        moved = _in_digits(op, axis, size)
        if changing & _reads(op):
            changing.add(_writes(op))
            inside.append(_over_tiles(moved, head, axis, size))
        else:
            before.append(moved)
    loop = LoopOp(name=LOOP, count=head.axes[axis] // size, ops=tuple(inside))
    return head.model_copy(update={"ops": (*before, loop)})


def _reads(op: DmaOp | PassOp | ReshapeOp) -> frozenset[str]:
    if isinstance(op, ReshapeOp):
        return frozenset({op.of})
    return touched(op) if isinstance(op, PassOp) else frozenset({_name(op.read)})


def _writes(op: DmaOp | PassOp | ReshapeOp) -> str:
    if isinstance(op, ReshapeOp):
        return op.name
    return _name(op.write if isinstance(op, DmaOp) else target(op))


def _name(place: str | Tile) -> str:
    return place if isinstance(place, str) else place.tensor


def _over_tiles(op: Op, head: Kernel, axis: str, size: int) -> Op:
    """A transfer from or to HBM takes the tile of its tensor."""
    if not isinstance(op, DmaOp):
        return op

    def tile(place: str | Tile) -> str | Tile:
        name = _name(place)
        tensor = head.tensors.get(name)
        if tensor is None or axis not in re.findall(r"\w+", tensor.element):
            return place
        return Tile(tensor=name, tile=f"{axis} / {size}", length=1, start=LOOP)

    return op.model_copy(update={"read": tile(op.read), "write": tile(op.write)})


def _in_digits(op: Op, axis: str, size: int) -> Op:
    """The axis of a tile as what it is: the inner digit of the whole axis."""

    def text(value: str) -> str:
        return re.sub(rf"\b{axis}\b", f"{axis} % {size}", value)

    def walk(value: object, key: str, owner: dict[str, object]) -> object:
        if isinstance(value, dict):
            return {k: walk(v, k, value) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [walk(v, key, owner) for v in value]
        is_mapping = key in _MAPPINGS or (key == "value" and owner.get("name") in _NARROWINGS)
        return text(value) if is_mapping and isinstance(value, str) else value

    return type(op).model_validate(walk(op.model_dump(by_alias=True), "", {}))
