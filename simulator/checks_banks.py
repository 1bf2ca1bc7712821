"""Waits for TRF banks: what a store sets aside covers what it waits, counted cycle by cycle (domain: section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from models.dtypes import DTYPES
from models.plan import PlannedOp, Stage
from simulator.bench import Run
from simulator.engines.banks import Writes, run_banks
from simulator.engines.walks import entry_walk
from simulator.facts import Broken, Facts
from simulator.memories import walk_offsets


def bank_wait_reserved(facts: Facts) -> Iterator[Broken]:
    """Only where the hardware counts contention: compiled schedules do not."""
    if not facts.plan.hardware.trf.contention:
        return
    for op in facts.plan.ops:
        last = facts.plan.programs.get(op.program, ())[-1:]
        if not last or last[0].step != "to_trf":
            continue
        waited = sum(waits(facts, op, reader) for reader in facts.plan.ops if _meet(op, reader))
        held = int(last[0].settings.get("bank_reserve_cycles", 0))
        if waited > held:
            message = "the store waits longer for TRF banks than it has set aside"
            yield Broken(message, op.name, held, f"{waited} or more")


def waits(facts: Facts, store: PlannedOp, reader: PlannedOp) -> int:
    """Cycles by which a store ends later beside one operation that reads the TRF; 0 where it reads none."""
    outer = _stage(facts, reader, "contract_outer")
    fetch, written = _stage(facts, store, "fetch"), _stage(facts, store, "to_trf")
    entry = None if outer is None else Run(facts.bench, reader).entry(str(outer.settings["with"]))
    if outer is None or fetch is None or written is None or entry is None:
        return 0
    hardware = facts.plan.hardware
    bits = {"i5": 4, "i9": 8}.get(entry.dtype, DTYPES[entry.dtype].bits)
    reads = (walk_offsets(entry_walk(outer.settings, "trf_time")) * bits // 8).tolist()
    flits = int(written.settings["flits_per_lane"])
    gather = max(1, hardware.geometry.flit_bytes // int(fetch.settings["read_bytes"]))
    writes = Writes(flits * int(written.settings["lanes"]), flits, gather, store.start - reader.start)
    return run_banks(reads, int(outer.settings["read_elements"]) * bits // 8, writes, hardware).delay


def _meet(store: PlannedOp, reader: PlannedOp) -> bool:
    return store is not reader and store.start < reader.end and reader.start < store.end


def _stage(facts: Facts, op: PlannedOp, step: str) -> Stage | None:
    return next((s for s in facts.plan.programs.get(op.program, ()) if s.step == step), None)


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {"bank_wait_reserved": bank_wait_reserved}
