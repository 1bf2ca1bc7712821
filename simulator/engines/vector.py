"""Vector engine: one op after the other on the flits of a stream (domain: section 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator import claims
from simulator.bench import Run
from simulator.engines import arithmetic
from simulator.layouts import Catalogue, Identity
from simulator.memories import Block
from simulator.streams import Flow, kept_packet, padded_packet
from simulator.values import Bits, decode, encode


@dataclass(slots=True)
class Chain:
    """What lives along one trip through the engine: the stash, once written."""

    stash: Flow | None = None


Operand = tuple[NDArray[Any], Bits | None]


def vector(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """Runs the op that a stage holds.

    Raises:
        LookupError: an op that this engine does not have, or an operand that is nowhere.

    """
    name = str(stage.settings["name"])
    if name not in _OPS:
        raise LookupError(f"vector op `{name}` has no behaviour")
    return _OPS[name](run, stage, flow, chain)


def _tag(_run: Run, stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    if stage.settings.get("comparisons"):
        raise LookupError("tags by comparison have no behaviour")
    return flow.with_values(flow.dtype, flow.raw, flow.time)


def _stash(_run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    chain.stash = flow
    return flow.with_values(flow.dtype, flow.raw, flow.time)


def _split(run: Run, _stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    """8 ways to 4: both halves of a flit, one after the other."""
    ways = run.bench.plan.hardware.vector.ways_narrow
    halves = flow.packet // ways
    return flow.moved(_reshaped(flow, flow.time * halves, ways), flow.time * halves)


def _concat(run: Run, _stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    """4 ways to 8: two packets side by side."""
    joined = run.bench.plan.hardware.vector.ways_wide // flow.packet
    return flow.moved(_reshaped(flow, flow.time // joined, flow.packet * joined), flow.time)


def _reshaped(flow: Flow, time: int, packet: int) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1:] == (1, 1):
            return part
        return np.broadcast_to(part, (part.shape[0], flow.time, flow.packet)).reshape(-1, time, packet)

    return move


def _trim(run: Run, _stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    return kept_packet(flow, run.bench.plan.hardware.vector.ways_narrow, flow.time)


def _pad(run: Run, _stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    return padded_packet(flow, run.bench.plan.hardware.vector.ways_wide, flow.time)


def _unary(_run: Run, stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    name = str(stage.settings.get("value") or stage.settings.get("op")).lower()
    return _computed(flow, arithmetic.UNARY[name](decode(flow.raw, "f32")), None)


def _binary(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    given = str(stage.settings.get("op") or "divf").lower()
    name = arithmetic.SHORT_NAMES.get(given, given)
    table = arithmetic.FLOAT if flow.dtype == "f32" else arithmetic.INTEGER
    other, poison = _operand(run, flow, stage.settings.get("operand"), chain)
    arguments = (decode(flow.raw, flow.dtype), other)
    left, right = (arguments[int(digit)] for digit in str(stage.settings.get("mode") or "01"))
    left, right = np.broadcast_to(left, flow.raw.shape), np.broadcast_to(right, flow.raw.shape)
    return _computed(flow, table[name](left, right), poison)


def _ternary(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    found = [_operand(run, flow, operand, chain) for operand in stage.settings["operands"]]
    arguments = (decode(flow.raw, "f32"), *(values for values, _ in found))
    picked = [arguments[int(digit)] for digit in str(stage.settings.get("mode") or "012")]
    poison = None
    for _, mask in found:
        poison = mask if poison is None else poison if mask is None else poison | mask
    return _computed(flow, arithmetic.fma(*picked), poison)


def _to_float(_run: Run, stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    numbers = arithmetic.fixed_to_float(decode(flow.raw, "i32"), int(stage.settings["value"]))
    return flow.with_values("f32", encode(numbers, "f32"), flow.time)


def _to_fixed(_run: Run, stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    numbers = arithmetic.float_to_fixed(decode(flow.raw, "f32"), int(stage.settings["value"]))
    return flow.with_values("i32", encode(numbers, "i32"), flow.time)


def _computed(flow: Flow, numbers: NDArray[Any], poison: Bits | None) -> Flow:
    raw = np.broadcast_to(numbers, flow.raw.shape)
    mask = flow.poison if poison is None else poison if flow.poison is None else flow.poison | poison
    mask = None if mask is None else np.broadcast_to(mask, flow.raw.shape)
    return Flow(flow.dtype, np.ascontiguousarray(raw).view(np.uint32), mask, flow.cells, flow.time)


def _operand(run: Run, flow: Flow, operand: object, chain: Chain) -> Operand:
    """A constant, the stash, or a VRF tensor read by axis; broadcasts to the flow."""
    if operand == "stash":
        if chain.stash is None:
            raise LookupError("the stash is read before it is written")
        claims.compare(run, "vector", chain.stash.cells, flow.cells)
        return decode(chain.stash.raw, chain.stash.dtype), chain.stash.poison
    if isinstance(operand, str):
        return _from_vrf(run, flow, operand)
    dtype: type[np.generic] = np.float32 if flow.dtype == "f32" else np.int32
    return np.array(operand, dtype=dtype), None


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


_UNIT = "<unit>"


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


_OPS: dict[str, Callable[[Run, Stage, Flow, Chain], Flow]] = {
    "tag": _tag,
    "stash": _stash,
    "narrow_split": _split,
    "narrow_trim": _trim,
    "widen_concat": _concat,
    "widen_pad": _pad,
    "fp_unary": _unary,
    "fp_binary": _binary,
    "fp_ternary": _ternary,
    "fp_div": _binary,
    "clip": _binary,
    "fxp": _binary,
    "logic": _binary,
    "fxp_to_fp": _to_float,
    "fp_to_fxp": _to_fixed,
}
