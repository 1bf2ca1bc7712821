"""All legal ways of a pass, what stops the others, and what the pass writes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from models.faults import Finding
from models.graph import MAIN, SUB, Illegal, Mode
from models.kernel import Commit, ContractOuter, PassOp, Place, ToTrf, ToVrf, Vector
from models.layout import TensorLayout
from models.mapping import MappingError
from models.plan import Stage
from planner.engines import pipeline
from planner.engines.base import Ground
from planner.engines.shapes import size_bytes
from planner.engines.vector_operands import vrf_names
from planner.pass_steps import advance
from planner.pass_trail import PassContext, Trail, fewest_faults

_NAME_DIGITS = 16
Located = tuple[int, Finding]
"""A finding with the index of its step in the pass."""


@dataclass(frozen=True, slots=True)
class First:
    """A pass before the pass, done only where that is done in a mode of `needed_by`; it writes `between`."""

    op: PassOp
    result: PassResult
    between: str
    needed_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a pass may be.

    `modes`: all legal combinations of its own choices that no other dominates; `dominated` the legal rest. `programs`:
    the stages of each, by `Mode.program`. `illegal`: values of choices that no legal mode has. `writes`: the tensor
    that the pass creates, or the whole tensor of its tile. `trf_rows`: physical rows per bank, `regions` the address
    modes that fit, `bytes` per slice of what it writes. `findings` (no mode is legal) and `warnings` name their step.
    `first` is the pass that some modes need before them.
    """

    modes: tuple[Mode, ...] = ()
    programs: dict[str, tuple[Stage, ...]] = field(default_factory=dict)
    illegal: tuple[Illegal, ...] = ()
    writes: TensorLayout | None = None
    trf_rows: int = 0
    regions: tuple[str, ...] = ()
    bytes: int = 0
    findings: tuple[Located, ...] = ()
    warnings: tuple[Located, ...] = ()
    dominated: tuple[Mode, ...] = ()
    first: First | None = None


def evaluate(
    op: PassOp,
    tensors: dict[str, TensorLayout],
    ground: Ground,
    fixed: dict[str, str],
    forbidden: Iterable[tuple[str, str]],
) -> PassResult:
    """Judges every combination of a pass's own choices.

    Args:
        op: the pass as the kernel file has it.
        tensors: layouts of everything written before it, by name.
        ground: chip and axes; its context is replaced by the pass's.
        fixed: values that the user fixed, by choice: `context`, `switch`, `lane_mode`, `transpose`, `via`.
        forbidden: values that the user forbade.

    """
    misplaced = pipeline.order([s.step for s in op.steps])
    if misplaced:
        return PassResult(findings=(*_before(misplaced[0][0], op, tensors, ground), *misplaced))
    trails: list[tuple[PassContext, Trail]] = []
    memo: dict[Hashable, Any] = {}
    for context in (MAIN, SUB) if op.context == "auto" else (op.context,):
        here = PassContext(op, replace(ground, context=context), tensors, memo)
        trails += [(here, t) for t in _trails(here)]
    asked = [(c, t) for c, t in trails if _allowed(t, fixed, frozenset(forbidden))]
    legal = [(c, t) for c, t in asked if not t.findings]
    illegal = _illegal([t for _, t in trails])
    if not legal:
        return PassResult(illegal=illegal, findings=_why_none(op, [t for _, t in asked or trails], fixed))
    return _result(op, legal, illegal)


def register_operands(op: PassOp) -> tuple[str, ...]:
    """Names of the TRF and VRF tensors that a pass reads, each once."""
    names: list[str] = []
    for step in op.steps:
        if isinstance(step, ContractOuter):
            names.append(step.with_)
        elif isinstance(step, Vector):
            names += [n for o in step.ops for n in vrf_names(o)]
    return tuple(dict.fromkeys(names))


def target(op: PassOp) -> Place:
    """What a pass writes: the name or the tile of its last step.

    Raises:
        ValueError: the last step stores nothing.

    """
    last = op.steps[-1]
    if isinstance(last, ToTrf | ToVrf | Commit):
        return last.write
    raise ValueError(f"{last.step} stores nothing")


def _before(index: int, op: PassOp, tensors: dict[str, TensorLayout], ground: Ground) -> list[Located]:
    """Faults of the steps before the first misplaced one, so that one run reports them too."""
    if index == 0:
        return []
    context = MAIN if op.context == "auto" else op.context
    start = op.model_copy(update={"steps": op.steps[:index]})
    trails = _trails(PassContext(start, replace(ground, context=context), tensors))
    return list(fewest_faults(trails).findings)


def _trails(context: PassContext) -> list[Trail]:
    trails = [Trail().decided("context", context.ground.context)]
    for index in range(len(context.op.steps)):
        try:
            trails = [after for t in trails for after in advance(context, t, index)]
        except MappingError as fault:
            finding = Finding(fault.rule, fault.message, fault.found, fault.wanted)
            return [replace(t.broken(index, finding), stopped=True) for t in trails]
    return trails


