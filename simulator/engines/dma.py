"""DMA: matches the cells of both sides and moves their values (domain: section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES
from models.mapping import Axis, Mapping, Pad, Padding, axis_names, nodes
from models.plan import MemoryEntry, Stage
from simulator.bench import Run, spatial
from simulator.engines.dma_moves import judge_cells, judge_runs
from simulator.layouts import Catalogue, Identity, numbered
from simulator.linear import digit_of, evaluate
from simulator.memories import Block, HbmTensor
from simulator.values import Bits, Raw


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
    """A transfer for the timeline: for every element of the DM side [units, elements] its position at the other
    side, -1 where it takes no part. `chip` says where each unit is (None: on one chip); chips have engines and HBM of
    their own.
    """

    at: NDArray[np.int32]
    dtype: str
    chip: NDArray[np.int64] | None = None

    def by_chip(self) -> Iterator[Moved]:
        """What moves on each chip."""
        if self.chip is None:
            yield self
            return
        for chip in np.unique(self.chip):
            yield Moved(self.at[self.chip == chip], self.dtype)


def dma(run: Run, stage: Stage) -> Moved:
    """Moves a tensor; what it wrote is visible when the operation ends. Gives what the timeline needs."""
    read, write = str(stage.settings["read"]), str(stage.settings["write"])
    source, target = _side(run, read, write, values=True), _side(run, write, read, values=False)
    axes = tuple(a for a in source.cells.index if a in target.cells.index)
    sizes = run.layouts.axes_with(axes)
    catalogue = Catalogue.of(source.cells, axes, sizes, source.shape)
    at = np.broadcast_to(catalogue.find(target.cells), target.shape)
    _check_agreement(run, write, source, catalogue, sizes)
    judge_cells(run, write, source.cells, target.cells, at)
    _deliver(run, write, source, at)
    moved = _for_timeline(run, source, target, at)
    judge_runs(run, write, moved.at, DTYPES[source.dtype].bits)
    return moved


def _side(run: Run, name: str, partner: str, *, values: bool) -> Side:
    """One end: a tile of the partner shifts this end's counting to true indices, a tile of its own narrows it."""
    entry, own, other = run.entry(name), run.tile(name), run.tile(partner)
    shift = other if own is None else None
    swaps = pad_swaps(run, (name, partner))
    if entry is not None:
        element, rows = entry.element, run.layouts.units.groups * run.layouts.size(entry.slice)
        laid = run.layouts.identity(spatial(entry), (entry.element,), shift, swaps)
        cells = laid.only(run.carried(entry.tensor) | {a.name for a in swaps.values()})
        dtype = entry.dtype
    else:
        tensor = run.bench.plan.kernel.tensors.get(name)
        if tensor is None or name not in run.bench.memories.hbm:
            raise LookupError(f"`{name}` is neither in HBM nor in data memory")
        element, rows = tensor.element, run.layouts.size(tensor.chip)
        cells = laid = run.layouts.plain_identity((tensor.chip, element), shift, swaps)
        dtype = tensor.dtype
    shape = (rows, run.layouts.size(element))
    if own is not None and not values:
        cells = _narrowed(run, name, cells, shape)
    block = _values(run, name, entry, shape) if values else None
    return Side(cells, laid, shape, block, dtype, entry)


def _values(run: Run, name: str, entry: MemoryEntry | None, shape: tuple[int, int]) -> Block:
    if entry is None:
        held = run.bench.memories.hbm[name]
        return Block(held.raw.copy(), held.poison.copy() if held.poison.any() else None)
    slices = shape[0] // run.layouts.units.groups
    return run.bench.memories.dm.read(entry.address or 0, entry.dtype, slices, ((shape[1], 1),))


def pad_swaps(run: Run, names: tuple[str, str]) -> dict[Mapping, Axis]:
    """Padded expressions whose padding travels: an axis of its own stands for each.

    A partner that pads the same expression alike receives what the host wrote there, poison too.
    """
    found: dict[Mapping, Axis] = {}
    for name in names:
        tensor = run.bench.plan.kernel.tensors.get(name)
        if tensor is None or run.entry(name) is not None:
            continue
        for node in nodes(run.layouts.mapping(tensor.element)):
            if isinstance(node, Pad) and axis_names(node) and node.kind != Padding.BOTTOM:
                found[node] = Axis(f"<{node}>", node.size)
    entries = [run.entry(name) for name in names]
    texts = " ".join(e.slice + e.element + e.cluster for e in entries if e)
    parsed = [run.layouts.mapping(t) for e in entries if e for t in (*spatial(e), e.element)]
    inside = {n for expr in parsed for n in nodes(expr)}
    return {pad: axis for pad, axis in found.items() if not texts or pad in inside}


