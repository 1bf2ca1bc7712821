"""What the operations of a program need of a slice's memories at a time, and the fewest tiles that would do."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from models.hardware import Hardware
from planner.program.operations import Einsum, Node, Rows, Value
from planner.search.room import Room, is_held, least_room, rooms, trf_bytes
from planner.search.spec import bytes_of

MOST_CUTS_ASKED = 1024
"""Choices of tile sizes that are held against the layouts of a program at most."""


def spread_bytes(value: Value, sizes: Mapping[str, int], hardware: Hardware) -> int:
    """A slice's bytes of a value that lies over all slices of the chip, rounded down: no layout needs less of all."""
    units = hardware.geometry.slices_per_cluster * hardware.geometry.clusters_per_chip
    return prod(sizes[a] for a in value.axes) * bytes_of(value.dtype) // units


@dataclass(frozen=True, slots=True)
class Kept:
    """What an operation finds in DM and neither reads nor writes: made before it and read behind it, in any order.

    `files` are the register files from which some of it may be read, so that it need not lie in DM that long.
    """

    values: tuple[Value, ...] = ()
    files: frozenset[str] = frozenset()

    def dm_bytes(self, sizes: Mapping[str, int], hardware: Hardware) -> int:
        """A slice's bytes of it, at least: as if it lay over all slices, and the register files held nothing else."""
        room = {"vrf": hardware.vrf.bytes_per_slice, "trf": trf_bytes(hardware)}
        return max(0, _bytes(self.values, sizes, hardware) - sum(room[f] for f in self.files))


def kept_through(nodes: Sequence[Node]) -> dict[str, Kept]:
    """What is kept through each operation, by its result's name."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(n.out.name for n in nodes)
    made = {n.out.name: n for n in nodes}
    graph.add_edges_from((v.name, n.out.name) for n in nodes for v in n.reads if v.name in made)
    out = {}
    for node in nodes:
        name, own = node.out.name, {v.name for v in (*node.reads, node.out)}
        behind = nx.descendants(graph, name)
        kept = {v: behind & set(graph.successors(v)) for v in sorted(nx.ancestors(graph, name) - own)}
        kept = {v: readers for v, readers in kept.items() if readers}
        files = (_file(made[reader], v) for v, readers in kept.items() for reader in readers)
        out[name] = Kept(tuple(made[v].out for v in kept), frozenset(f for f in files if f))
    return out


def _file(reader: Node, value: str) -> str:
    """The register file from which an operation may read a tensor; none for what only streams."""
    if isinstance(reader, Einsum):
        return "trf"
    return "vrf" if any(value in p.operands for p in reader.passes) else ""


def program_rooms(nodes: Sequence[Node], sizes: Mapping[str, int], hardware: Hardware) -> list[tuple[Node, Room]]:
    """Each operation with its fullest memory, what is kept through it included as if it lay over all slices."""
    kept = kept_through(nodes)
    return [(n, least_room(n, sizes, hardware, kept[n.out.name].dm_bytes(sizes, hardware))) for n in nodes]


def has_room(node: Node, kept: Kept, sizes: Mapping[str, int], hardware: Hardware) -> bool:
    """Whether an operation has a layout that the memories hold beside what is kept through it."""
    beside_bytes = kept.dm_bytes(sizes, hardware)
    if not may_have_room(node, sizes, hardware, beside_bytes):
        return False
    return any(map(is_held, rooms(node, sizes, hardware, beside_bytes)))


def may_have_room(node: Node, sizes: Mapping[str, int], hardware: Hardware, beside_bytes: int) -> bool:
    """What has_room says, or yes: from the bytes alone, whatever digits the axes have."""
    if isinstance(node, Rows):
        return _bytes({*node.reads, node.out}, sizes, hardware) + beside_bytes <= hardware.dm.bytes_per_slice
    shares = _shares(hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip)
    left, right, out = (_least_bytes(node, v, sizes, shares) for v in (node.left, node.right, node.out))
    in_dm = left + right + out + beside_bytes <= hardware.dm.bytes_per_slice
    in_trf = np.minimum(left, right) <= trf_bytes(hardware)
    return bool((in_dm & in_trf).any())


def _least_bytes(
    node: Einsum, value: Value, sizes: Mapping[str, int], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A slice's bytes of a tensor, at least, for each row of shares: floats, which huge axes do not overflow."""
    kinds = [[a for a in value.axes if _kind(node, a) == kind] for kind in range(len(_KINDS))]
    total = np.full(len(shares), float(bytes_of(value.dtype)))
    for kind, axes in enumerate(kinds):
        if axes:
            total *= np.ceil(float(prod(sizes[a] for a in axes)) / shares[:, kind])
    return total


_KINDS = (("left", "right", "out"), ("left", "out"), ("right", "out"), ("left", "right"))
"""Axes of a contraction by the tensors that have them: batch, of one operand, of the other, summed."""


def _kind(node: Einsum, axis: str) -> int:
    has = tuple(n for n, v in (("left", node.left), ("right", node.right), ("out", node.out)) if axis in v.axes)
    return _KINDS.index(has)


@lru_cache(maxsize=8)
def _shares(slices: int, clusters: int) -> NDArray[np.float64]:
    """Every way to share slices and clusters among the four kinds: powers of two; no clusters for what is summed."""
    powers = [1 << k for k in range(slices.bit_length())]
    found = [s for s in product(powers, repeat=len(_KINDS)) if prod(s) <= slices]
    over = [tuple(n * (clusters if i == c else 1) for i, n in enumerate(s)) for s in found for c in range(3)]
    return np.array(over, dtype=np.float64)


def _bytes(values: Iterable[Value], sizes: Mapping[str, int], hardware: Hardware) -> int:
    return sum(spread_bytes(v, sizes, hardware) for v in values)


# Tiles ------------------------------------------------------------------------------------------------------


def fewest_tiles(
    axes: Sequence[str], sizes: Mapping[str, int], fits: Callable[[dict[str, int]], bool]
) -> dict[str, int] | None:
    """The tile sizes of some axes with the fewest tiles in all that fit; fewer axes, then longer ones, among equals.

    `fits` gets the sizes of all axes. None where no tiles fit, or none were found among so many.
    """
    order = sorted((a for a in axes if sizes[a] > 1), key=lambda a: -sizes[a])
    cuts = [shares(sizes[a]) for a in order]
    heap = [(1, 0, (0,) * len(order))]
    asked = 0
    while heap and asked < MOST_CUTS_ASKED:
        _, _, at = heapq.heappop(heap)
        cut = {a: c[-i] for a, c, i in zip(order, cuts, at, strict=True)}
        asked += 1
        if fits({**sizes, **cut}):
            return {a: size for a, size in cut.items() if size < sizes[a]}
        # Only axes from the last one that is cut on: each choice is met once.
        first = max((i for i, step in enumerate(at) if step), default=0)
        for i in range(first, len(order)):
            if -at[i] + 1 < len(cuts[i]):
                more = (*at[:i], at[i] - 1, *at[i + 1 :])
                tiles = prod(-(-sizes[a] // c[-k]) for a, c, k in zip(order, cuts, more, strict=True))
                heapq.heappush(heap, (tiles, sum(map(bool, more)), more))
    return None


def shares(size: int) -> tuple[int, ...]:
    """Tile sizes of an axis, the largest first: its divisors, and halves rounded up where it is odd."""
    found, half = {d for n in range(1, int(size**0.5) + 1) if size % n == 0 for d in (n, size // n)}, size
    while half > 1:
        half = -(-half // 2)
        found.add(half)
    return tuple(sorted(found, reverse=True))
