"""Stores into the TRF beside contractions that read it: how long banks make them wait, and what is set aside for that.

Compiled passes show no such wait, so none is in a pass's cycles. With `hardware.trf.contention` set to 1 every store of
the sub context lasts longer by what it may have to wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from models.graph import SUB, Mode, Operation, Problem
from models.hardware import Hardware
from models.plan import Note, Plan, PlannedOp, Stage
from planner.engines.bank_contention import Delay, Reads, Store, delay

RESERVED = "bank_reserve_cycles"
"""Setting of to_trf: cycles by which the pass is longer."""


def reserved(problem: Problem) -> Problem:
    """The problem with waits set aside, where the hardware asks for it."""
    if not problem.hardware.trf.contention:
        return problem
    programs = dict(problem.programs)
    readers = [(op, r) for op in problem.operations if (r := _reads(programs.get(op.modes[0].program, ()))) is not None]
    ops = tuple(_lengthened(o, readers, programs, problem.hardware) for o in problem.operations)
    return replace(problem, operations=ops, programs=programs)


def _lengthened(
    op: Operation, readers: list[tuple[Operation, Reads]], programs: dict[str, tuple[Stage, ...]], hardware: Hardware
) -> Operation:
    def longer(mode: Mode) -> Mode:
        stages = programs.get(mode.program, ())
        store = _store(stages, hardware)
        if store is None or SUB not in mode.holds:
            return mode
        wait = _most(mode, store, readers, hardware)
        last = stages[-1]
        settings = {k: v for k, v in last.settings.items() if k != RESERVED} | {RESERVED: wait}
        programs[mode.program] = (*stages[:-1], last.model_copy(update={"settings": settings}))
        return replace(mode, cycles=mode.cycles + wait)

    return replace(op, modes=tuple(map(longer, op.modes)), dominated=tuple(map(longer, op.dominated)))


def _most(mode: Mode, store: Store, readers: list[tuple[Operation, Reads]], hardware: Hardware) -> int:
    """The longest wait beside one operation that reads, times how many of them a store can meet."""
    worst = 0
    by_base: dict[str, list[tuple[Operation, Reads]]] = {}
    for op, reads in readers:
        by_base.setdefault(op.base, []).append((op, reads))
    for found in by_base.values():
        op, reads = found[0]
        once = max(
            delay(reads, replace(store, offset=o), hardware.trf.cache_rows).cycles for o in range(2 * store.interval)
        )
        meets = min(len(found), 2 + (mode.cycles + once) // max(m.cycles for m in op.modes))
        worst = max(worst, once * meets)
    return worst


def notes(plan: Plan) -> Iterator[Note]:
    """A sentence for each kind of store that meets reads, all iterations together."""
    found: dict[tuple[str, str], list[Delay]] = {}
    for store, reader, waited in met(plan):
        found.setdefault((store.base, reader.base), []).append(waited)
    for (store_base, reader_base), waits in found.items():
        cycles = sum(w.cycles for w in waits)
        most = "" if all(w.exact for w in waits) else "at most "
        times = f" in {len(waits)} overlaps" if len(waits) > 1 else ""
        counted = "" if not plan.hardware.trf.contention else ", which its cycles hold in reserve"
        text = f"{store_base} waits {most}{cycles:,} cycles for TRF banks that {reader_base} reads{times}{counted}"
        yield Note(topic="banks", text=text, cycles=cycles)


def met(plan: Plan) -> Iterator[tuple[PlannedOp, PlannedOp, Delay]]:
    """Every store into the TRF that runs beside a contraction, with the wait."""
    hardware = plan.hardware
    stores = [(op, s) for op in plan.ops if (s := _store(plan.programs.get(op.program, ()), hardware)) is not None]
    readers = [(op, r) for op in plan.ops if (r := _reads(plan.programs.get(op.program, ()))) is not None]
    for op, store in stores:
        for reader, reads in readers:
            if op.start < reader.end and reader.start < op.end:
                offset = op.start - reader.start
                yield op, reader, delay(reads, replace(store, offset=offset), hardware.trf.cache_rows)


def _store(stages: Iterable[Stage], hardware: Hardware) -> Store | None:
    """What a pass writes into the TRF; a flit is ready whenever its bytes are fetched."""
    by_step = {s.step: s for s in stages}
    last = by_step.get("to_trf")
    if last is None:
        return None
    flits, each = int(last.settings["lanes"]) * int(last.settings["flits_per_lane"]), last.settings["flits_per_lane"]
    read_bytes = int(by_step["fetch"].settings["read_bytes"])
    return Store(flits, max(1, hardware.geometry.flit_bytes // read_bytes), int(each))


def _reads(stages: Iterable[Stage]) -> Reads | None:
    found = next((s.settings["trf_reads"] for s in stages if s.step == "contract_outer"), None)
    return None if found is None else Reads(**found)
