"""The vector engine's law: a chain of ops over a stream of i32 or f32 (domain: section 8).

What holds for every op (stage order, ways, types, ALUs, operands, stash, pairs) is checked here from the tables;
what an op does to the stream stands in `OP_LAWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from models.faults import Finding
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, MappingError, pair, text
from models.parse import parse
from models.vector_ops import VectorOp
from planner.engines import inter_slice_reduce, intra_slice_reduce, vector_operands, vector_pairs, vector_shape
from planner.engines.base import Ground, Outcome
from planner.engines.intra_slice_identity import UNKNOWN, VCG, Held
from planner.engines.vector_alu import Assigned, assign
from planner.engines.vector_table import (
    BOTH,
    COMPARISONS,
    COMPARISONS_PER_TAG,
    OPS,
    STAGES,
    STASH_STAGES,
    TO_INTER_SLICE,
    WIDE,
)

INTER_SLICE = "inter_slice_reduce"
STASH = vector_operands.STASH
SHAPE_OPS = ("narrow_split", "narrow_trim", "widen_concat", "widen_pad")
"""Ops that judge the packet's width themselves."""


@dataclass(frozen=True, slots=True)
class VectorState:
    """Where a chain stands: the stream before the op, the stage of the last op, what is stashed, pairs.

    `done` are the ops before, `tensors` all layouts by name; `source` is the stream that entered the engine. `mask` is
    how a reduction keeps padding out, `held` what is known of that padding.
    """

    stream: Stream
    source: Stream
    stage: str = ""
    done: tuple[VectorOp, ...] = ()
    stash: Stream | None = None
    stash_read: bool = False
    pairs: str = ""
    tensors: dict[str, TensorLayout] = field(default_factory=dict)
    mask: str = VCG
    held: Held = UNKNOWN


OpLaw = Callable[[Ground, VectorState, VectorOp], Outcome]


def chain(
    ground: Ground,
    stream: Stream,
    ops: Sequence[VectorOp],
    tensors: dict[str, TensorLayout],
    mask: str = VCG,
    held: Held = UNKNOWN,
) -> tuple[Outcome, ...]:
    """One outcome per op, in order; a fault does not stop the ops that follow."""
    state = VectorState(stream, stream, tensors=tensors, mask=mask, held=held)
    assigned = assign(ops, stream.dtype)
    out: list[Outcome] = []
    for i, op in enumerate(ops):
        outcome = _op(ground, state, op, assigned[i], last=i == len(ops) - 1)
        out.append(outcome)
        state = _after(state, op, outcome)
    if ops:
        closing = tuple(_at_the_end(ground, state))
        out[-1] = replace(out[-1], findings=(*out[-1].findings, *closing))
    return tuple(out)


def law(ground: Ground, stream: Stream, ops: Sequence[VectorOp], tensors: dict[str, TensorLayout]) -> Outcome:
    """The whole chain as one engine: findings of all ops, the stream that leaves, the largest step count."""
    outcomes = chain(ground, stream, ops, tensors)
    return Outcome(
        tuple(f for o in outcomes for f in o.findings),
        outcomes[-1].stream if outcomes else stream,
        max((o.steps for o in outcomes), default=stream.time.size),
        {"ops": [o.settings for o in outcomes]},
        tuple(w for o in outcomes for w in o.warnings),
    )


def _op(ground: Ground, state: VectorState, op: VectorOp, assigned: Assigned, *, last: bool) -> Outcome:
    generic = [*_placed(ground, state, op, last=last), *_typed(state, op), *assigned.findings]
    generic += vector_operands.findings(op, state.stream, state.tensors)
    generic += [*_stash(state, op), *vector_pairs.operands(op, state.pairs)]
    try:
        own = OP_LAWS.get(op.name, as_stated)(ground, state, op)
    except MappingError as fault:
        own = Outcome((Finding(fault.rule, fault.message, fault.found, fault.wanted),), state.stream)
    stream = own.stream or state.stream
    form = OPS.get(op.name)
    if form is not None and form.gives:
        stream = replace(stream, dtype=form.gives)
    settings = op.model_dump(mode="json", exclude_defaults=True) | own.settings
    if assigned.alu:
        settings["alu"] = assigned.alu
    steps = vector_pairs.flits(state.pairs, own.steps or max(state.stream.time.size, stream.time.size))
    return Outcome((*generic, *own.findings), stream, steps, settings, own.warnings)


