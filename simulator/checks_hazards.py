"""Hazards on memory: program order of accesses that meet must show in their times (domain: section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.facts import Access, Broken, Facts


def _late(
    facts: Facts, earlier: list[Access], later: list[Access], instance: str, what: str, lag: int = 0
) -> Iterator[Broken]:
    """Accesses of `later` that start before one of `earlier`, which program order puts first, has ended."""
    for second in later:
        for first in earlier:
            if first.op is second.op or not facts.before(first, second) or not first.meets(second):
                continue
            if second.op.start < first.op.end + lag:
                message = f"`{second.op.name}` {what} `{instance}` before `{first.op.name}` has ended"
                message += f" and {lag} cycles have passed" if lag else ""
                yield Broken(message, second.op.name, second.op.start, f"{first.op.end + lag} or later")


def data_hazard_raw(facts: Facts) -> Iterator[Broken]:
    """Read after write."""
    for instance, writes in facts.writers.items():
        yield from _late(facts, writes, facts.readers.get(instance, []), instance, "reads")


def data_hazard_war(facts: Facts) -> Iterator[Broken]:
    """Write after read."""
    for instance, reads in facts.readers.items():
        yield from _late(facts, reads, facts.writers.get(instance, []), instance, "overwrites")


def data_hazard_waw(facts: Facts) -> Iterator[Broken]:
    """Write after write."""
    for instance, writes in facts.writers.items():
        yield from _late(facts, writes, writes, instance, "writes")


def fence_missing(facts: Facts) -> Iterator[Broken]:
    """An HBM tensor that the kernel wrote is read a fence later."""
    fence = facts.plan.hardware.kernel.fence_cycles
    for instance, writes in facts.writers.items():
        if instance not in facts.bench.entries:
            yield from _late(facts, writes, facts.readers.get(instance, []), instance, "reads", fence)


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "data_hazard_raw": data_hazard_raw,
    "data_hazard_war": data_hazard_war,
    "data_hazard_waw": data_hazard_waw,
    "fence_missing": fence_missing,
}
