"""DMA: matches the cells of both sides and moves their values (domain: section 10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES
from models.mapping import Axis, Mapping, Pad, Padding, axis_names, nodes
from models.plan import MemoryEntry, Stage
from simulator.bench import Run, spatial
from simulator.engines.dma_moves import judge_cells, judge_runs
from simulator.engines.dma_timeline import Moved, Side, for_timeline
from simulator.layouts import Catalogue, Identity, numbered
from simulator.linear import digit_of
from simulator.memories import Block, HbmTensor
from simulator.values import Bits, Raw


def dma(run: Run, stage: Stage) -> Moved:
    """Moves a tensor; what it wrote is visible when the operation ends. Gives what the timeline needs."""
    read, write = str(stage.settings["read"]), str(stage.settings["write"])
    source, target = _side(run, read, write, values=True), _side(run, write, read, narrow=True)
    axes = tuple(a for a in source.cells.index if a in target.cells.index)
    sizes = run.layouts.axes_with(axes)
    catalogue = Catalogue.of(source.cells, axes, sizes, source.shape)
    at = np.broadcast_to(catalogue.find(target.cells), target.shape)
    _check_agreement(run, write, source, catalogue, sizes)
    judge_cells(run, write, source.cells, target.cells, at)
    _deliver(run, write, source, at)
    moved = _timed(run, source, target, at if _no_copies(source, catalogue) else None, (read, write))
    judge_runs(run, write, moved.at, DTYPES[source.dtype].bits)
    return moved


def _timed(run: Run, source: Side, target: Side, at: NDArray[np.int32] | None, names: tuple[str, str]) -> Moved:
    """For the timeline, which takes the starts of tiles as 0 like all base addresses: one law for every iteration."""
    starts = [tile[1] for tile in map(run.tile, names) if tile is not None]
    if any(starts):
        read, write = names
        source = _side(run, read, write, started=False)
        target = _side(run, write, read, narrow=True, started=False)
        at = None
    sizes = run.layouts.axes_with({*source.laid.index, *target.laid.index})
    return for_timeline(run.layouts.units, sizes, source, target, at)


def _side(
    run: Run, name: str, partner: str, *, values: bool = False, narrow: bool = False, started: bool = True
) -> Side:
    """One end: a tile of the partner shifts this end's counting to true indices, a tile of its own may narrow it.

    Not `started`, tiles begin at 0.
    """
    entry, own, other = run.entry(name), run.tile(name), run.tile(partner)
    shift = other if own is None and started else None
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
    if own is not None and narrow:
        cells = _narrowed(run, name, cells, shape, own[1] if started else 0)
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
    first, second = (_pads(run, name) for name in names)
    return {pad: Axis(f"<{pad}>", pad.size) for pad in first if pad in second}


def _pads(run: Run, name: str) -> dict[Mapping, None]:
    """The padded expressions of one end, in order."""
    entry, tensor = run.entry(name), run.bench.plan.kernel.tensors.get(name)
    texts = (*spatial(entry), entry.element) if entry else (tensor.chip, tensor.element) if tensor else ()
    found = [n for text in texts for n in nodes(run.layouts.mapping(text)) if isinstance(n, Pad) and axis_names(n)]
    return {pad: None for pad in found if pad.kind != Padding.BOTTOM}


def _narrowed(run: Run, name: str, cells: Identity, shape: tuple[int, int], start: int) -> Identity:
    """Only the cells of this end's own tile take part."""
    tile = run.tile_place(name)
    assert tile is not None
    digit = digit_of(tile.tile)
    at = np.broadcast_to(digit.value(cells.total(digit.axis)), shape)
    outside = (at < start) | (at >= start + tile.length)
    return Identity(np.where(outside, np.int8(1), cells.kind), cells.index)


def _check_agreement(run: Run, write: str, source: Side, catalogue: Catalogue, sizes: dict[str, int]) -> None:
    """Positions that hold one cell must hold one value, or it would matter which of them writes last."""
    assert source.block is not None
    if _no_copies(source, catalogue):
        return
    live = np.broadcast_to(source.cells.kind == LIVE, source.shape)
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


def _no_copies(source: Side, catalogue: Catalogue) -> bool:
    live = np.broadcast_to(source.cells.kind == LIVE, source.shape)
    return int(live.sum()) <= catalogue.entries


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
