"""Why not faster: what giving up each rule or resource on the chain would buy, each figure from a solve of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import solver
from models.graph import RESOURCES, Buffer, Operation, Problem
from models.plan import ChainLink, Note, Plan, Status
from solver import Options, Solution
from solver.bound import bound
from solver.index import Index

TOPIC = "lever"
MOST_SECONDS = 10.0
"""Limit of each solve: a figure that is not proven says so."""

RULE_OF = {
    **dict.fromkeys(("main", "sub", "dma"), "context_overlap"),
    "vector": "vector_engine_overlap",
    "region": "region_overlap",
    "vrf": "vrf_capacity",
    "dm": "dm_capacity",
    "war": "data_hazard_war",
    "waw": "data_hazard_waw",
    "fence": "fence_missing",
    "bitmap_load": "bitmap_load_contexts",
}
"""The rule that makes an operation wait, by the reason a link of the chain names."""


@dataclass(frozen=True, slots=True)
class Relief:
    """The problem with one thing given up: `what` says it in words, `rule` names the rule, empty for mere cycles."""

    what: str
    problem: Problem
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Bought:
    """What a relief buys: the makespan with it, and whether that is proven."""

    what: str
    rule: str
    makespan_cycles: int | None
    status: Status


def price(
    problem: Problem, plan: Plan, chosen: Solution, limits: Options, stop: threading.Event | None = None
) -> tuple[Bought, ...]:
    """One figure for each relief of the plan's chain, best first; fewer when `stop` is set meanwhile."""
    limits = replace(limits, time_limit_seconds=min(limits.time_limit_seconds, MOST_SECONDS))
    found = []
    for relief in reliefs(problem, plan):
        if stop is not None and stop.is_set():
            break
        found.append(_priced(relief, plan, chosen, limits, stop))
    return tuple(sorted(found, key=lambda b: (b.makespan_cycles is None, b.makespan_cycles or 0)))


def _priced(relief: Relief, plan: Plan, chosen: Solution, limits: Options, stop: threading.Event | None) -> Bought:
    if plan.makespan_cycles is not None and bound(Index(relief.problem)).makespan >= plan.makespan_cycles:
        return Bought(relief.what, relief.rule, plan.makespan_cycles, "optimal")
    found = solver.solve(relief.problem, limits, hint=chosen, stop=stop)
    return Bought(relief.what, relief.rule, found.makespan, found.status)


def notes(plan: Plan, found: tuple[Bought, ...]) -> Iterator[Note]:
    """A sentence for everything that buys cycles, and one for all that buys none."""
    nothing = []
    for b in found:
        if plan.makespan_cycles is None or b.makespan_cycles is None:
            continue
        fewer = plan.makespan_cycles - b.makespan_cycles
        rule = f" ({b.rule} given up)" if b.rule else ""
        if fewer > 0:
            text = f"{b.what}{rule}: {b.makespan_cycles:,} cycles, {fewer:,} fewer ({b.status})"
            yield Note(topic=TOPIC, text=text, cycles=fewer)
        else:
            nothing.append(f"{b.what}{rule}")
    if nothing:
        yield Note(topic=TOPIC, text="buys nothing: " + "; ".join(nothing), cycles=0)


def reliefs(problem: Problem, plan: Plan) -> tuple[Relief, ...]:
    """Everything on the chain that could give, each once, in the order of the chain."""
    ops = {o.name: o for o in plan.ops}
    found: dict[str, Relief] = {}
    for link in plan.chain:
        op = ops[link.op]
        loads = link.why == "bitmap_load" or op.kind == "bitmap_load"
        halved = () if op.kind == "bitmap_load" else (_halved(problem, op.base, op.kind),)
        for relief in (*_wait(problem, link), *([_free_loads(problem)] if loads else ()), *halved):
            found.setdefault(relief.what, relief)
    return tuple(found.values())


def _wait(problem: Problem, link: ChainLink) -> Iterator[Relief]:
    rule = RULE_OF.get(link.why, "")
    if link.why in RESOURCES:
        yield Relief(f"`{link.why}` serving all at once", _without(problem, link.why), rule)
    elif link.why in ("war", "waw"):
        edges = tuple(e for e in problem.edges if (e.reason, e.tensor) != (link.why, link.tensor))
        yield Relief(f"another place for `{link.tensor}`", replace(problem, edges=edges), rule)
    elif link.why == "fence":
        yield Relief("no fence", replace(problem, edges=tuple(replace(e, lag_cycles=0) for e in problem.edges)), rule)
    elif link.why in ("region", "vrf", "dm"):
        yield Relief(f"one more place for `{link.tensor}`", _roomier(problem, link), rule)


def _without(problem: Problem, resource: str) -> Problem:
    def freed(op: Operation) -> Operation:
        return replace(op, modes=tuple(replace(m, holds=m.holds - {resource}) for m in op.modes))

    return replace(problem, operations=tuple(freed(o) for o in problem.operations))


def _free_loads(problem: Problem) -> Relief:
    operations = tuple(replace(o, modes=tuple(replace(m, bitmap=None) for m in o.modes)) for o in problem.operations)
    return Relief("bitmap loads in no time", replace(problem, operations=operations), RULE_OF["bitmap_load"])


def _halved(problem: Problem, base: str, kind: str) -> Relief:
    def faster(op: Operation) -> Operation:
        return replace(op, modes=tuple(replace(m, cycles=-(-m.cycles // 2)) for m in op.modes))

    operations = tuple(faster(o) if o.base == base else o for o in problem.operations)
    what = "transfer" if kind == "dma" else "pass"
    return Relief(f"{what} `{base}` in half the cycles", replace(problem, operations=operations))


def _roomier(problem: Problem, link: ChainLink) -> Problem:
    """The file that an operation waited for, larger by the place it waited for."""
    buffer = next(b for b in problem.buffers if b.name == link.tensor)
    hardware = problem.hardware
    if buffer.file == "trf":
        # Twice, since a half of the file has to grow by as much.
        update = {
            "trf": hardware.trf.model_copy(update={"rows_per_bank": hardware.trf.rows_per_bank + 2 * _rows(buffer)})
        }
    else:
        file = getattr(hardware, buffer.file)
        update = {buffer.file: file.model_copy(update={"bytes_per_slice": file.bytes_per_slice + buffer.bytes})}
    return replace(problem, hardware=hardware.model_copy(update=update))


def _rows(buffer: Buffer) -> int:
    return max(buffer.rows, 1)
