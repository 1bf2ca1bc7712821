"""Operands of the vector engine: constants, the stash, and VRF tensors read by axis (domain: section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator import claims
from simulator.bench import Run
from simulator.engines.vector_chain import Chain
from simulator.layouts import Catalogue, Identity
from simulator.memories import Block
from simulator.streams import Flow
from simulator.values import Bits, decode, flushed

Operand = tuple[NDArray[Any], Bits | None]
"""Values that broadcast to the stream, and where they are poison."""

_UNIT = "<unit>"


def operand(run: Run, flow: Flow, wanted: object, chain: Chain) -> Operand:
    """Finds an operand.

    Raises:
        LookupError: one that is nowhere.

    """
    if wanted == "stash":
        return _stashed(run, flow, chain)
    if isinstance(wanted, str):
        return _from_vrf(run, flow, wanted)
    if wanted is None:
        raise LookupError("an op has no operand")
    if flow.dtype == "f32":
        return flushed(np.array([wanted], dtype=np.float32))[0], None
    return np.array(wanted, dtype=np.int32), None


def _stashed(run: Run, flow: Flow, chain: Chain) -> Operand:
    stash = chain.stash
    if stash is None:
        raise LookupError("the stash is read where it holds nothing")
    if stash.dtype != flow.dtype:
        raise LookupError(f"the stash is {stash.dtype}, the stream {flow.dtype}")
    claims.compare(run, "vector", stash.cells, flow.cells)
    return decode(stash.raw, stash.dtype), stash.poison


def _from_vrf(run: Run, flow: Flow, name: str) -> Operand:
    """Every element of the stream reads the element of its own unit that has its cell on the tensor's axes."""
    entry = run.entry(name)
    if entry is None or entry.address is None:
        raise LookupError(f"`{name}` has no address in the VRF")
    slices, size = run.layouts.size(entry.slice), run.layouts.size(entry.element)
    block: Block = run.bench.memories.vrf.read(entry.address, entry.dtype, slices, ((size, 1),))
    held = run.cells_of(entry, (entry.element,))
    at = _positions(run, held, flow, size)
    unit = np.arange(flow.raw.shape[0])[:, None, None] if at.shape[0] > 1 else slice(None)
    picked = np.maximum(at, 0) if at.shape[0] > 1 else np.maximum(at[0], 0)
    values = decode(block.raw, entry.dtype)[unit, picked]
    lost = at < 0
    mask = None if block.poison is None else block.poison[unit, picked]
    if lost.any():
        mask = lost if mask is None else mask | lost
    return values, mask


def _positions(run: Run, held: Identity, flow: Flow, size: int) -> NDArray[Any]:
    """The VRF element for every position, [units or 1, Time, Packet]; -1 where the unit does not hold the cell."""
    axes = tuple(sorted(held.index.keys() & flow.cells.index.keys()))
    units = flow.raw.shape[0]
    if _same_units(held, flow.cells, axes):
        one = Identity(held.kind[:1], {a: tuple(p for p in held.index[a] if p.shape[1] > 1) for a in axes})
        catalogue = Catalogue.of(one, axes, run.layouts.axes, (1, size))
        wanted = {a: tuple(p for p in flow.cells.index[a] if p.shape[1:] != (1, 1)) for a in axes}
        return catalogue.find(Identity(flow.cells.kind, wanted))
    sizes = {**run.layouts.axes, _UNIT: units}
    own = np.arange(units, dtype=np.int64)
    known = Identity(held.kind, {**held.index, _UNIT: (own[:, None],)})
    catalogue = Catalogue.of(known, (_UNIT, *axes), sizes, (units, size))
    asked = Identity(flow.cells.kind, {**flow.cells.index, _UNIT: (own[:, None, None],)})
    found = catalogue.find(asked)
    return np.broadcast_to(np.where(found < 0, -1, found % size), (units, *flow.raw.shape[1:]))


def _same_units(held: Identity, stream: Identity, axes: tuple[str, ...]) -> bool:
    """Whether both split every axis over the units alike, so that one unit's positions serve all of them."""
    if not (held.live() and stream.live()):
        return False
    for axis in axes:
        mine = [p for p in held.index[axis] if p.shape[0] > 1]
        theirs = [p for p in stream.index[axis] if p.shape[0] > 1]
        if any(p.shape[1:] != (1,) for p in mine) or any(p.shape[1:] != (1, 1) for p in theirs):
            return False
        if not np.array_equal(sum(p[:, 0] for p in mine), sum(p[:, 0, 0] for p in theirs)):
            return False
    return True
