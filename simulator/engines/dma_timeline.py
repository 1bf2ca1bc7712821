"""What a transfer's timeline needs to know: for every element of the walked side, its places at the other side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.plan import MemoryEntry
from simulator.layouts import Catalogue, Identity, Units, numbered
from simulator.memories import Block

Positions = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a transfer: cells and values as [rows, elements]; rows are units, or chips for HBM.

    `laid` are the cells as the layout names them; of `cells` only the axes that its data has tell copies apart.
    """

    cells: Identity
    laid: Identity
    shape: tuple[int, int]
    block: Block | None
    dtype: str
    entry: MemoryEntry | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A transfer for the timeline: for every element of the walked side [units, elements] its position at the other
    side, -1 where it takes no part. The walked side is the DM side; of a copy, the destination. Where the destination
    of a store has several places for an element, the walk is told once for each, one after the other.

    `chip` says where each unit is (None: on one chip); chips have engines and HBM of their own. Of a copy between data
    memories the positions count through the slices, `read_width` elements each; else that is 0.
    """

    at: Positions
    dtype: str
    chip: NDArray[np.int64] | None = None
    read_width: int = 0

    def by_chip(self) -> Iterator[Moved]:
        """What moves on each chip."""
        if self.chip is None:
            yield self
            return
        for chip in np.unique(self.chip):
            yield Moved(self.at[self.chip == chip], self.dtype, None, self.read_width)


def for_timeline(units: Units, sizes: dict[str, int], source: Side, target: Side, at: Positions | None) -> Moved:
    """Where the elements of a transfer stand at its other side; `sizes` are those of all axes.

    `at` are the source's positions for the target where the source holds no cell twice. Reads take the first of
    several copies. Layouts tell copies apart: along an axis that the data lacks every unit writes, or is read for, a
    place of its own.
    """
    if source.entry is not None and target.entry is None:
        return _stored(units, sizes, source, target)
    axes = tuple(a for a in source.laid.index if a in target.laid.index)
    if at is None or any(a not in source.cells.index or a not in target.cells.index for a in axes):
        first = _catalogues(source.laid, axes, sizes, source.shape)[0]
        at = np.broadcast_to(first.find(Identity(target.cells.kind, target.laid.index)), target.shape)
    if source.entry is None:
        return Moved(np.where(at < 0, at, at % source.shape[1]), source.dtype, _chips(units, target))
    return Moved(_on_own_chip(units, source, at), source.dtype, _chips(units, target), source.shape[1])


def _stored(units: Units, sizes: dict[str, int], source: Side, target: Side) -> Moved:
    axes = tuple(a for a in source.laid.index if a in target.laid.index)
    chips, parts = _chips(units, source), []
    for chip in np.unique(chips):
        rows = np.flatnonzero(chips == chip)
        here, there = _rows(source.laid, rows), _rows(target.cells, np.array([min(chip, target.shape[0] - 1)]))
        found = _catalogues(there, axes, sizes, (1, target.shape[1]))
        parts.append([np.broadcast_to(c.find(here), (len(rows), source.shape[1])) for c in found])
    most = max(len(part) for part in parts)
    nowhere = [np.full_like(part[0], -1) for part in parts]
    whole = [
        np.concatenate([*part, *[no] * (most - len(part))], axis=1) for part, no in zip(parts, nowhere, strict=True)
    ]
    return Moved(np.concatenate(whole), target.dtype, np.sort(chips))


def _rows(identity: Identity, rows: NDArray[np.int64]) -> Identity:
    return identity.moved(lambda part: part if part.shape[0] == 1 else part[rows])


def _chips(units: Units, side: Side) -> NDArray[np.int64]:
    """The chip of every row."""
    if side.entry is None:
        return np.arange(side.shape[0], dtype=np.int64)
    return np.repeat(units.chip, side.shape[0] // units.groups)


def _on_own_chip(units: Units, source: Side, at: Positions) -> Positions:
    """Positions counted through the slices of the chip that they are on."""
    chips, width = _chips(units, source), source.shape[1]
    first = np.searchsorted(chips, chips)
    return np.where(at < 0, at, at - (first[at // width] * width)).astype(np.int32)


def _catalogues(
    there: Identity, axes: tuple[str, ...], sizes: dict[str, int], shape: tuple[int, int]
) -> list[Catalogue]:
    """The first place of every cell, the second of those that have one, and so on."""
    last = Catalogue.of(there, axes, sizes, shape)
    live = int(np.broadcast_to(there.kind == LIVE, shape).sum())
    if live == last.entries:
        return [last]
    at = np.flatnonzero(np.broadcast_to(there.kind == LIVE, shape))
    keys = np.broadcast_to(numbered(there, axes, sizes), shape).ravel()[at]
    order = np.argsort(keys, kind="stable")
    keys, at = keys[order], at[order].astype(np.int32)
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    rank = np.arange(len(keys)) - np.repeat(heads, np.diff(np.append(heads, len(keys))))
    by_rank = np.argsort(rank, kind="stable")
    borders = np.cumsum(np.bincount(rank))[:-1]
    split = zip(np.split(at[by_rank], borders), np.split(keys[by_rank], borders), strict=True)
    return [Catalogue(axes, sizes, places.astype(np.int32), known) for places, known in split]