def _after(state: VectorState, op: VectorOp, outcome: Outcome) -> VectorState:
    form = OPS.get(op.name)
    stage = form.stage if form else op.name if op.name == INTER_SLICE else state.stage
    reads = STASH in list(vector_operands.named(op))
    return replace(
        state,
        stream=outcome.stream or state.stream,
        stage=stage,
        done=(*state.done, op),
        stash=state.stream if op.name == STASH else None if op.name == INTER_SLICE else state.stash,
        stash_read=state.stash_read or reads,
        pairs=vector_pairs.phase(op, state.pairs),
    )


# What holds for every op ------------------------------------------------------------------------------------


def _placed(ground: Ground, state: VectorState, op: VectorOp, *, last: bool) -> Iterator[Finding]:
    if op.name == STASH:
        return
    if op.name == INTER_SLICE:
        if state.done and not (last and (state.stage in TO_INTER_SLICE)):
            wanted = "first, or last after " + ", ".join(sorted(TO_INTER_SLICE))
            yield Finding(
                "inter_slice_place",
                f"the inter-slice reducer cannot follow {state.stage or 'this'}",
                state.stage,
                wanted,
            )
        return
    form = OPS.get(op.name)
    if form is None:
        yield Finding("unknown_vector_op", f"there is no vector op {op.name}", op.name, "one of " + ", ".join(OPS))
        return
    if (state.stage in STAGES and STAGES.index(form.stage) < STAGES.index(state.stage)) or _repeated(state, form.stage):
        yield Finding(
            "vector_stage_order",
            f"{op.name} belongs to stage {form.stage}, the chain has passed it at {state.stage}",
            f"{form.stage} after {state.stage}",
            " -> ".join(STAGES),
        )
    unit = ground.hardware.vector
    ways = unit.ways_wide if form.ways == WIDE else unit.ways_narrow
    fault = vector_shape.packet_ways(state.stream.packet, ways)
    if fault is not None and op.name not in SHAPE_OPS:
        yield fault
    if op.name in vector_pairs.barred(state.pairs):
        yield Finding("pair_mode_op", f"{op.name} is not available after unzip", op.name, "an op that works on pairs")
    if op.name.endswith("_zip") and state.pairs != vector_pairs.PAIRED:
        yield Finding("pair_mode_op", f"{op.name} joins two groups, there are none", op.name, "unzip before it")
    if op.name == "unzip" and any(o.name != "tag" for o in state.done):
        yield Finding("pair_mode_op", "unzip stands at the start of the chain", op.name, "unzip first")


def _repeated(state: VectorState, stage: str) -> bool:
    """One narrowing, one widening, one conversion each: those stages hold a single op."""
    return stage == state.stage and stage in ("narrow", "widen", "fxp_to_fp", "fp_to_fxp", "fp_div")


def _typed(state: VectorState, op: VectorOp) -> Iterator[Finding]:
    form = OPS.get(op.name)
    legal = form.takes if form else BOTH
    if state.stream.dtype in legal:
        return
    yield Finding(
        "vector_type",
        f"{op.name} takes {' or '.join(legal)}, the stream is {state.stream.dtype}",
        state.stream.dtype,
        " or ".join(legal),
        "fxp_to_fp or fetch_cast before it" if legal == ("f32",) else "",
    )


