"""Where the cells of a plan stand: units, and the identity of every position, by enumeration (domain: section 1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells, Partial, cells, partial, resolve, tensor_cells
from models.mapping import Axis, Broadcast, Mapping, Pad, Pair, Resize, axis_names, nodes
from models.parse import parse

Ints = NDArray[np.int64]
Parts = list[tuple[Mapping, Ints]]
Swaps = dict[Mapping, Axis]
Move = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Units:
    """The units that hold data: every live position of Chip and Cluster, with all slices of each.

    A flow over S slices has `len(chip) * S` units, slices innermost.
    """

    chip: Ints
    cluster: Ints
    slices: int

    @property
    def groups(self) -> int:
        """How many clusters take part, over all chips."""
        return len(self.chip)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which cell stands at every position of an array.

    `kind` is 0 where a cell is live; `index` gives every axis as parts whose sum is the index. All arrays have the
    same number of dimensions and broadcast to the array they describe, so an axis that only the units carry costs
    no more than the units.
    """

    kind: NDArray[np.int8]
    index: dict[str, tuple[Ints, ...]]

    def moved(self, move: Move, kind_move: Move | None = None) -> Identity:
        """The identity after a rearrangement, which must cope with dimensions of size 1."""
        moved = {name: tuple(move(part) for part in parts) for name, parts in self.index.items()}
        return Identity((kind_move or move)(self.kind), moved)

    def total(self, axis: str) -> Ints:
        """The index along one axis, its parts added up."""
        return reduce(np.add, self.index[axis])

    def only(self, axes: Collection[str]) -> Identity:
        """The identity along some axes; along the others the array holds copies."""
        return Identity(self.kind, {name: parts for name, parts in self.index.items() if name in axes})

    def live(self) -> bool:
        """Whether no position is padding."""
        return not self.kind.any()


def lean(array: NDArray[Any]) -> NDArray[Any]:
    """Drops broadcast dimensions (stride 0) to size 1."""
    picks = tuple(
        slice(0, 1) if step == 0 and size > 1 else slice(None)
        for step, size in zip(array.strides, array.shape, strict=True)
    )
    return array[picks]


