"""Which cell stands at a position: mappings by enumeration, the definition that everything else must meet.

Digits add up as positions: all digits of one expression that stand in one mapping, or in all mappings of one
tensor, are summed to one position of it, and it is read once, there (domain: section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Padding, Pair, Resize, Stride, axis_names

Ints = NDArray[np.int64]
LIVE = 0
OUT_OF_BOUNDS = 4
KIND_OF_PADDING = {Padding.TOP: 1, Padding.ZERO: 2, Padding.BOTTOM: 3}
KIND_NAMES = {1: "padding_top", 2: "padding_zero", 3: "padding_bottom", OUT_OF_BOUNDS: "out_of_bounds"}


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of an array of positions: `kind` is 0 where live, else a key of KIND_NAMES; `index` has a value
    per axis, valid where live (an axis that is absent stands at 0). All arrays broadcast to `kind.shape`.
    """

    kind: NDArray[np.int8]
    index: dict[str, Ints]

    def same_as(self, other: Cells) -> NDArray[np.bool_]:
        """True where both have the same cell."""
        same = np.asarray(self.kind == other.kind)
        live = np.asarray(self.kind == LIVE)
        for name in self.index.keys() | other.index.keys():
            zero = np.int64(0)
            same &= ~live | (self.index.get(name, zero) == other.index.get(name, zero))  # type: ignore[operator]
        return same


@dataclass(slots=True)
class Partial:
    """What mappings contribute before they are read: a sum of offsets per base expression, in reading order.

    `reads` maps a base expression (an axis, a padded one, a resized one, a pair) to its summed offset;
    insertion order is major first, and the first padding met wins. Expressions without an axis (`4 # 8`) have
    no identity to share, so each occurrence stands for itself under a number of its own.
    """

    reads: dict[tuple[Mapping, int], Ints] = field(default_factory=dict)
    out_of_bounds: NDArray[np.bool_] | None = None
    anonymous: int = 0

    def add(self, base: Mapping, offset: Ints) -> None:
        """Adds an offset to a base expression."""
        if not axis_names(base):
            self.anonymous += 1
            self.reads[base, self.anonymous] = offset
            return
        key = (base, 0)
        self.reads[key] = self.reads[key] + offset if key in self.reads else offset


def positions(*sizes: int) -> list[Ints]:
    """Open grids of positions, one per mapping, that broadcast against each other (as numpy.ix_)."""
    out = []
    for i, size in enumerate(sizes):
        shape = [1] * len(sizes)
        shape[i] = size
        out.append(np.arange(size, dtype=np.int64).reshape(shape))
    return out


def partial(parts: Sequence[tuple[Mapping, Ints]]) -> Partial:
    """Collects the contributions of several mappings of one tensor, each at its own positions."""
    out = Partial()
    for expr, at in parts:
        outside = (at < 0) | (at >= expr.size)
        if outside.any():
            out.out_of_bounds = outside if out.out_of_bounds is None else out.out_of_bounds | outside
        _walk(expr, at, out)
    return out


def resolve(collected: Partial) -> Cells:
    """Reads every base expression once, at its total, highest first, and gives the cells."""
    rank = {base: i for i, base in enumerate(collected.reads)}
    todo = Partial(dict(collected.reads), anonymous=collected.anonymous)
    kind: NDArray[np.int8] | None = None
    best: Ints | None = None
    index: dict[str, Ints] = {}
    while todo.reads:
        base = max(todo.reads, key=lambda key: _height(key[0]))
        at = todo.reads.pop(base)
        before = set(todo.reads)
        found = _read(base[0], at, todo, index)
        for new in todo.reads.keys() - before:
            rank.setdefault(new, rank[base])
        if found is None:
            continue
        if kind is None or best is None:
            kind, best = found, np.where(found != LIVE, rank[base], np.iinfo(np.int64).max)
            continue
        wins = (found != LIVE) & (rank[base] < best)
        kind = np.where(wins, found, kind).astype(np.int8)
        best = np.where(wins, rank[base], best)
    if kind is None:
        kind = np.zeros((), dtype=np.int8)
    if collected.out_of_bounds is not None:
        kind = np.where(collected.out_of_bounds, np.int8(OUT_OF_BOUNDS), kind)
    shape = np.broadcast_shapes(
        kind.shape, *(v.shape for v in index.values()), *(v.shape for v in collected.reads.values())
    )
    return Cells(np.broadcast_to(kind, shape), index)


def cells(expr: Mapping, at: Ints) -> Cells:
    """The cells of one mapping at the given positions."""
    return tensor_cells([(expr, at)])


def tensor_cells(parts: Sequence[tuple[Mapping, Ints]]) -> Cells:
    """The cells of a tensor whose mappings (Chip, Cluster, Slice, ..., in this order) stand at these positions."""
    found = resolve(partial(parts))
    shape = np.broadcast_shapes(found.kind.shape, *(at.shape for _, at in parts))
    return Cells(np.broadcast_to(found.kind, shape), found.index)


def all_cells(*exprs: Mapping) -> Cells:
    """Every cell of a tensor: an array with one dimension per mapping."""
    return tensor_cells(list(zip(exprs, positions(*(e.size for e in exprs)), strict=True)))


def _walk(expr: Mapping, at: Ints, out: Partial) -> None:
    """Follows a mapping down to the base expressions its digits belong to."""
    scale = 1
    while True:
        if isinstance(expr, Broadcast):
            return
        if isinstance(expr, Pair):
            if scale != 1:
                out.add(expr, at * scale)
                return
            _walk(expr.left, at // expr.right.size, out)
            expr, at = expr.right, at % expr.right.size
        elif isinstance(expr, Stride):
            expr, scale = expr.inner, scale * expr.n
            if isinstance(expr, Pair):
                out.add(expr, at * scale)
                return
        elif isinstance(expr, Modulo):
            expr = expr.inner
            if isinstance(expr, Pair):
                out.add(expr, at * scale)
                return
        else:
            out.add(expr, at * scale if scale != 1 else at)
            return


def _read(base: Mapping, at: Ints, todo: Partial, index: dict[str, Ints]) -> NDArray[np.int8] | None:
    """Reads one base expression at its total; gives the padding met there, None when there is none."""
    if isinstance(base, Axis):
        index[base.name] = at
        return _beyond(at, base.size, KIND_OF_PADDING[Padding.TOP])
    if isinstance(base, Pad):
        size = base.inner.size
        _walk(base.inner, np.minimum(at, size - 1), todo)
        return _beyond(at, size, KIND_OF_PADDING[base.kind])
    if isinstance(base, Resize):
        _walk(base.inner, np.minimum(at, base.n - 1), todo)
        return _beyond(at, base.n, KIND_OF_PADDING[Padding.TOP])
    assert isinstance(base, Pair)
    _walk(base, np.minimum(at, base.size - 1), todo)
    return _beyond(at, base.size, KIND_OF_PADDING[Padding.TOP])


def _beyond(at: Ints, size: int, kind: int) -> NDArray[np.int8] | None:
    over = at >= size
    return np.where(over, np.int8(kind), np.int8(LIVE)) if over.any() else None


def _height(e: Mapping) -> int:
    if isinstance(e, Axis | Broadcast):
        return 0
    if isinstance(e, Pair):
        return 1 + max(_height(e.left), _height(e.right))
    return 1 + _height(e.inner)