def _narrowed(run: Run, name: str, cells: Identity, shape: tuple[int, int]) -> Identity:
    """Only the cells of this end's own tile take part."""
    tile = run.tile_place(name)
    assert tile is not None
    digit = digit_of(tile.tile)
    start = evaluate(tile.start, run.op.iteration)
    at = np.broadcast_to(digit.value(cells.total(digit.axis)), shape)
    outside = (at < start) | (at >= start + tile.length)
    return Identity(np.where(outside, np.int8(1), cells.kind), cells.index)


def _check_agreement(run: Run, write: str, source: Side, catalogue: Catalogue, sizes: dict[str, int]) -> None:
    """Positions that hold one cell must hold one value, or it would matter which of them writes last."""
    assert source.block is not None
    live = np.broadcast_to(source.cells.kind == LIVE, source.shape)
    if int(live.sum()) <= catalogue.entries:
        return
    numbers = np.broadcast_to(numbered(source.cells, catalogue.axes, sizes), source.shape)
    raw = source.block.raw.ravel()
    differs = live & (raw[catalogue.at(numbers)] != source.block.raw)
    if source.block.poison is not None:
        differs &= ~source.block.poison
    if differs.any():
        unit, element = (int(i) for i in np.argwhere(differs)[0])
        run.fail(
            "write_conflict",
            f"two units hold different values of one cell of `{write}`",
            f"unit {unit}, element {element}",
        )


def _deliver(run: Run, write: str, source: Side, at: NDArray[np.int32]) -> None:
    assert source.block is not None
    raw = source.block.raw.ravel()
    poison = None if source.block.poison is None else source.block.poison.ravel()
    taken = raw[np.maximum(at, 0)]
    mask = at < 0 if poison is None else (at < 0) | poison[np.maximum(at, 0)]
    entry = run.entry(write)
    if entry is None:
        run.effects.append(lambda: _into_hbm(run.bench.memories.hbm[write], at, taken, mask))
        return
    address, dtype = entry.address or 0, entry.dtype
    slices = at.shape[0] // run.layouts.units.groups
    walk = ((at.shape[1], 1),)

    def into_dm() -> None:
        memory, block = run.bench.memories.dm, Block(taken, mask if mask.any() else None)
        if (at < 0).any():
            before = memory.read(address, dtype, slices, walk)
            old = np.zeros(at.shape, np.bool_) if before.poison is None else before.poison
            block = Block(np.where(at < 0, before.raw, taken), np.where(at < 0, old, mask))
        memory.write(address, dtype, slices, walk, block)

    run.effects.append(into_dm)


def _into_hbm(tensor: HbmTensor, at: NDArray[np.int32], taken: Raw, mask: Bits) -> None:
    hit = at >= 0
    tensor.raw[hit] = taken[hit]
    tensor.poison[hit] = mask[hit]


def _for_timeline(run: Run, source: Side, target: Side, at: NDArray[np.int32]) -> Moved:
    """HBM positions by DM element: what was looked up for a load; for a store the other way round.

    Of copies, each goes where its layout says: along an axis that the data lacks every unit writes a place of its own.
    """
    if source.entry is None or target.entry is not None:
        return _on_chips(run, source, at)
    axes = tuple(a for a in source.laid.index if a in target.laid.index)
    catalogue = Catalogue.of(target.cells, axes, run.layouts.axes_with(axes), target.shape)
    return _on_chips(run, target, np.broadcast_to(catalogue.find(source.laid), source.shape))


def _on_chips(run: Run, hbm: Side, at: NDArray[np.int32]) -> Moved:
    """Positions in the HBM of the chip they are on; between memories of one kind they stay as they are."""
    units = run.layouts.units
    chip = np.repeat(units.chip, max(1, at.shape[0] // units.groups))[: at.shape[0]]
    if hbm.entry is None and hbm.shape[0] > 1:
        at = np.where(at < 0, at, at % hbm.shape[1])
    return Moved(at, hbm.dtype, chip)
