"""One way through a pass: every step's law in order, with the choices that were made on the way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from models.faults import Finding
from models.kernel import PassOp, Place
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, text
from models.parse import parse
from models.plan import Stage
from planner.engines.base import Ground, Outcome
from planner.pass_cycles import InterSlice, Steps, pass_cycles

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PassContext:
    """What stays the same along a pass: the op, the ground with its context, all layouts by name."""

    op: PassOp
    ground: Ground
    tensors: dict[str, TensorLayout]
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """Verdicts of laws: many trails meet a step with the same stream."""

    def once(self, key: Hashable, judge: Callable[[], T]) -> T:
        """The verdict of a law, asked for once per key; the key holds everything the verdict depends on."""
        if key not in self.memo:
            self.memo[key] = judge()
        verdict: T = self.memo[key]
        return verdict

    def parse(self, written: str) -> Mapping:
        """Mapping text of the kernel file."""
        return parse(written, self.ground.axes)

    def stated(self, written: str | None) -> Mapping | None:
        """Mapping text that may be left out."""
        return None if written is None else self.parse(written)

    @property
    def places(self) -> tuple[Place, ...]:
        """What the pass reads."""
        return self.op.read if isinstance(self.op.read, tuple) else (self.op.read,)

    @property
    def names(self) -> tuple[str, ...]:
        """The step names in order."""
        return tuple(s.step for s in self.op.steps)


@dataclass(frozen=True, slots=True)
class Trail:
    """A pass up to some step: the stream, its stages, what is broken, and the decisions taken.

    `outcomes` holds the last outcome of each step by its name, for steps that look back. `writes` is the tensor that
    the last step stores.
    """

    stream: Stream | None = None
    stages: tuple[Stage, ...] = ()
    findings: tuple[tuple[int, Finding], ...] = ()
    warnings: tuple[tuple[int, Finding], ...] = ()
    decisions: tuple[tuple[str, str], ...] = ()
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    counts: tuple[tuple[str, int], ...] = ()
    trf: TensorLayout | None = None
    writes: TensorLayout | None = None
    inter_slice: InterSlice | None = None
    stopped: bool = False

    def after(self, index: int, step: str, outcome: Outcome, *, fallback: Stream | None = None) -> Trail:
        """The trail behind a step; `fallback` is the stream as stated where the law could not tell."""
        stream = outcome.stream or fallback
        stages = self.stages
        if stream is not None:
            stages = (*stages, stage(step, stream, outcome))
        return replace(
            self,
            stream=stream,
            stages=stages,
            findings=(*self.findings, *((index, f) for f in outcome.findings)),
            warnings=(*self.warnings, *((index, w) for w in outcome.warnings)),
            outcomes={**self.outcomes, step: outcome},
            counts=(*self.counts, (step, outcome.steps)),
            stopped=stream is None,
        )

    def broken(self, index: int, *findings: Finding) -> Trail:
        """The trail with more findings."""
        return replace(self, findings=(*self.findings, *((index, f) for f in findings)))

    def decided(self, name: str, value: str) -> Trail:
        """The trail with one more decision."""
        return replace(self, decisions=(*self.decisions, (name, value)))

    def value(self, name: str) -> str | None:
        """What was decided for a choice."""
        return dict(self.decisions).get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The steps that were taken, in order."""
        return tuple(step for step, _ in self.counts)

    def setting(self, step: str, name: str) -> object:
        """A derived number of an earlier step, None where the step is missing or did not get so far."""
        outcome = self.outcomes.get(step)
        return None if outcome is None else outcome.settings.get(name)

    def cycles(self, context: PassContext) -> int:
        """What the pass takes in a schedule."""
        short = self.value("via") == "short"
        steps = Steps(context.ground.context, self.counts, self.inter_slice, short)
        return pass_cycles(context.ground.hardware, steps)


def stage(step: str, stream: Stream, outcome: Outcome) -> Stage:
    """A stage of the plan: what leaves the step, and what its engine is set to."""
    return Stage(
        step=step,
        dtype=stream.dtype,
        chip=text(stream.chip),
        cluster=text(stream.cluster),
        slice=text(stream.slice),
        time=text(stream.time),
        packet=text(stream.packet),
        steps_cycles=outcome.steps,
        settings=outcome.settings,
    )


def fewest_faults(trails: Sequence[Trail]) -> Trail:
    """The trail with the fewest findings, the first among equals."""
    return min(trails, key=lambda t: len(t.findings))
