"""Two passes in place of one: where no configuration of a switch left open does it, or two cheap rings are cheaper.

The pass keeps its name and its end; before it stands a pass of its own that leaves the data in a buffer between, and
that is there only in the modes that need it (domain: section 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from models.graph import MAIN, Mode
from models.kernel import AUTO, Collect, Commit, Fetch, PassOp, Step, Switch
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, pair, text
from models.parse import parse
from planner import passes
from planner.engines.base import Ground
from planner.engines.switch_compose import compositions
from planner.engines.switch_options import Option, rank
from planner.pass_steps import before_switch, wanted_slice
from planner.pass_trail import PassContext
from planner.passes import First, PassResult

COMPOSITION = "Composition"
"""The kind by which a pair of passes is fixed or forbidden."""
Tensors = dict[str, TensorLayout]
Forbidden = Iterable[tuple[str, str]]


def evaluate(op: PassOp, tensors: Tensors, ground: Ground, fixed: dict[str, str], forbidden: Forbidden) -> PassResult:
    """Judges a pass as `passes.evaluate` does, and offers pairs of passes beside what a single one can do."""
    forbidden = tuple(forbidden)
    single = passes.evaluate(op, tensors, ground, fixed, forbidden)
    if _excluded(fixed, forbidden):
        return single
    least = min((m.cycles for m in single.modes), default=None)
    for option in _options(op, tensors, ground, least):
        found = _two(op, option, tensors, ground, fixed, forbidden)
        if found is not None and single.writes in (None, found.writes):
            return _beside(single, found)
    return single


def _excluded(fixed: dict[str, str], forbidden: tuple[tuple[str, str], ...]) -> bool:
    wanted = fixed.get("switch", COMPOSITION).partition("(")[0].lower()
    return wanted != COMPOSITION.lower() or any(
        name == "switch" and value.partition("(")[0].lower() == COMPOSITION.lower() for name, value in forbidden
    )


def _options(op: PassOp, tensors: Tensors, ground: Ground, least: int | None) -> Iterator[Option]:
    """Pairs of configurations for the pass's open switch, cheapest first."""
    at = next((i for i, s in enumerate(op.steps) if isinstance(s, Switch)), None)
    if at is None or isinstance(op.read, tuple) or op.interleave is not None:
        return
    step = op.steps[at]
    assert isinstance(step, Switch)
    context = PassContext(op, replace(ground, context=MAIN), tensors)
    out_slice, stream = wanted_slice(context, step), before_switch(context, at)
    if step.config != AUTO or out_slice is None or stream is None or out_slice.size != stream.slice.size:
        return
    out_time = None if step.slice is None or step.time == AUTO else parse(step.time, ground.axes)
    yield from sorted(compositions(ground, stream, out_slice, out_time, least), key=rank)


def _two(
    op: PassOp, option: Option, tensors: Tensors, ground: Ground, fixed: dict[str, str], forbidden: Forbidden
) -> PassResult | None:
    """Both passes of a pair; the second one's modes need the first to be there."""
    at = next(i for i, s in enumerate(op.steps) if isinstance(s, Switch))
    first_option, second_option = option.passes
    stream = before_switch(PassContext(op, replace(ground, context=MAIN), tensors), at)
    if stream is None:
        return None
    between = f"{op.name}.between"
    first_op = _first(op, at, first_option, between, stream)
    second_op = _second(op, at, second_option, between, stream.packet)
    first = passes.evaluate(first_op, tensors, ground, {}, ())
    if not first.modes or first.writes is None:
        return None
    others = {name: value for name, value in fixed.items() if name != "switch"}
    second = passes.evaluate(second_op, {**tensors, between: first.writes}, ground, others, forbidden)
    if not second.modes:
        return None
    named = _named(second, f"{COMPOSITION}({option.label})", op.name)
    return replace(named, first=First(first_op, first, between, frozenset(m.id for m in _every(named))))


def _every(result: PassResult) -> tuple[Mode, ...]:
    return (*result.modes, *result.dominated)


def _first(op: PassOp, at: int, option: Option, between: str, stream: Stream) -> PassOp:
    element = text(pair(option.out_time, stream.packet))
    steps = (*op.steps[:at], _switch(option), Collect(), Commit(write=between, element=element))
    return op.model_copy(update={"name": f"{op.name}.first", "steps": steps})


def _second(op: PassOp, at: int, option: Option, between: str, packet: Mapping) -> PassOp:
    assert option.in_time is not None
    fetch = Fetch(time=text(option.in_time), packet=text(packet))
    steps: tuple[Step, ...] = (fetch, _switch(option), *op.steps[at + 1 :])
    return op.model_copy(update={"read": between, "steps": steps})


def _switch(option: Option) -> Switch:
    assert option.candidate is not None
    return Switch(slice=text(option.out_slice), time=text(option.out_time), config=option.candidate.config)


def _named(second: PassResult, label: str, op: str) -> PassResult:
    """The second pass's modes under names of their own."""

    def renamed(mode: Mode) -> Mode:
        decisions = {name: label if name == "switch" else value for name, value in mode.decisions.items()}
        identifier = "/".join(decisions.values())
        return replace(mode, id=identifier, decisions=decisions, program=f"{op}:{identifier}")

    programs = {renamed(m).program: second.programs[m.program] for m in _every(second)}
    modes, dominated = (tuple(renamed(m) for m in group) for group in (second.modes, second.dominated))
    return replace(second, modes=modes, dominated=dominated, programs=programs)


def _beside(single: PassResult, pair_: PassResult) -> PassResult:
    """Single passes and the pair as ways to do one operation; neither can make the other needless."""
    had = {decision for mode in _every(pair_) for decision in mode.decisions.items()}
    return replace(
        pair_,
        modes=(*single.modes, *pair_.modes),
        dominated=(*single.dominated, *pair_.dominated),
        programs={**single.programs, **pair_.programs},
        illegal=tuple(i for i in single.illegal if (i.decision, i.value) not in had),
        warnings=tuple(dict.fromkeys((*single.warnings, *pair_.warnings))),
    )
