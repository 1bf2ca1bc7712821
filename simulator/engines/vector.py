"""Vector engine: one op after the other on the flits of a stream (domain: section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator.bench import Run
from simulator.engines import arithmetic
from simulator.engines.inter_slice_reduce import reduce_among
from simulator.engines.intra_slice_reduce import reduce_inside
from simulator.engines.vector_chain import GROUP_BIT, Chain, compared, matches
from simulator.engines.vector_operands import operand
from simulator.engines.vector_pairs import Act, joined, on_pairs, unzipped
from simulator.streams import Flow, kept_packet, padded_packet
from simulator.values import Bits, decode, encode

__all__ = ["Chain", "vector"]


def vector(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """Runs the op that a stage holds; on pairs, on both groups.

    Raises:
        LookupError: an op that this engine does not have, or an operand that is nowhere.

    """
    name = str(stage.settings["name"])
    if name.endswith("_zip"):
        return joined(stage, flow, chain)
    if name not in _OPS:
        raise LookupError(f"vector op `{name}` has no behaviour")
    return on_pairs(_OPS[name], run, stage, flow, chain) if chain.partner else _OPS[name](run, stage, flow, chain)


def _tag(_run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    comparisons = stage.settings.get("comparisons")
    chain.tags = compared(comparisons, decode(flow.raw, flow.dtype)) if comparisons else None
    return flow.with_values(flow.dtype, flow.raw, flow.time)


def _stash(_run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    chain.stash = flow
    return flow.with_values(flow.dtype, flow.raw, flow.time)


# Ways -------------------------------------------------------------------------------------------------------


def _split(run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """8 ways to 4: both halves of a flit, one after the other."""
    ways = run.bench.plan.hardware.vector.ways_narrow
    halves = flow.packet // ways
    return _reshaped(flow, chain, flow.time * halves, ways)


def _concat(run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """4 ways to 8: two packets side by side."""
    side_by_side = run.bench.plan.hardware.vector.ways_wide // flow.packet
    return _reshaped(flow, chain, flow.time // side_by_side, flow.packet * side_by_side)


def _reshaped(flow: Flow, chain: Chain, time: int, packet: int) -> Flow:
    def move(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1:] == (1, 1):
            return part
        return np.broadcast_to(part, (part.shape[0], flow.time, flow.packet)).reshape(-1, time, packet)

    chain.reshape(lambda stash: stash.moved(move, 0), move)
    return flow.moved(move, max(flow.time, time))


def _trim(run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    ways = run.bench.plan.hardware.vector.ways_narrow
    chain.reshape(lambda stash: kept_packet(stash, ways, 0), lambda tags: tags[..., :ways])
    return kept_packet(flow, ways, flow.time)


def _pad(run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    ways = run.bench.plan.hardware.vector.ways_wide
    more = [(0, 0), (0, 0), (0, ways - flow.packet)]
    chain.reshape(lambda stash: padded_packet(stash, ways, 0), lambda tags: np.pad(tags, more))
    return padded_packet(flow, ways, flow.time)


# Arithmetic -------------------------------------------------------------------------------------------------


def _unary(_run: Run, stage: Stage, flow: Flow, _chain: Chain) -> Flow:
    name = str(stage.settings.get("value") or stage.settings.get("op")).lower()
    return _computed(flow, arithmetic.UNARY[name](decode(flow.raw, "f32")), None)


def _binary(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    function = arithmetic.binary(stage.settings.get("op"), flow.dtype)
    mode = str(stage.settings.get("mode") or "01")
    if stage.settings.get("guards"):
        return _guarded(run, stage, flow, chain, function, mode)
    if mode == "00":
        other, poison = None, None
    else:
        other, poison = operand(run, flow, stage.settings.get("operand"), chain)
    return _computed(flow, _applied(flow, other, function, mode), poison)


def _applied(flow: Flow, other: NDArray[Any] | None, function: arithmetic.Binary, mode: str) -> NDArray[Any]:
    own = decode(flow.raw, flow.dtype)
    arguments = (own, own if other is None else other)
    left, right = (np.broadcast_to(arguments[int(digit)], flow.raw.shape) for digit in mode)
    return function(left, right)


def _guarded(run: Run, stage: Stage, flow: Flow, chain: Chain, function: arithmetic.Binary, mode: str) -> Flow:
    """Every element takes the first operand whose guard its tag matches; one that none claims passes unchanged."""
    tags = chain.tagged(flow)
    free = np.ones(flow.raw.shape, dtype=np.bool_)
    out, lost = decode(flow.raw, flow.dtype), np.zeros(flow.raw.shape, dtype=np.bool_)
    for guard in stage.settings["guards"]:
        wanted = guard["rf"] if guard.get("rf") is not None else guard.get("imm")
        other, poison = operand(run, flow, wanted, chain)
        hit = free & matches(tags, guard["when"])
        out = np.where(hit, _applied(flow, other, function, mode), out)
        if poison is not None:
            lost |= hit & poison
        free &= ~hit
    return _computed(flow, out, lost if lost.any() else None)


def _ternary(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    found = [operand(run, flow, one, chain) for one in stage.settings["operands"]]
    arguments = (decode(flow.raw, "f32"), *(values for values, _ in found))
    picked = [np.broadcast_to(arguments[int(digit)], flow.raw.shape) for digit in stage.settings.get("mode") or "012"]
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


# Whole streams ----------------------------------------------------------------------------------------------


def _reduce(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    if chain.before is None:
        raise LookupError("a reduction has no stream to work on")
    chain.forget()
    return reduce_inside(run, stage, flow, chain.before)


def _among(run: Run, stage: Stage, flow: Flow, chain: Chain) -> Flow:
    if chain.before is None:
        raise LookupError("a reduction has no stream to work on")
    chain.forget()
    out, ratio = reduce_among(run, stage, flow, chain.before)
    chain.ring = (ratio, flow.time)
    return out


def _filter(_run: Run, _stage: Stage, flow: Flow, chain: Chain) -> Flow:
    """Lets pass the flits that hold an element of group 0; what all slices drop leaves Time."""
    group = (chain.tagged(flow) >> GROUP_BIT) & 1
    passes = (np.broadcast_to(group, flow.raw.shape) == 0).any(axis=(0, 2))

    def kept(part: NDArray[Any]) -> NDArray[Any]:
        return part if part.shape[1] == 1 else part[:, passes]

    return flow.moved(kept, flow.time)


_OPS: dict[str, Act] = {
    "tag": _tag,
    "stash": _stash,
    "unzip": unzipped,
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
    "intra_slice_reduce": _reduce,
    "inter_slice_reduce": _among,
    "filter": _filter,
}
