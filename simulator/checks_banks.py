"""Waits for TRF banks: what a store sets aside covers what it waits, counted cycle by cycle (domain: section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.hardware import Hardware
from models.plan import PlannedOp, Stage
from simulator.bench import Run
from simulator.engines.banks import Writes, run_banks
from simulator.engines.walks import entry_walk
from simulator.facts import Broken, Facts
from simulator.memories import walk_offsets

Ints = NDArray[np.int64]


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


# The pattern of the reads ----------------------------------------------------------------------------------


def read_pattern(at_bits: Ints, read_bits: int, hardware: Hardware) -> dict[str, Any]:
    """What a plan says of the reads of a walk, from the place of every one of them (register examples page).

    Args:
        at_bits: where each read begins in a lane's element, in bits.
        read_bits: bits of one read.
        hardware: the chip.

    """
    narrow, wide_bytes = hardware.trf.narrow_read_bytes, hardware.trf.wide_read_bytes
    wide = read_bits > narrow * 8
    unit = 8 * (wide_bytes if wide else narrow)
    period = _period(at_bits)
    sweeps, place = len(at_bits) // period, at_bits[:period] // unit
    reuse = int(np.gcd.reduce(np.diff(np.flatnonzero(np.diff(place, prepend=-1, append=-1)))))
    heads = at_bits[:period:reuse]
    if (heads % unit).any() or not _fills(at_bits[:period].reshape(-1, reuse), unit):
        return {"units": period, "reuse": 1, "sweeps": sweeps, "wide": wide, "step": 1, "regular": False, "run": 0}
    place = place[::reuse]
    if len(place) == 1:
        return {"units": 1, "reuse": reuse * sweeps, "sweeps": 1, "wide": wide, "step": 1, "regular": True, "run": 0}
    step = int(place[1] - place[0])
    breaks = np.flatnonzero(np.diff(place) != step)
    run = int(breaks[0]) + 1 if len(breaks) else 0
    regular = not run or _runs_apart(place.reshape(-1, run), wide)
    return {
        "units": len(place),
        "reuse": reuse,
        "sweeps": sweeps,
        "wide": wide,
        "step": step,
        "regular": regular,
        "run": run,
    }


def _period(at: Ints) -> int:
    """After how many reads a walk begins again from its first place for good."""
    starts = np.flatnonzero(at == at[0])
    fitting = (int(n) for n in starts[1:] if len(at) % n == 0 and np.array_equal(at[n:], at[:-n]))
    return next(fitting, len(at))


def _fills(groups: Ints, unit: int) -> bool:
    """Whether reads of one place repeat it, or go through it from end to end."""
    inside = groups - groups[:, :1]
    steps = np.unique(inside)
    return bool((inside == inside[0]).all() and (len(steps) == 1 or unit % int(steps[1]) == 0))


def _runs_apart(runs: Ints, wide: bool) -> bool:
    """Whether runs begin in the first bank and none visits a place of another; a run may come again as a whole."""
    different = np.unique(runs, axis=0)
    return bool((wide or not (runs[:, 0] % 2).any()) and len(np.unique(different)) == different.size)


def _meet(store: PlannedOp, reader: PlannedOp) -> bool:
    return store is not reader and store.start < reader.end and reader.start < store.end


def _stage(facts: Facts, op: PlannedOp, step: str) -> Stage | None:
    return next((s for s in facts.plan.programs.get(op.program, ()) if s.step == step), None)


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {"bank_wait_reserved": bank_wait_reserved}
