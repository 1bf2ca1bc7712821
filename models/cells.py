"""Which cell stands at a position: mappings by enumeration, the definition that everything else must meet.

Digits add up as positions: all digits of one expression that stand in one mapping, or in all mappings of one
tensor, are summed to one position of it, and it is read once, there (domain: section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.mapping import Axis, Broadcast, Mapping, Pad, Padding, Pair, Resize, axis_names, height, terms
from models.tidy import as_digit, tidy

Ints = NDArray[np.int64]
Rank = tuple[int, ...]
Key = tuple[Mapping, int]
LIVE = 0
OUT_OF_BOUNDS = 4
KIND_OF_PADDING = {Padding.TOP: 1, Padding.ZERO: 2, Padding.BOTTOM: 3}
KIND_NAMES = {1: "padding_top", 2: "padding_zero", 3: "padding_bottom", OUT_OF_BOUNDS: "out_of_bounds"}


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of an array of positions.

    `kind` is 0 where live, else a key of KIND_NAMES; `index` has a value per axis, valid where live (an axis
    that is absent stands at 0). All arrays broadcast to `kind.shape`.
    """

    kind: NDArray[np.int8]
    index: dict[str, Ints]

    def same_as(self, other: Cells) -> NDArray[np.bool_]:
        """True where both have the same cell."""
        same = np.asarray(self.kind == other.kind)
        live = np.asarray(self.kind == LIVE)
        for name in self.index.keys() | other.index.keys():
            zero = np.int64(0)
            same &= ~live | (self.index.get(name, zero) == other.index.get(name, zero))
        return same


@dataclass(slots=True)
class Partial:
    """What mappings contribute before they are read: a sum of offsets per base expression, in reading order.

    `reads` maps a base expression (an axis, a padded one, a resized one, a pair) to its summed offset and
    `ranks` to the place where it was first met, a path: the padding met at the least path wins, so the major
    part beats the minor one and what encloses beats what it encloses. Expressions without an axis (`4 # 8`)
    have no identity to share, so each occurrence stands for itself under a number of its own.
    """

    reads: dict[Key, Ints] = field(default_factory=dict)
    ranks: dict[Key, Rank] = field(default_factory=dict)
    out_of_bounds: NDArray[np.bool_] | None = None
    met: int = 0

    def add(self, base: Mapping, offset: Ints, parent: Rank = ()) -> None:
        """Adds an offset to a base expression, met directly or inside the base of rank `parent`."""
        self.met += 1
        key = (base, 0 if axis_names(base) else self.met)
        rank = (*parent, self.met)
        self.reads[key] = self.reads[key] + offset if key in self.reads else offset
        self.ranks[key] = min(rank, self.ranks.get(key, rank))


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
        _walk(tidy(expr), at, out, ())
    return out


def resolve(collected: Partial) -> Cells:
    """Reads every base expression once, at its total, highest first, and gives the cells.

    `collected` is used up.
    """
    index: dict[str, Ints] = {}
    paddings: list[tuple[Rank, NDArray[np.int8]]] = []
    shapes = [v.shape for v in collected.reads.values()]
    while collected.reads:
        key = max(collected.reads, key=lambda k: height(k[0]))
        at, rank = collected.reads.pop(key), collected.ranks[key]
        found = _read(key[0], at, collected, rank, index)
        if found is not None:
            paddings.append((rank, found))
    kind: NDArray[np.int8] = np.zeros((), dtype=np.int8)
    for _, found in sorted(paddings, key=lambda p: p[0]):
        kind = np.where(kind == LIVE, found, kind)
    if collected.out_of_bounds is not None:
        kind = np.where(collected.out_of_bounds, np.int8(OUT_OF_BOUNDS), kind)
    shape = np.broadcast_shapes(kind.shape, *shapes)
    return Cells(np.broadcast_to(kind, shape), index)


def cells(expr: Mapping, at: Ints) -> Cells:
    """The cells of one mapping at the given positions."""
    return tensor_cells([(expr, at)])


def tensor_cells(parts: Sequence[tuple[Mapping, Ints]]) -> Cells:
    """The cells of a tensor whose mappings (Chip, Cluster, Slice, ..., in this order) stand at `parts`."""
    found = resolve(partial(parts))
    shape = np.broadcast_shapes(found.kind.shape, *(at.shape for _, at in parts))
    return Cells(np.broadcast_to(found.kind, shape), found.index)


def all_cells(*exprs: Mapping) -> Cells:
    """Every cell of a tensor: an array with one dimension per mapping."""
    return tensor_cells(list(zip(exprs, positions(*(e.size for e in exprs)), strict=True)))


def _walk(expr: Mapping, at: Ints, out: Partial, parent: Rank) -> None:
    """Follows a tidy mapping down to the base expressions its digits belong to."""
    parts = terms(expr)
    below = expr.size
    for part in parts:
        below //= part.size
        base, stride, _ = as_digit(part)
        if isinstance(base, Broadcast):
            continue
        here = at if len(parts) == 1 else at // below % part.size
        out.add(base, here if stride == 1 else here * stride, parent)


def _read(base: Mapping, at: Ints, todo: Partial, rank: Rank, index: dict[str, Ints]) -> NDArray[np.int8] | None:
    """Reads one base expression at its total; gives the padding met there, None when there is none."""
    if isinstance(base, Axis):
        index[base.name] = at
        return _beyond(at, base.size, KIND_OF_PADDING[Padding.TOP])
    inner = base if isinstance(base, Pair | Axis | Broadcast) else base.inner
    live = base.n if isinstance(base, Resize) else inner.size
    # where the base is padding it names no cell, so it adds nothing to what it encloses
    _walk(inner, np.where(at < live, at, 0), todo, rank)
    return _beyond(at, live, KIND_OF_PADDING[base.kind if isinstance(base, Pad) else Padding.TOP])


def _beyond(at: Ints, size: int, kind: int) -> NDArray[np.int8] | None:
    over = at >= size
    return np.where(over, np.int8(kind), np.int8(LIVE)) if over.any() else None