def _stash(state: VectorState, op: VectorOp) -> Iterator[Finding]:
    if op.name == STASH:
        stage = state.stage or "tag"
        if stage not in STASH_STAGES:
            yield Finding(
                "stash", f"{stage} cannot write the stash", stage, "one of " + ", ".join(sorted(STASH_STAGES))
            )
        if any(o.name == STASH for o in state.done):
            yield Finding("stash", "the stash is written twice in one pass", "2", "once")
        if state.pairs:
            yield Finding("pair_mode_op", "stash is not available after unzip", STASH, "an op that works on pairs")
        return
    if STASH not in list(vector_operands.named(op)):
        return
    if state.stash is None:
        yield Finding("stash", f"{op.name} reads a stash that holds nothing", STASH, "stash before it")
        return
    if state.stash_read:
        yield Finding("stash", "the stash is read twice", "2", "once")
    if state.stash.dtype != state.stream.dtype:
        yield Finding(
            "stash",
            f"the stash is {state.stash.dtype}, the stream {state.stream.dtype}",
            state.stash.dtype,
            state.stream.dtype,
        )
    yield from vector_operands.axis_reads("the stash", pair(state.stash.time, state.stash.packet), state.stream)


def _at_the_end(ground: Ground, state: VectorState) -> Iterator[Finding]:
    fault = vector_shape.packet_ways(state.stream.packet, ground.hardware.vector.ways_wide)
    if fault is not None:
        yield Finding(
            "vector_end",
            f"the chain ends on `{text(state.stream.packet)}`: {fault.message}",
            fault.found,
            fault.wanted,
            fault.nearest,
        )
    if state.pairs == vector_pairs.PAIRED:
        yield Finding("pair_mode_op", "the chain ends on pairs", "paired", "a zip op", "clip_zip")


# What an op does to the stream ------------------------------------------------------------------------------


def as_stated(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    """Element by element the stream keeps its shape; what an op states of Slice, Time or Packet is taken."""
    stream = state.stream
    out = replace(
        stream,
        slice=_stated(ground, op.slice, stream.slice),
        time=_stated(ground, op.time, stream.time),
        packet=_stated(ground, op.packet, stream.packet),
    )
    return Outcome((), out, max(stream.time.size, out.time.size))


def _tag(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    """Four tag bits for each element, zero or by four comparisons with constants."""
    names = [str(next(iter(c), "")) for c in op.comparisons]
    lower = [c.lower() for c in COMPARISONS]
    findings = []
    if op.comparisons and (len(names) != COMPARISONS_PER_TAG or any(n.lower() not in lower for n in names)):
        findings.append(
            Finding(
                "tag_comparisons",
                f"a tag has {len(names)} comparisons: {', '.join(names)}",
                f"{len(names)}: {', '.join(names)}",
                f"zero, or {COMPARISONS_PER_TAG} of {', '.join(COMPARISONS)}",
            )
        )
    return replace(as_stated(ground, state, op), findings=tuple(findings))


def _stated(ground: Ground, written: object, otherwise: Mapping) -> Mapping:
    return parse(str(written), ground.axes) if written is not None else otherwise


def _split(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    stream = state.stream
    reshape = vector_shape.narrow_split if op.name == "narrow_split" else vector_shape.widen_concat
    return reshape(ground, stream, _stated(ground, op.time, stream.time), _stated(ground, op.packet, stream.packet))


def _trim(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    reshape = vector_shape.narrow_trim if op.name == "narrow_trim" else vector_shape.widen_pad
    written = op.packet if op.packet is not None else op.value
    return reshape(ground, state.stream, _stated(ground, written, state.stream.packet))


def _unzip(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    axis = op.axis or str(op.value)
    tile = parse(op.tile_time, ground.axes) if op.tile_time else None
    split = parse(op.split_time, ground.axes) if op.split_time else None
    outcome = vector_shape.unzip(state.stream, axis, ground.axes.get(axis, 0), tile, split)
    return replace(outcome, settings=vector_pairs.settings(state.stream.time, axis))


OP_LAWS: dict[str, OpLaw] = {
    "tag": _tag,
    "narrow_split": _split,
    "widen_concat": _split,
    "narrow_trim": _trim,
    "widen_pad": _trim,
    "unzip": _unzip,
    "intra_slice_reduce": intra_slice_reduce.op_law,
    INTER_SLICE: inter_slice_reduce.op_law,
}
"""What an op does to the stream, by its name; others do what they state."""

CASES = vector_shape.CASES
