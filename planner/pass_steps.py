"""How a trail grows by each kind of step: the step's law is asked, choices branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from models.faults import Finding
from models.graph import MAIN
from models.kernel import (
    AUTO,
    Cast,
    Collect,
    Commit,
    ContractLane,
    ContractOuter,
    ContractPacket,
    ContractTime,
    Fetch,
    FetchCast,
    FetchTableLookup,
    FetchZeroPointSub,
    Step,
    Switch,
    SwitchConfig,
    Tile,
    ToTrf,
    ToVrf,
    Transpose,
    Vector,
)
from models.layout import Stream
from models.mapping import Mapping, text
from planner.engines import (
    cast,
    collect,
    commit,
    contraction,
    contraction_outer,
    fetch,
    fetch_adapter,
    pipeline,
    register_files,
    switch_lifting,
    switch_moves,
    transpose,
    vector,
)
from planner.engines.base import Outcome
from planner.engines.intra_slice_identity import MASKS, NONE, UNKNOWN, Held, held_by
from planner.engines.register_files import TrfConfig, VrfConfig
from planner.engines.shapes import size_bytes
from planner.pass_cycles import InterSlice
from planner.pass_trail import PassContext, Trail

AXIS_LIFTING = "AxisLifting"
"""The way to do a `switch` step that leaves the switch out."""
VIAS = ("short", "pipeline")
"""Ways of a register store; on a tie the first one is taken."""


def advance(context: PassContext, trail: Trail, index: int) -> list[Trail]:
    """All trails behind one more step."""
    step = context.op.steps[index]
    if trail.stopped:
        return [trail]
    fault = pipeline.in_context(
        context.ground.context, step.step, commit_cast=isinstance(step, Commit) and step.cast is not None
    )
    if fault is not None:
        trail = trail.broken(index, fault)
    return HANDLERS[step.step](context, trail, index, step)


def _fetch(context: PassContext, trail: Trail, index: int, step: Fetch) -> list[Trail]:
    names = [p.tensor if isinstance(p, Tile) else p for p in context.places]
    missing = [n for n in names if n not in context.tensors or context.tensors[n].memory != "dm"]
    if missing:
        held = [n for n, t in context.tensors.items() if t.memory == "dm"]
        wanted = "one of " + ", ".join(held) if held else "a DM tensor"
        faults = [Finding("wrong_memory", f"fetch reads DM, {n} is no DM tensor", n, wanted) for n in missing]
        return [replace(trail.broken(index, *faults), stopped=True)]
    source = [context.tensors[n] for n in names]
    config = fetch.FetchConfig(
        context.parse(step.time),
        context.parse(step.packet),
        context.stated(step.chip),
        context.stated(step.cluster),
        context.stated(step.slice),
        _type_after_adapter(context, source[0].dtype),
        tuple(p if isinstance(p, Tile) else None for p in context.places),
        context.op.interleave,
    )
    outcome = fetch.law(context.ground, source, config)
    grown = trail.after(index, step.step, outcome)
    return [grown.broken(index, *pipeline.geometry(context.ground.hardware, source[0]))]


def _type_after_adapter(context: PassContext, dtype: str) -> str:
    """The element type in which packets leave the fetch adapter; a zero point leaves their bytes as they are."""
    for step in context.op.steps:
        if isinstance(step, FetchCast | FetchTableLookup | FetchZeroPointSub):
            dtype = step.dtype
    return dtype


def _lookup(context: PassContext, trail: Trail, index: int, step: FetchTableLookup) -> list[Trail]:
    stream = _held(trail)
    outcome = fetch_adapter.table_lookup(context.ground, stream, step.dtype)
    hardware = context.ground.hardware
    packet = size_bytes(_type_after_adapter(context, stream.dtype), stream.packet.size)
    flits = stream.time.size * -(-packet // hardware.geometry.flit_bytes)
    return [trail.after(index, step.step, replace(outcome, steps=fetch_adapter.lookup_steps(hardware, flits)))]


def _fetch_cast(context: PassContext, trail: Trail, index: int, step: FetchCast) -> list[Trail]:
    return [trail.after(index, step.step, fetch_adapter.cast(context.ground, _held(trail), step.dtype))]


def _zero_point(context: PassContext, trail: Trail, index: int, step: FetchZeroPointSub) -> list[Trail]:
    outcome = fetch_adapter.zero_point_sub(context.ground, _held(trail), step.dtype, step.zero_point)
    return [trail.after(index, step.step, outcome)]


def _switch(context: PassContext, trail: Trail, index: int, step: Switch) -> list[Trail]:
    stream = _held(trail)
    wanted = wanted_slice(context, step)
    out = []
    for candidate in switch_moves.candidates(context.ground, stream, step, wanted):
        grown = trail.after(index, step.step, candidate.outcome, fallback=candidate.out)
        out.append(grown.decided("switch", candidate.label))
    if wanted is None:
        return out
    out += _lifted(context, trail, index, step, wanted)
    time = None if step.slice is None or step.time == AUTO else context.parse(step.time)
    stated = None if time is None else replace(stream, slice=wanted, time=time)
    fixed = step.config if isinstance(step.config, SwitchConfig) else None
    reasons = context.once(
        ("reasons", index, stream),
        lambda: switch_moves.reasons(context.ground, stream, wanted, time, fixed=fixed),
    )
    for kind, finding in reasons.items():
        if fixed is not None and fixed.kind != kind:
            continue
        grown = trail.after(index, step.step, Outcome((finding,)), fallback=stated)
        out.append(grown.decided("switch", kind))
    return out or [replace(trail, stopped=True)]


def _lifted(context: PassContext, trail: Trail, index: int, step: Switch, wanted: Mapping) -> list[Trail]:
    """The same pass without a switch: the fetch reads at an offset of its own in every slice, where that will do."""
    first = context.op.steps[0]
    if not isinstance(first, Fetch) or first.slice is not None or isinstance(step.config, SwitchConfig):
        return []
    stated = None if step.slice is None or step.time == AUTO else context.parse(step.time)
    time = switch_lifting.lifted_time(_held(trail), wanted, stated)
    if time is None:
        return []
    fetch_step = first.model_copy(update={"time": text(time), "slice": text(wanted)})
    trails = _replayed(context, (fetch_step, *context.op.steps[1:index]))
    return [t.decided("switch", AXIS_LIFTING) for t in trails if not t.findings]


def _replayed(context: PassContext, steps: Sequence[Step]) -> list[Trail]:
    """All trails behind some steps from the start of a pass."""
    trails = [Trail().decided("context", context.ground.context)]
    for at, step in enumerate(steps):
        trails = [after for t in trails for after in HANDLERS[step.step](context, t, at, step)]
    return trails


def before_switch(context: PassContext, index: int) -> Stream | None:
    """The stream that reaches the step at `index`; None where the steps before it are broken."""
    legal = [t for t in _replayed(context, context.op.steps[:index]) if not t.findings]
    return legal[0].stream if legal else None


def wanted_slice(context: PassContext, step: Switch) -> Mapping | None:
    """The Slice that a switch has to reach: the stated one, else that of the commit behind it."""
    return context.stated(step.slice) or _stored_slice(context)


def _stored_slice(context: PassContext) -> Mapping | None:
    """The Slice that `switch: auto` has to reach: the one that the commit states."""
    last = context.op.steps[-1]
    return context.stated(last.slice) if isinstance(last, Commit) else None


def _collect(context: PassContext, trail: Trail, index: int, step: Collect) -> list[Trail]:
    config = collect.CollectConfig(context.stated(step.time), context.stated(step.packet))
    stream = _held(trail)
    outcome = context.once((index, stream), lambda: collect.law(context.ground, stream, config))
    return [trail.after(index, step.step, outcome)]


# Register stores --------------------------------------------------------------------------------------------


def _to_trf(context: PassContext, trail: Trail, index: int, step: ToTrf) -> list[Trail]:
    stream = _held(trail)
    out = []
    for via in VIAS if step.via == "auto" else (step.via,):
        config = TrfConfig(step.write, context.parse(step.lane), context.parse(step.element), step.region, via)
        outcome = context.once((index, config, stream), partial(register_files.to_trf, context.ground, stream, config))
        grown = trail.after(index, step.step, outcome, fallback=stream).decided("via", via)
        grown = replace(grown, writes=register_files.trf_layout(stream, config))
        out.append(_short(context, grown, index, via))
    return out


def _to_vrf(context: PassContext, trail: Trail, index: int, step: ToVrf) -> list[Trail]:
    stream = _held(trail)
    out = []
    for via in VIAS if step.via == "auto" else (step.via,):
        config = VrfConfig(step.write, context.parse(step.element), via)
        outcome = context.once((index, config, stream), partial(register_files.to_vrf, context.ground, stream, config))
        grown = trail.after(index, step.step, outcome).decided("via", via)
        grown = replace(grown, writes=register_files.vrf_layout(stream, config))
        out.append(_short(context, grown, index, via))
    return out


def _short(context: PassContext, trail: Trail, index: int, via: str) -> Trail:
    fetched = trail.outcomes.get("fetch")
    if via != "short" or fetched is None or "time_entries" not in fetched.settings or fetched.stream is None:
        return trail
    packet = size_bytes(fetched.stream.dtype, fetched.stream.packet.size)
    flit = context.ground.hardware.geometry.flit_bytes
    fault = register_files.short_form(context.names, fetched, packet, flit)
    return trail if fault is None else trail.broken(index, fault)


# Contraction ------------------------------------------------------------------------------------------------


def _outer(context: PassContext, trail: Trail, index: int, step: ContractOuter) -> list[Trail]:
    stream = _held(trail)
    config = contraction_outer.OuterConfig(context.parse(step.time), context.parse(step.packet))
    stated = replace(stream, time=config.time, packet=config.packet)
    trf = context.tensors.get(step.with_)
    if trf is None or trf.memory != "trf":
        held = [n for n, t in context.tensors.items() if t.memory == "trf"]
        wanted = "one of " + ", ".join(held) if held else "a tensor stored by to_trf"
        message = f"contract_outer reads the TRF, {step.with_} is no TRF tensor"
        fault = Finding("wrong_memory", message, step.with_, wanted, held[0] if held else "")
        return [trail.after(index, step.step, Outcome((fault,), stated, stated.time.size))]
    outcome = context.once((index, stream), lambda: contraction_outer.law(context.ground, stream, trf, config))
    return [replace(trail.after(index, step.step, outcome, fallback=stated), trf=trf)]


def _packet(context: PassContext, trail: Trail, index: int, step: ContractPacket) -> list[Trail]:
    stream = _held(trail)
    out_packet = context.parse(step.packet)
    outcome = context.once((index, stream), lambda: contraction.packet_law(context.ground, stream, out_packet))
    return [trail.after(index, step.step, outcome)]


def _time(context: PassContext, trail: Trail, index: int, step: ContractTime) -> list[Trail]:
    stream = _held(trail)
    out_time = context.parse(step.time)
    outcome = context.once((index, stream), lambda: contraction.time_law(context.ground, stream, out_time))
    return [trail.after(index, step.step, outcome)]


def _lane(context: PassContext, trail: Trail, index: int, step: ContractLane) -> list[Trail]:
    if trail.trf is None:
        return [replace(trail, stopped=True)]
    out = []
    inner = trail.setting("contract_time", "inner_time")
    for mode in contraction.LANE_MODES if step.mode == "auto" else (step.mode,):
        config = contraction.LaneConfig(
            mode,
            trail.trf.lane,
            inner if isinstance(inner, int) else 1,
            context.stated(step.time),
            context.stated(step.packet),
        )
        outcome = contraction.lane_law(context.ground, _held(trail), config)
        out.append(trail.after(index, step.step, outcome).decided("lane_mode", mode))
    return out


# Behind the contraction -------------------------------------------------------------------------------------


def _vector(context: PassContext, trail: Trail, index: int, step: Vector) -> list[Trail]:
    """The chain; where a reduced axis has padding, once per way to keep it out, what needs no warning first."""
    stream, held = _held(trail), _padding_held(context, index)
    out = []
    for mask in MASKS:
        outcomes = context.once(
            (index, stream, mask), partial(vector.chain, context.ground, stream, step.ops, context.tensors, mask, held)
        )
        grown = _chained(trail, index, step, outcomes)
        if all(o.settings.get("mask", NONE) == NONE for o in outcomes):
            return [grown]
        out.append(grown.decided("mask", mask))
    return sorted(out, key=lambda t: any(w.rule == "vcg_not_expressible" for _, w in t.warnings))


def _chained(trail: Trail, index: int, step: Vector, outcomes: Sequence[Outcome]) -> Trail:
    for op, outcome in zip(step.ops, outcomes, strict=True):
        before = _held(trail)
        trail = trail.after(index, step.step, outcome, fallback=before)
        if op.name == vector.INTER_SLICE:
            trail = replace(trail, inter_slice=InterSlice(int(outcome.settings["ratio"]), before.time.size))
    return trail


def _padding_held(context: PassContext, index: int) -> Held:
    """What stands in the padding of the stream; nothing is known of two tensors that are padded differently."""
    names = [p.tensor if isinstance(p, Tile) else p for p in context.places]
    broken = next((s.step for s in context.op.steps[:index] if isinstance(s, ContractOuter | FetchTableLookup)), "")
    found = {held_by(context.tensors[n], broken) for n in names if n in context.tensors}
    return found.pop() if len(found) == 1 else replace(UNKNOWN, broken_by=broken)


def _cast(context: PassContext, trail: Trail, index: int, step: Cast) -> list[Trail]:
    stream = _held(trail)
    outcome = context.once((index, stream), lambda: cast.law(context.ground, stream, step.dtype))
    grown = trail.after(index, step.step, outcome)
    ends = any(isinstance(s, Commit) and s.cast is None for s in context.op.steps[index + 1 : index + 2])
    if not ends or context.ground.context != MAIN or step.dtype not in cast.COMMIT_CASTS.get(stream.dtype, ()):
        return [grown]
    # The Cast Engine sits on the Vector Engine; cast by the commit, the pass leaves that one to Sub.
    return [grown.decided("cast", cast.BY_ENGINE), trail.decided("cast", cast.BY_COMMIT)]


def _transpose(context: PassContext, trail: Trail, index: int, step: Transpose) -> list[Trail]:
    stream = _held(trail)
    stated = replace(stream, time=context.parse(step.time), packet=context.parse(step.packet))
    out = []
    for candidate in context.once((index, stream), lambda: transpose.candidates(context.ground, stream, step)):
        grown = trail.after(index, step.step, candidate.outcome, fallback=stated)
        out.append(grown.decided("transpose", candidate.label) if candidate.label else grown)
    return out


def _commit(context: PassContext, trail: Trail, index: int, step: Commit) -> list[Trail]:
    tile = step.write if isinstance(step.write, Tile) else None
    config = commit.CommitConfig(
        tile.tensor if tile else str(step.write),
        context.parse(step.element),
        context.stated(step.slice),
        context.stated(step.packet),
        _commit_cast(context, trail, step),
        step.relu,
        tile,
    )
    stream = _held(trail)
    key = (index, stream, context.ground.context)
    outcome = context.once(key, lambda: commit.law(context.ground, stream, config))
    grown = trail.after(index, step.step, outcome, fallback=stream)
    grown = grown.broken(index, *_same_tensor(context, config, tile, stream))
    return [replace(grown, writes=commit.layout(stream, config))]


def _commit_cast(context: PassContext, trail: Trail, step: Commit) -> str | None:
    if trail.value("cast") != cast.BY_COMMIT:
        return step.cast
    return next(s.dtype for s in context.op.steps if isinstance(s, Cast))


def _same_tensor(context: PassContext, config: commit.CommitConfig, tile: Tile | None, stream: Stream) -> list[Finding]:
    """Tiles of one tensor are written into one layout."""
    known = context.tensors.get(config.write)
    if tile is None or known is None:
        return []
    return commit.tile_findings(known, commit.layout(stream, config))


def _held(trail: Trail) -> Stream:
    assert trail.stream is not None
    return trail.stream


HANDLERS: dict[str, Callable[[PassContext, Trail, int, Any], list[Trail]]] = {
    "fetch": _fetch,
    "fetch_table_lookup": _lookup,
    "fetch_cast": _fetch_cast,
    "fetch_zero_point_sub": _zero_point,
    "switch": _switch,
    "collect": _collect,
    "to_trf": _to_trf,
    "to_vrf": _to_vrf,
    "contract_outer": _outer,
    "contract_packet": _packet,
    "contract_time": _time,
    "contract_lane": _lane,
    "vector": _vector,
    "cast": _cast,
    "transpose": _transpose,
    "commit": _commit,
}
"""How each step of the kernel file is taken."""