class Layouts:
    """Parses and enumerates the mappings of one plan, each once."""

    def __init__(self, axes: dict[str, int], units: Units) -> None:
        self.axes, self.units = axes, units
        self._parsed: dict[str, Mapping] = {}
        self._identities: dict[tuple[object, ...], Identity] = {}
        self._inner: dict[tuple[str, ...], Cells] = {}

    def mapping(self, text: str) -> Mapping:
        """The parsed mapping of a text."""
        if text not in self._parsed:
            self._parsed[text] = parse(text or "1", self.axes)
        return self._parsed[text]

    def size(self, text: str) -> int:
        """Positions of a mapping."""
        return self.mapping(text).size

    def axes_with(self, names: Iterable[str]) -> dict[str, int]:
        """Axis sizes, with those of the axes that stand for padded expressions (`<A # 12>`)."""
        return self.axes | {n: self.size(n[1:-1]) for n in names if n.startswith("<")}

    def identity(
        self,
        spatial: tuple[str, str, str],
        inner: tuple[str, ...],
        offset: tuple[str, int] | None = None,
        swaps: Swaps | None = None,
    ) -> Identity:
        """Cells of Chip, Cluster, Slice and further levels: dimensions [units, one per inner level].

        `offset` adds a position of another mapping, such as the start of a tile, to every position; `swaps` replaces
        padded expressions by axes, so that their padding has an identity too.
        """
        key = (spatial, inner, offset, tuple(swaps or ()))
        if key not in self._identities:
            exprs = [swapped(self.mapping(t), swaps) for t in spatial]
            at = self._unit_positions(exprs[2].size, len(inner))
            outside = list(zip(exprs, at, strict=True))
            self._identities[key] = self._enumerate(outside, inner, offset, swaps)
        return self._identities[key]

    def plain_identity(
        self, levels: tuple[str, ...], offset: tuple[str, int] | None = None, swaps: Swaps | None = None
    ) -> Identity:
        """Cells of a tensor without units, such as one in HBM: one dimension per level, Chip first."""
        key = (levels, offset, tuple(swaps or ()))
        if key not in self._identities:
            chip = swapped(self.mapping(levels[0]), swaps)
            at = np.arange(chip.size, dtype=np.int64).reshape(-1, *([1] * (len(levels) - 1)))
            self._identities[key] = self._enumerate([(chip, at)], levels[1:], offset, swaps)
        return self._identities[key]

    def inner(self, *texts: str) -> Cells:
        """Cells of mappings without units, one dimension each."""
        if texts not in self._inner:
            self._inner[texts] = tensor_cells(self._grids(texts, 0))
        return self._inner[texts]

    def _grids(self, texts: tuple[str, ...], before: int, swaps: Swaps | None = None) -> Parts:
        dimensions = before + len(texts)
        out = []
        for i, text in enumerate(texts):
            expr = swapped(self.mapping(text), swaps)
            shape = [1] * dimensions
            shape[before + i] = expr.size
            out.append((expr, np.arange(expr.size, dtype=np.int64).reshape(shape)))
        return out

    def _unit_positions(self, slices: int, dimensions: int) -> list[Ints]:
        shape = (-1, *([1] * dimensions))
        at = np.arange(self.units.groups * slices, dtype=np.int64)
        group = at // slices
        return [
            self.units.chip[group].reshape(shape),
            self.units.cluster[group].reshape(shape),
            (at % slices).reshape(shape),
        ]

    def _enumerate(
        self, outside: Parts, inner: tuple[str, ...], offset: tuple[str, int] | None, swaps: Swaps | None
    ) -> Identity:
        inside = self._grids(inner, 1, swaps)
        if offset is not None:
            at = np.full((1,) * (1 + len(inner)), offset[1], dtype=np.int64)
            inside.append((swapped(self.mapping(offset[0]), swaps), at))
        return _additive(outside, inside) or _whole(outside + inside)


def swapped(expr: Mapping, swaps: Swaps | None) -> Mapping:
    """Replaces whole expressions by axes."""
    if not swaps:
        return expr
    if expr in swaps:
        return swaps[expr]
    if isinstance(expr, Pair):
        return Pair(swapped(expr.left, swaps), swapped(expr.right, swaps))
    if isinstance(expr, Axis | Broadcast):
        return expr
    return replace(expr, inner=swapped(expr.inner, swaps))


def _whole(parts: Parts) -> Identity:
    found = tensor_cells(parts)
    dimensions = found.kind.ndim
    index: dict[str, tuple[Ints, ...]] = {}
    for name, at in found.index.items():
        index[name] = (lean(at.reshape((1,) * (dimensions - at.ndim) + at.shape)),)
    return Identity(lean(found.kind), index)


def _additive(outside: Parts, inside: Parts) -> Identity | None:
    """The cheap form, where the units' share of every index and the inner levels' share may be read apart."""
    index: dict[str, tuple[Ints, ...]] = {}
    top: dict[str, int] = {}
    met = partial(outside), partial(inside)
    if not _apart(*met):
        return None
    dimensions = outside[0][1].ndim
    for side in met:
        found = resolve(side)
        if found.kind.any():
            return None
        for name, at in found.index.items():
            full = lean(at.reshape((1,) * (dimensions - at.ndim) + at.shape))
            index[name] = (*index.get(name, ()), full)
            top[name] = top.get(name, 0) + int(at.max())
    sizes = {n.name: n.size for expr, _ in outside + inside for n in nodes(expr) if isinstance(n, Axis)}
    if any(top[name] >= sizes[name] for name in top):
        return None
    return Identity(np.zeros((1,) * dimensions, dtype=np.int8), index)


def _apart(*sides: Partial) -> bool:
    """Whether no expression but a bare axis gets digits from both sides, directly or from inside another one."""
    bases: list[set[Mapping]] = []
    for side in sides:
        if side.out_of_bounds is not None:
            return False
        found: set[Mapping] = {b for b, _ in side.reads if axis_names(b) and not isinstance(b, Axis)}
        if any(isinstance(n, Pair | Pad | Resize) for base in found for n in list(nodes(base))[1:]):
            return False
        bases.append(found)
    return not bases[0] & bases[1]


