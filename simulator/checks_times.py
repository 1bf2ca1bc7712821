"""Times of operations against the simulator's own timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.facts import Broken, Facts


def times_disagree(facts: Facts) -> Iterator[Broken]:
    """End is start plus cycles."""
    for op in facts.plan.ops:
        if op.end != op.start + op.cycles:
            yield Broken("end is not start plus cycles", op.name, op.end, op.start + op.cycles)


def cycles_mismatch(facts: Facts) -> Iterator[Broken]:
    """What an operation, and every stage of its program, takes is what the simulator counted."""
    for op in facts.plan.ops:
        counted = facts.cycles.get(op.name)
        if counted is not None and counted != op.cycles:
            yield Broken("the operation takes another number of cycles", op.name, op.cycles, counted)
    for name, counted_steps in facts.stages.items():
        for stage, counted in zip(facts.plan.programs[name], counted_steps, strict=False):
            if stage.steps_cycles != counted:
                message = f"stage `{stage.step}` of `{name}` takes another number of steps"
                yield Broken(message, _user_of(facts, name), stage.steps_cycles, counted)


def _user_of(facts: Facts, program: str) -> str:
    return next((op.name for op in facts.plan.ops if op.program == program), "")


def starts_too_early(facts: Facts) -> Iterator[Broken]:
    """Nothing starts before the kernel has started."""
    first = facts.plan.hardware.kernel.first_start_cycles
    for op in facts.plan.ops:
        if op.start < first:
            yield Broken(
                "the operation starts before the kernel's start-up is over", op.name, op.start, f"{first} or later"
            )


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "times_disagree": times_disagree,
    "cycles_mismatch": cycles_mismatch,
    "starts_too_early": starts_too_early,
}
