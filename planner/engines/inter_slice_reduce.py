"""The law of a reduction among slices: the innermost Slice factors are folded on the ring (domain: section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from models.digits import Digit, Factor, Free, Padded, walk_digits
from models.factors import divide, equivalent, normal
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Axis, Mapping, Pad, axis_names, nodes, terms, text
from models.parse import parse
from models.vector_ops import VectorOp
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, stream_dtype
from planner.engines.intra_slice_reduce import spelled, supported
from planner.engines.shapes import cut, disagreement, kept, lacks, show

if TYPE_CHECKING:
    from planner.engines.vector import VectorState

OPS: dict[str, tuple[str, ...]] = {"i32": ("Add", "AddSat", "Max", "Min"), "f32": ("Add", "Max", "Min", "Mul")}
"""What the ring folds with, by type."""

PADDING, BROADCAST, PROMOTED = "padding", "broadcast", "promoted"
_SUMS = frozenset({"Add", "AddSat"})


@dataclass(frozen=True, slots=True)
class InterSliceConfig:
    """The stated result; `neutral`: padding in the reduced slices is known to hold (True) or not to hold (False) the
    identity, None where nothing is known.
    """

    op: str
    slice: Mapping
    time: Mapping
    neutral: bool | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """What a freed slot becomes."""

    kind: str
    mapping: Mapping

    def document(self) -> dict[str, Any]:
        """As the stage's settings have it."""
        return {"kind": self.kind, "mapping": text(self.mapping), "size": self.mapping.size}


def law(ground: Ground, stream: Stream, config: InterSliceConfig) -> Outcome:
    """Folds `ratio` neighbouring slices into each other; steps are the flits that enter.

    Settings: ratio, and `filled`, what each freed slot becomes, outermost first.
    """
    del ground
    out = replace(stream, slice=config.slice, time=config.time)
    findings = [*kept([supported(OPS, "the inter-slice reducer", stream.dtype, config.op)])]
    ratio = reduced(stream.slice, config.slice)
    if ratio is None:
        return Outcome((*findings, _ratio(stream, config)), out, stream.time.size, {"ratio": 1, "filled": []})
    kept_slices, folded = cut(stream.slice, ratio)
    _, fill = cut(config.slice, ratio)
    slots, faults = _slots(stream, kept_slices, folded, fill)
    findings += faults
    if not faults:
        findings += _time(stream, config, slots)
    warnings: list[Finding] = []
    if _has_padding(stream, ratio) and not config.neutral:
        finding = _padding(folded, config)
        (warnings if config.neutral is None else findings).append(finding)
    settings = {"ratio": ratio, "filled": [s.document() for s in slots]}
    return Outcome(tuple(findings), out, stream.time.size, settings, tuple(warnings))


def reduced(slice_: Mapping, out_slice: Mapping) -> int | None:
    """How many neighbouring slices are folded: the least number outside of which both Slices agree; None: no such."""
    if slice_.size != out_slice.size:
        return None
    for ratio in range(2, slice_.size + 1):
        if slice_.size % ratio == 0 and equivalent(cut(slice_, ratio)[0], cut(out_slice, ratio)[0]):
            return None if equivalent(slice_, out_slice) else ratio
    return None


def _ratio(stream: Stream, config: InterSliceConfig) -> Finding:
    same = stream.slice.size == config.slice.size
    inner = terms(stream.slice)[-1]
    near = f"{text(stream.slice).removesuffix(text(inner))}1 # {inner.size}"
    return Finding(
        "inter_slice_ratio",
        f"out Slice `{text(config.slice)}` is not `{text(stream.slice)}` with its innermost factors replaced"
        if same
        else f"out Slice `{text(config.slice)}` has {config.slice.size} slices, Slice has {stream.slice.size}",
        text(config.slice),
        f"`{text(stream.slice)}` up to its innermost factors",
        near,
    )


# What the freed slots become --------------------------------------------------------------------------------


def _slots(stream: Stream, outside: Mapping, folded: Mapping, fill: Mapping) -> tuple[list[Slot], list[Finding]]:
    slots, findings = [], []
    seen: list[Mapping] = []
    for term in terms(fill):
        if term.size == 1:
            continue
        kind = _kind(stream, (outside, *seen), folded, term)
        if kind is None:
            findings.append(_not_a_slot(stream, term))
            continue
        seen.append(term)
        slots.append(Slot(kind, term))
    return slots, findings