def find_units(axes: dict[str, int], levels: Iterable[tuple[str, str]], slices: int) -> Units:
    """Collects the live positions of every (Chip, Cluster) that a plan mentions; padding holds nothing."""
    live: set[tuple[int, int]] = set()
    for chip_text, cluster_text in set(levels):
        chips = _live_positions(parse(chip_text, axes))
        clusters = _live_positions(parse(cluster_text, axes))
        live.update((x, y) for x in chips for y in clusters)
    order = np.array(sorted(live) or [(0, 0)], dtype=np.int64)
    return Units(order[:, 0], order[:, 1], slices)


def _live_positions(expr: Mapping) -> list[int]:
    found = cells(expr, np.arange(expr.size, dtype=np.int64))
    return [int(i) for i in np.flatnonzero(found.kind == LIVE)]


_MOST_TABLE = 1 << 24


@dataclass(frozen=True)
class Catalogue:
    """Positions of cells by their number; a position of -1 means that the cell stands nowhere.

    `known` is None for a direct table; where the numbers are too many for one, the numbers in ascending order.
    """

    axes: tuple[str, ...]
    sizes: dict[str, int]
    table: NDArray[np.int32]
    known: Ints | None

    @classmethod
    def of(cls, identity: Identity, axes: tuple[str, ...], sizes: dict[str, int], shape: tuple[int, ...]) -> Catalogue:
        """Enters every live position of an array of that shape, counted in C order; of equal cells the last."""
        numbers = np.broadcast_to(numbered(identity, axes, sizes), shape).ravel()
        at = np.arange(numbers.size, dtype=np.int32)
        if not identity.live():
            keep = np.broadcast_to(identity.kind == LIVE, shape).ravel()
            numbers, at = numbers[keep], at[keep]
        count = prod(sizes[a] for a in axes)
        if count > max(_MOST_TABLE, numbers.size):
            known, last = np.unique(numbers[::-1], return_index=True)
            return cls(axes, sizes, at[::-1][last], known.astype(np.int64))
        table = np.full(count, -1, dtype=np.int32)
        table[numbers] = at
        return cls(axes, sizes, table, None)

    @property
    def entries(self) -> int:
        """How many different cells are known."""
        return int((self.table >= 0).sum())

    def find(self, identity: Identity) -> NDArray[np.int32]:
        """The position of every cell of another array; -1 where it is padding or stands nowhere."""
        found = self.at(numbered(identity, self.axes, self.sizes))
        return found if identity.live() else np.where(identity.kind == LIVE, found, np.int32(-1))

    def at(self, numbers: NDArray[Any]) -> NDArray[np.int32]:
        """The positions of numbered cells."""
        if self.known is None:
            return np.asarray(self.table[numbers])
        if len(self.known) == 0:
            return np.full(numbers.shape, -1, dtype=np.int32)
        near = np.minimum(np.searchsorted(self.known, numbers), len(self.known) - 1)
        return np.where(self.known[near] == numbers, self.table[near], np.int32(-1))


def numbered(identity: Identity, axes: tuple[str, ...], sizes: dict[str, int]) -> NDArray[Any]:
    """One number per cell: the mixed radix of its index along the given axes; an absent axis stands at 0.

    Padding may give any number in range. int32 where that holds them all, else int64.
    """
    count = prod(sizes[a] for a in axes)
    width: type[np.signedinteger[Any]] = np.int32 if count <= np.iinfo(np.int32).max else np.int64
    out: NDArray[Any] = np.zeros((1,) * identity.kind.ndim, dtype=width)
    radix = 1
    for axis in reversed(axes):
        for part in identity.index.get(axis, ()):
            out = out + part.astype(width) * width(radix)
        radix *= sizes[axis]
    if not identity.live():
        out = np.clip(out, 0, count - 1)
    return out
