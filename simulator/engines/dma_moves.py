"""What an executed transfer shows of its rules: cells that find no partner, runs that are not aligned (section 10)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.kernel import DmaOp, Tile
from models.mapping import axis_names
from simulator.bench import Run
from simulator.layouts import Identity


def judge_cells(run: Run, write: str, source: Identity, target: Identity, at: NDArray[np.int32]) -> None:
    """Every live cell of the destination is found, and every axis of the source has a place there."""
    lost = at < 0
    if lost.any():
        live = np.broadcast_to(target.kind == LIVE, at.shape) & lost
        if live.any():
            rule = "dma_cells_missing" if run.entry(write) is not None else "dma_cells_unwritten"
            run.fail(rule, f"{int(live.sum())} live elements of `{write}` get no cell", int(live.sum()), 0)
    tiled = frozenset[str]().union(*_tiled(run))
    for axis in source.index.keys() - target.index.keys() - tiled:
        if any(part.size > 1 and part.min() != part.max() for part in source.index[axis]):
            run.fail("dma_axis_dropped", f"`{write}` has no place for axis {axis} of the source", axis, "the axis")


def _tiled(run: Run) -> Iterator[frozenset[str]]:
    """Axes that a tile of this operation picks from."""
    op = run.bench.kernel_ops.get(run.op.base)
    for place in (op.read, op.write) if isinstance(op, DmaOp) else ():
        if isinstance(place, Tile):
            yield axis_names(run.layouts.mapping(place.tile))


def judge_runs(run: Run, write: str, at: NDArray[np.int32], bits: int) -> None:
    """Runs that are contiguous on both sides: whole bytes, and aligned where they are written into data memory.

    `at` is the position at the other side for every element of the data memory's, -1 where it takes no part.
    """
    fresh = np.ones(at.shape, dtype=np.bool_)
    np.not_equal(at[:, 1:], at[:, :-1] + 1, out=fresh[:, 1:])
    fresh &= at >= 0
    unit = run.bench.plan.hardware.dm.alignment_bytes * 8
    columns = np.flatnonzero(fresh.any(axis=0))
    if bits < 8 and _odd(at, fresh, 8 // bits):
        run.fail("dma_whole_bytes", "a run of the transfer does not begin and end at a whole byte", bits, "whole bytes")
    elif run.entry(write) is not None and (columns * bits % unit).any():
        first = int(columns[columns * bits % unit != 0][0]) * bits // 8
        run.fail(
            "dma_dm_alignment", f"a run into `{write}` is not aligned", f"byte {first}", f"a multiple of {unit // 8}"
        )


def _odd(at: NDArray[np.int32], fresh: NDArray[np.bool_], per_byte: int) -> bool:
    """Whether some run of small elements begins or ends inside of a byte, on either side."""
    _, element = np.nonzero(fresh)
    unit = np.nonzero(fresh)[0]
    taken = np.flatnonzero((at >= 0).ravel())
    flat = unit * at.shape[1] + element
    length = np.diff(np.append(np.searchsorted(taken, flat), len(taken)))
    return bool((element % per_byte).any() or (at[fresh] % per_byte).any() or (length % per_byte).any())