def _allowed(trail: Trail, fixed: dict[str, str], forbidden: frozenset[tuple[str, str]]) -> bool:
    decisions = dict(trail.decisions)
    wanted = all(name not in decisions or _is(decisions[name], value) for name, value in fixed.items())
    return wanted and not any(name in decisions and _is(decisions[name], value) for name, value in forbidden)


def _is(decided: str, value: str) -> bool:
    """Whether a decision is the value, or a switch configuration of that kind."""
    return decided.lower() == value.lower() or decided.partition("(")[0].lower() == value.lower()


def _illegal(trails: list[Trail]) -> tuple[Illegal, ...]:
    """Values that no legal trail has, with the first finding of the trail that comes closest."""
    by_value: dict[tuple[str, str], list[Trail]] = {}
    for trail in trails:
        for decision in trail.decisions:
            by_value.setdefault(decision, []).append(trail)
    out = []
    for (name, value), having in by_value.items():
        if all(t.findings for t in having):
            _, finding = fewest_faults(having).findings[0]
            out.append(Illegal(name, value, finding.rule, finding.message))
    return tuple(out)


def _why_none(op: PassOp, trails: list[Trail], fixed: dict[str, str]) -> tuple[Located, ...]:
    """The faults of the trail that comes closest; where the user's choices exclude every legal one, that."""
    if trails:
        nearest = fewest_faults(trails)
        if nearest.findings:
            return tuple(dict.fromkeys(sorted(nearest.findings, key=lambda f: f[0])))
    chosen = ", ".join(f"{k}={v}" for k, v in fixed.items())
    finding = Finding(
        "no_mode_left",
        f"{op.name} has legal modes, the fixed and forbidden choices exclude all of them",
        chosen,
        "another value for one of them",
    )
    return ((0, finding),)


def _result(op: PassOp, legal: list[tuple[PassContext, Trail]], illegal: tuple[Illegal, ...]) -> PassResult:
    named = [(_mode(op, context, trail), trail) for context, trail in legal]
    kept, dominated = pruned([m for m, _ in named])
    ids = {m.id for m in kept}
    first = next(t for m, t in named if m.id in ids)
    stored: dict[str, Any] = first.outcomes[op.steps[-1].step].settings
    assert first.writes is not None
    warnings = [w for m, t in named if m.id in ids for w in t.warnings]
    return PassResult(
        modes=kept,
        programs={m.program: t.stages for m, t in named},
        illegal=illegal,
        writes=first.writes,
        trf_rows=int(stored.get("rows", 0)),
        regions=tuple(stored.get("regions", ())),
        bytes=size_bytes(first.writes.dtype, first.writes.element.size),
        warnings=tuple(dict.fromkeys(warnings)),
        dominated=dominated,
    )


def _mode(op: PassOp, context: PassContext, trail: Trail) -> Mode:
    hardware = context.ground.hardware
    runs = [_number(trail.setting(step, "bank_run")) for step in ("fetch", "commit")]
    held = pipeline.holds(context.ground.context, trail.names) | pipeline.starved(hardware, *runs)
    identifier = "/".join(value for _, value in trail.decisions)
    return Mode(
        id=identifier,
        decisions=dict(trail.decisions),
        holds=held,
        cycles=trail.cycles(context),
        program=f"{op.name}:{identifier}",
        bitmap=_bitmap(trail),
    )


def _bitmap(trail: Trail) -> str | None:
    """A name that is equal for equal custom snoop bitmaps, so that passes in sequence share one load."""
    config, bitmap = trail.setting("switch", "config"), trail.setting("switch", "bitmap")
    if not isinstance(config, dict) or not isinstance(bitmap, dict) or config.get("kind") != "CustomBroadcast":
        return None
    shape = f"{bitmap['period']}:{bitmap['pattern']}"
    return sha256(shape.encode()).hexdigest()[:_NAME_DIGITS]


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def pruned(modes: list[Mode]) -> tuple[tuple[Mode, ...], tuple[Mode, ...]]:
    """Modes that no other dominates, in order, and the rest: a mode that holds as much, or more, and takes as long."""
    kept: list[Mode] = []
    for mode in modes:
        if any(_dominates(k, mode) for k in kept):
            continue
        kept = [k for k in kept if not _dominates(mode, k)] + [mode]
    ids = {m.id for m in kept}
    return tuple(kept), tuple(m for m in modes if m.id not in ids)


def _dominates(a: Mode, b: Mode) -> bool:
    same_load = a.bitmap is None or a.bitmap == b.bitmap
    return same_load and a.holds <= b.holds and a.cycles <= b.cycles
