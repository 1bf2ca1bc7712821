"""The law of a reduction inside a slice: an axis leaves Time and Packet (seed 004; domain: section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from models.cells import LIVE, tensor_cells
from models.factors import contiguous_walk, divide, equivalent, normal
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping, Pad, axis_names, pair, terms, text
from models.parse import parse
from models.vector_ops import VectorOp
from planner.engines import valid_count
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseError, CaseFunction, ground_of, judged, mapping, stream_dtype
from planner.engines.contraction import inner_time
from planner.engines.intra_slice_identity import IDENTITY, NONE, UNKNOWN, VCG, Held, identity_findings
from planner.engines.reduced_axis import reads_only, set_apart, without, written_cut
from planner.engines.shapes import disagreement, kept, show
from planner.engines.valid_count_proposals import proposal
from planner.engines.vector_shape import packet_ways

if TYPE_CHECKING:
    from planner.engines.vector import VectorState

OPS: dict[str, tuple[str, ...]] = {"i32": ("AddSat", "Max", "Min"), "f32": ("Add", "Max", "Min")}
"""What the accumulator does for each type; a reduction folds in this order: op(op(a, b), op(c, d)), then time."""

MOST_COUNTED = 2**24
"""Cells of which the live ones are counted for a report."""


@dataclass(frozen=True, slots=True)
class ReduceConfig:
    """What is reduced: an axis, by an operation; the stated result.

    `mask`: how padding of the axis is kept out (vcg or identity); `held`: what is known of it; `split`: a
    narrow_split stands before, so that the flits of the valid count generator hold both halves.
    """

    axis: str
    op: str
    time: Mapping
    packet: Mapping
    mask: str = VCG
    held: Held = UNKNOWN
    split: bool = False


def supported(ops: dict[str, tuple[str, ...]], what: str, dtype: str, op: str) -> Finding | None:
    """A finding where a reducer does not have the operation for the type."""
    legal = ops.get(dtype, ())
    if op in legal:
        return None
    near = next((o for o in legal if o.startswith("Add") and op.startswith("Add")), "")
    return Finding(
        "op_not_supported",
        f"{what} has no {op} of {dtype}",
        f"{op} of {dtype}",
        ", ".join(legal) or "i32 or f32",
        near,
    )


def law(ground: Ground, stream: Stream, config: ReduceConfig) -> Outcome:
    """Folds the axis over Time and Packet of each slice; steps are the flits that enter.

    Settings: slots, first_output_delay and stall_flits in flits, reduced_steps (time steps of the reduced axis),
    tree, mask, vcg and vcg_ways; live (elements folded per slice) where there is padding.
    """
    out = replace(stream, time=config.time, packet=config.packet)
    findings = [*kept([supported(OPS, "a reduction inside a slice", stream.dtype, config.op)])]
    findings += _leaves(stream, config)
    time = set_apart(stream.time, config.axis)
    summed = divide(time, config.time)
    if not findings or {f.rule for f in findings} == {"op_not_supported"}:
        findings += [*_time(stream, config, summed), *_packet(stream, config)]
    steps = max(1, stream.time.size // config.time.size)
    slots = inner_time(time, config.time) or config.time.size
    most = ground.hardware.vector.time_slots
    if slots > most:
        findings.append(_slots(stream, config, slots, most))
    settings = {
        "slots": slots,
        "first_output_delay": steps,
        "stall_flits": (steps - 1) * slots + 1,
        "reduced_steps": steps,
        "tree": config.axis in axis_names(stream.packet),
    }
    masked, own, warnings = _masked(ground, stream, config)
    return Outcome(
        (*findings, *masked), out, stream.time.size, settings | own | _counted(stream, config, summed, own), warnings
    )


# The shape of the result ------------------------------------------------------------------------------------


def _leaves(stream: Stream, config: ReduceConfig) -> Iterator[Finding]:
    left = [e for e in (config.time, config.packet) if config.axis in axis_names(e)]
    if left:
        yield Finding(
            "reduce_axis_remains",
            f"{config.axis} is reduced, but stands in `{text(left[0])}` behind the reduction",
            text(left[0]),
            f"no factor of {config.axis}",
            f"time `{show(without(stream.time, config.axis))}`, packet `{_wanted_packet(stream, config.axis)}`",
        )
    if config.axis not in axis_names(stream.time) | axis_names(stream.packet):
        yield Finding(
            "reduce_axis_missing",
            f"{config.axis} stands neither in Time `{text(stream.time)}` nor in the packet `{text(stream.packet)}`",
            f"{text(stream.time)}, {text(stream.packet)}",
            f"a factor of {config.axis}",
            "inter_slice_reduce, if it stands in Slice",
        )


def _wanted_packet(stream: Stream, axis: str) -> str:
    return f"1 # {stream.packet.size}" if axis in axis_names(stream.packet) else show(stream.packet)


def _time(stream: Stream, config: ReduceConfig, summed: Mapping | None) -> Iterator[Finding]:
    wanted = without(stream.time, config.axis)
    foreign = summed is None or any(not reads_only(f, config.axis) for f in normal(summed))
    if foreign and not equivalent(wanted, config.time):
        yield Finding(
            "reduce_time_mismatch",
            f"`{text(config.time)}` is not Time `{text(stream.time)}` without the factors of {config.axis}",
            text(config.time),
            f"`{show(wanted)}`",
            show(wanted),
        )


def _packet(stream: Stream, config: ReduceConfig) -> Iterator[Finding]:
    if config.axis not in axis_names(stream.packet):
        yield from kept(
            [disagreement("reduce_packet_mismatch", "the packet behind the reduction", config.packet, stream.packet)]
        )
        return
    tree = Pad(ONE, stream.packet.size)
    own = normal(set_apart(stream.packet, config.axis))
    mixed = any(not reads_only(f, config.axis) for f in own)
    if mixed or not equivalent(config.packet, tree):
        held = f", and the packet `{text(stream.packet)}` holds more than {config.axis}" if mixed else ""
        yield Finding(
            "reduce_packet_mismatch",
            f"a tree folds all lanes into `{text(tree)}`{held}",
            text(config.packet),
            text(tree),
            text(tree) if not mixed else f"{config.axis} alone in the packet, or not at all",
        )


def _slots(stream: Stream, config: ReduceConfig, slots: int, most: int) -> Finding:
    summed = pair(*(t for t in terms(stream.time) if axis_names(t) == {config.axis}))
    return Finding(
        "too_many_slots",
        f"{slots} sums run side by side in Time `{text(stream.time)}`, there are {most} slots",
        f"{slots} slots",
        f"at most {most}",
        f"{config.axis} inner to the others: `{show(pair(config.time, summed))}`",
    )


# Padding ----------------------------------------------------------------------------------------------------


Masked = tuple[list[Finding], dict[str, Any], tuple[Finding, ...]]


def _masked(ground: Ground, stream: Stream, config: ReduceConfig) -> Masked:
    """How padding stays out: findings, settings, and a warning where the generator cannot do it."""
    time, packet = stream.time, stream.packet
    if config.split and time.size % 2 == 0:
        time, half = written_cut(stream.time, 2)
        packet = pair(half, stream.packet)
    verdict = valid_count.derive(ground.hardware, stream.slice, time, packet, config.axis)
    settings = {"mask": config.mask if verdict.padded else NONE, "vcg": verdict.settings, "vcg_ways": packet.size}
    if not verdict.padded:
        return [], settings, ()
    if config.mask == IDENTITY:
        return list(identity_findings(stream, config.axis, config.op, config.held)), settings | {"vcg": None}, ()
    if verdict.settings is not None:
        return [], settings, ()
    message = (
        f"the valid count generator cannot skip the padding of {config.axis} over Slice `{text(stream.slice)}`, Time"
        f" `{text(time)}`, Packet `{text(packet)}`: {verdict.reason}; the counts are those of the mapping"
    )
    other = proposal(ground.hardware, stream.slice, time, packet, config.axis)
    out = f"padding that holds the identity of {config.op}" + (f", or {other}" if other else "")
    return [], settings, (Finding("vcg_not_expressible", message, verdict.reason, "a setting", out),)


def _counted(stream: Stream, config: ReduceConfig, summed: Mapping | None, own: dict[str, Any]) -> dict[str, Any]:
    if own["mask"] == NONE or summed is None:
        return {}
    live = folded(stream, config.axis, summed)
    return {} if live is None else {"live": live}


def folded(stream: Stream, axis: str, summed: Mapping) -> list[int] | None:
    """How many elements of the reduced axis each slice folds into its first result; None: too many to count."""
    walk = contiguous_walk([summed], set_apart(stream.time, axis))
    lanes = stream.packet.size if axis in axis_names(stream.packet) else 1
    if walk is None or stream.slice.size * summed.size * lanes > MOST_COUNTED:
        return None
    at = np.zeros(1, dtype=np.int64)
    for size, stride in walk:
        at = (at[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
    slices = np.arange(stream.slice.size, dtype=np.int64).reshape(-1, 1, 1)
    positions = [
        (stream.slice, slices),
        (stream.time, at.reshape(1, -1, 1)),
        (stream.packet, np.arange(lanes, dtype=np.int64).reshape(1, 1, -1)),
    ]
    kind = np.broadcast_to(tensor_cells(positions).kind, (stream.slice.size, at.size, lanes))
    return [int(n) for n in (kind == LIVE).sum(axis=(1, 2))]


# Case files -------------------------------------------------------------------------------------------------


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    axis = str(case.get("reduce", ""))
    if axis not in case.get("axes", {}):
        raise CaseError(f"case {case.get('id', '?')}: `reduce` names no declared axis")
    stream = Stream(
        stream_dtype(case), ONE, ONE, mapping(case, "slice"), mapping(case, "time"), mapping(case, "packet")
    )
    config = ReduceConfig(axis, str(case.get("op", "")), mapping(case, "out_time"), mapping(case, "out_packet"))
    ways = kept([packet_ways(stream.packet, hardware.vector.ways_narrow)])
    outcome = law(ground_of(case, hardware), stream, config)
    summed = divide(set_apart(stream.time, axis), config.time)
    live = folded(stream, axis, summed) if summed is not None else None
    fields = {k: outcome.settings[k] for k in ("slots", "first_output_delay", "vcg")}
    return judged(replace(outcome, findings=(*ways, *outcome.findings)), fields | {"live": dict(enumerate(live or ()))})


CASES: dict[str, CaseFunction] = {"intra_slice_reduce": _case}


def op_law(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    """The reduction as an op of a chain."""
    stream = state.stream
    config = ReduceConfig(
        str(op.axis or op.value),
        spelled(OPS, stream.dtype, op.op),
        stream.time if op.time is None else parse(op.time, ground.axes),
        stream.packet if op.packet is None else parse(op.packet, ground.axes),
        state.mask,
        replace(state.held, ops=state.done),
        any(o.name == "narrow_split" for o in state.done),
    )
    return law(ground, stream, config)


def spelled(ops: dict[str, tuple[str, ...]], dtype: str, written: str | None) -> str:
    """An operation in vISA's spelling, matched without case; as written where there is none."""
    return next((o for o in ops.get(dtype, ()) if o.lower() == str(written).lower()), str(written))
