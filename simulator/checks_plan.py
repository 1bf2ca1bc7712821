"""Whether a plan agrees with itself: what it names, its makespan, its bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from simulator.facts import Broken, Facts, makespan_of, stretched

CONTEXTS = ("main", "sub", "dma", "vector")


def unknown_reference(facts: Facts) -> Iterator[Broken]:
    """Programs, instances and contexts that an operation names exist."""
    plan = facts.plan
    known = facts.bench.entries.keys() | plan.kernel.tensors.keys()
    for op in plan.ops:
        if op.kind != "bitmap_load" and op.program not in plan.programs:
            yield Broken(f"program `{op.program}` is not in the plan", op.name, op.program)
        for name in op.uses.values():
            if name not in known:
                yield Broken(f"instance `{name}` is not in the plan", op.name, name)
        for context in op.contexts:
            if context not in CONTEXTS:
                yield Broken(f"there is no context `{context}`", op.name, context, ", ".join(CONTEXTS))


def operation_missing(facts: Facts) -> Iterator[Broken]:
    """Every operation of the kernel is planned once per iteration."""
    planned = Counter((op.base, tuple(sorted(op.iteration.items()))) for op in facts.plan.ops)
    for key in facts.order:
        count = planned[key]
        if count != 1:
            where = "".join(f", {name} = {value}" for name, value in key[1])
            yield Broken(f"operation `{key[0]}`{where} is planned {count} times", key[0], count, 1)


def makespan_mismatch(facts: Facts) -> Iterator[Broken]:
    """The makespan is the last end plus the final sync.

    Where operations were moved later and the rest still holds, the plan is legal with a new makespan, which the
    verification gives beside the stated one.
    """
    stated, counted = facts.plan.makespan_cycles, makespan_of(facts.plan)
    if stated != counted and not stretched(facts):
        yield Broken("the makespan is not the last end plus the final sync", "", stated, counted)


def bound_exceeds_makespan(facts: Facts) -> Iterator[Broken]:
    """A bound is at most the makespan and every price, and equal to the makespan where optimality is claimed."""
    plan = facts.plan
    yield from _cheaper_than_possible(facts)
    stated, bound = plan.makespan_cycles, plan.lower_bound_cycles
    if stated is None or bound is None:
        return
    if bound > stated:
        yield Broken("the lower bound is above the makespan", "", bound, f"at most {stated}")
    elif plan.status == "optimal" and bound != stated:
        yield Broken("an optimal plan has its makespan as bound", "", bound, stated)
    gap = (stated - bound) / stated if stated else 0.0
    if plan.gap is not None and abs(plan.gap - gap) > _GAP_TOLERANCE:
        yield Broken("the gap is not (makespan - bound) / makespan", "", plan.gap, round(gap, 6))


def _cheaper_than_possible(facts: Facts) -> Iterator[Broken]:
    """Forcing a choice only takes plans away, so what it would cost is never below the bound of the free problem."""
    bound = facts.plan.lower_bound_cycles
    for op in facts.plan.ops:
        for field, decision in op.decisions.items():
            for other in decision.alternatives:
                if bound is not None and other.makespan_cycles is not None and other.makespan_cycles < bound:
                    message = f"{field} = {other.value} is priced below the lower bound"
                    yield Broken(message, op.name, other.makespan_cycles, f"at least {bound}")


_GAP_TOLERANCE = 1e-3

CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "unknown_reference": unknown_reference,
    "operation_missing": operation_missing,
    "makespan_mismatch": makespan_mismatch,
    "bound_exceeds_makespan": bound_exceeds_makespan,
}
