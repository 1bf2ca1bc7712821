"""One full-size buffer of the TRF against two halves that take turns: what the plan gained (domain: section 6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from models.plan import MemoryEntry, Note, Plan, PlannedOp

FULL = "full"


def notes(plan: Plan) -> Iterator[Note]:
    """A sentence for every operation that stores into the TRF and whose address mode was priced."""
    held: dict[str, list[MemoryEntry]] = defaultdict(list)
    stores: dict[str, PlannedOp] = {}
    for op in plan.ops:
        if "region" in op.decisions:
            stores.setdefault(op.base, op)
            held[op.base] += [e for e in plan.memory if e.file == "trf" and e.tensor in _written(plan, op)]
    for base, op in stores.items():
        yield from _weighed(plan, op, held[base])


def _written(plan: Plan, op: PlannedOp) -> tuple[str, ...]:
    last = plan.programs.get(op.program, ())[-1:]
    name = str(last[0].settings.get("write", "")) if last else ""
    return (op.uses[name],) if name in op.uses else ()


def _weighed(plan: Plan, op: PlannedOp, held: list[MemoryEntry]) -> Iterator[Note]:
    if plan.makespan_cycles is None or len(held) < 2:
        return
    modes = list(dict.fromkeys(e.region for e in held if e.region))
    for other in op.decisions["region"].alternatives:
        if other.makespan_cycles is None or (other.value == FULL) == (modes == [FULL]):
            continue
        gained = other.makespan_cycles - plan.makespan_cycles
        what = f"{gained:,} cycles" if gained else "nothing"
        instead = "one full-size buffer" if other.value == FULL else f"{other.value} alone"
        yield Note(
            topic="halves",
            text=f"{op.base} keeps {_together(held)} tiles at once in {_named(modes)}: it gains {what} over {instead}"
            f" ({other.status})",
            cycles=gained,
        )


def _together(held: list[MemoryEntry]) -> int:
    """How many instances are alive at the same time, at most."""
    return max(sum(e.start <= at.start < e.end for e in held) for at in held)


def _named(modes: list[str]) -> str:
    return " and ".join(mode.replace("_", " ") for mode in modes)
