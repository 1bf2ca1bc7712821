"""Stages of the programs in use, each with its place: what checks of engines look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models.plan import PlannedOp, Stage
from simulator.facts import Facts


@dataclass(frozen=True, slots=True)
class Place:
    """A stage in its program, with the stage before it and an operation that runs the program."""

    facts: Facts
    stage: Stage
    before: Stage | None
    op: PlannedOp

    @property
    def main(self) -> bool:
        """Whether the operation runs in the Main context."""
        return "main" in self.op.contexts

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.facts.plan.hardware.geometry.flit_bytes

    def size(self, text: str) -> int:
        """Positions of a mapping."""
        return self.facts.bench.layouts.size(text)


def places(facts: Facts) -> Iterator[Place]:
    """Every stage of every program in use, once."""
    seen: set[str] = set()
    for op in facts.plan.ops:
        stages = facts.plan.programs.get(op.program, ())
        if op.kind == "bitmap_load" or op.program in seen:
            continue
        seen.add(op.program)
        for i, stage in enumerate(stages):
            yield Place(facts, stage, stages[i - 1] if i else None, op)