def _kind(stream: Stream, taken: tuple[Mapping, ...], folded: Mapping, term: Mapping) -> str | None:
    factors = normal(term)
    if not axis_names(term):
        only_padding = all(isinstance(f, Padded) for f in factors)
        return PADDING if only_padding else BROADCAST if all(isinstance(f, Free) for f in factors) else None
    if not lacks((*taken, folded), term):
        return None
    if divide(stream.time, term) is not None:
        return PROMOTED
    fresh = lacks((stream.time, stream.packet, stream.chip, stream.cluster), term)
    return BROADCAST if fresh and not any(isinstance(f, Padded) for f in factors) else None


def _not_a_slot(stream: Stream, term: Mapping) -> Finding:
    return Finding(
        "inter_slice_slot",
        f"`{text(term)}` cannot fill a freed slot: it is neither padding, nor new, nor a factor of Time"
        f" `{text(stream.time)}`",
        text(term),
        "`1 # n`, a new axis, or a factor of Time",
        f"1 # {term.size}",
    )


def _time(stream: Stream, config: InterSliceConfig, slots: list[Slot]) -> list[Finding]:
    left: Mapping = stream.time
    for slot in slots:
        if slot.kind == PROMOTED:
            left = divide(left, slot.mapping) or left
    return list(kept([disagreement("inter_slice_time_mismatch", "Time behind the reducer", config.time, left)]))


def _has_padding(stream: Stream, ratio: int) -> bool:
    """Whether some of the slices that are folded into each other hold padding in place of data, at some step."""
    low = 1
    for factor in _inwards(normal(stream.slice, (stream.time, stream.packet))):
        if low >= ratio:
            return False
        if isinstance(factor, Padded):
            return True
        low *= factor.size
        if any(_overruns(d) for d in walk_digits([factor])):
            return True
    return False


def _inwards(factors: Sequence[Factor]) -> Iterator[Factor]:
    """Factors from the innermost; what stands before padding counts alone, then the padding does."""
    for factor in reversed(factors):
        if isinstance(factor, Padded):
            yield from _inwards(factor.inner)
        yield factor


def _overruns(digit: Digit) -> bool:
    """Whether a digit of a padded axis may stand on padding."""
    padded = any(isinstance(n, Pad) for n in nodes(digit.base))
    return padded or (isinstance(digit.base, Axis) and digit.stride * (digit.size - 1) >= digit.base.size)


def _padding(folded: Mapping, config: InterSliceConfig) -> Finding:
    rule = "inter_slice_padding_unknown" if config.neutral is None else "inter_slice_padding"
    return Finding(
        rule,
        f"the reduced slices `{show(folded)}` hold padding, which {config.op} folds with the data",
        show(folded),
        f"padding that holds the identity of {config.op}",
        "an intra_slice_reduce of that axis with the same operation before it",
    )


# As an op, and as a case ------------------------------------------------------------------------------------


def op_law(ground: Ground, state: VectorState, op: VectorOp) -> Outcome:
    """The reduction as an op of a chain, with a remark on its cycles."""
    stream = state.stream
    config = InterSliceConfig(
        spelled(OPS, stream.dtype, op.op),
        stream.slice if op.slice is None else parse(op.slice, ground.axes),
        stream.time if op.time is None else parse(op.time, ground.axes),
        _neutral(state, op),
    )
    outcome = law(ground, stream, config)
    ratio = outcome.settings["ratio"]
    guess = Finding(
        "inter_slice_cycles_guess",
        f"the cycles of reducing over {ratio} slices in {stream.time.size} steps follow a law fitted at one point",
        f"ratio {ratio}, {stream.time.size} steps",
        "one step",
    )
    return replace(outcome, warnings=(*outcome.warnings, guess))


def _neutral(state: VectorState, op: VectorOp) -> bool:
    """Whether slices without data hold the identity: a slice reduction that folded nothing leaves it."""
    before = [
        o for o in state.done if o.name not in ("tag", "narrow_split", "narrow_trim", "widen_concat", "widen_pad")
    ]
    last = before[-1] if before else None
    if last is None or last.name != "intra_slice_reduce":
        return False
    same = str(last.op).lower() == str(op.op).lower() or {str(last.op), str(op.op)} <= _SUMS
    return same and axis_names(state.stream.slice) >= {str(last.axis)}


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, mapping(case, "slice"), mapping(case, "time"), ONE)
    config = InterSliceConfig(str(case.get("op", "")), mapping(case, "out_slice"), mapping(case, "out_time"))
    outcome = law(ground_of(case, hardware), stream, config)
    return judged(outcome, {"ratio": outcome.settings["ratio"]})


CASES: dict[str, CaseFunction] = {"inter_slice_reduce": _case}
