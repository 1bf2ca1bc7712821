"""Contexts: what an operation must hold, and that each is held by one operation at a time (domain: section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np

from models.dtypes import DTYPES
from models.hardware import Hardware
from models.plan import PlannedOp, Stage
from simulator.engines.walks import entry_walk
from simulator.facts import Broken, Facts
from simulator.memories import Walk, walk_offsets


def _overlaps(facts: Facts, resource: str) -> Iterator[Broken]:
    held = [op for op in facts.plan.ops if resource in op.contexts]
    last: PlannedOp | None = None
    for op in sorted(held, key=lambda o: (o.start, o.end)):
        if last is not None and op.start < last.end:
            message = f"`{op.name}` starts while `{last.name}` holds {resource}"
            yield Broken(message, op.name, op.start, f"{last.end} or later")
        if last is None or op.end > last.end:
            last = op


def context_overlap(facts: Facts) -> Iterator[Broken]:
    """Main, Sub and DMA run one operation at a time."""
    for context in ("main", "sub", "dma"):
        yield from _overlaps(facts, context)


def vector_engine_overlap(facts: Facts) -> Iterator[Broken]:
    """The Vector Engine serves one pass at a time."""
    yield from _overlaps(facts, "vector")


def wrong_contexts(facts: Facts) -> Iterator[Broken]:
    """An operation holds what its steps need, no more and no less."""
    for op in facts.plan.ops:
        wanted = needed(facts, op)
        if wanted is None or op.kind == "bitmap_load":
            continue
        if set(op.contexts) != wanted and not (set(op.contexts) == wanted | {"dma"} and _gives_way(facts, op)):
            yield Broken(
                "the operation holds other contexts than its steps need", op.name, _listed(op.contexts), _listed(wanted)
            )
    yield from _starving(facts)


def _gives_way(facts: Facts, op: PlannedOp) -> bool:
    """Whether a pass may hold DMA for the sake of another one: the longer of two runs that starve DMA together."""
    return 2 * _run(facts, op) >= facts.plan.hardware.dm.starvation_accesses


def _run(facts: Facts, op: PlannedOp) -> int:
    return _longest_bank_run(facts.plan.programs.get(op.program, ()), facts)


def _starving(facts: Facts) -> Iterator[Broken]:
    """Runs of a Main pass and a Sub pass add where both overlap one transfer."""
    limit = facts.plan.hardware.dm.starvation_accesses
    runs = [(op, _run(facts, op)) for op in facts.plan.ops if op.kind == "pass"]
    long = [(op, run) for op, run in runs if run > 1]
    if sum(sorted(run for _, run in long)[-2:]) < limit:
        return
    for dma in (op for op in facts.plan.ops if op.kind == "dma"):
        beside = [(op, run) for op, run in long if op.start < dma.end and dma.start < op.end]
        for (one, a), (other, b) in combinations(beside, 2):
            if a + b >= limit and max(one.start, other.start, dma.start) < min(one.end, other.end, dma.end):
                message = f"`{one.name}` and `{other.name}` keep one DM bank from `{dma.name}`"
                yield Broken(message, one.name, f"{a} + {b} accesses in a row", f"less than {limit}, or DMA held")


def needed(facts: Facts, op: PlannedOp) -> set[str] | None:
    """The contexts of an operation, from its program; None where there is no program."""
    if op.kind != "pass":
        return {"dma", "sub"} if op.kind == "bitmap_load" else {"dma"}
    stages = facts.plan.programs.get(op.program)
    if not stages:
        return None
    steps = {stage.step for stage in stages}
    context = "main" if "main" in op.contexts else "sub"
    wanted = {context}
    if context == "main" and "to_vrf" in steps:
        wanted.add("sub")
    elif steps & {"vector", "cast"}:
        wanted.add("vector")
    if _longest_bank_run(stages, facts) >= facts.plan.hardware.dm.starvation_accesses:
        wanted.add("dma")
    return wanted


def _listed(contexts: object) -> str:
    return ", ".join(sorted(contexts))  # type: ignore[call-overload]


def _longest_bank_run(stages: tuple[Stage, ...], facts: Facts) -> int:
    """Consecutive accesses of one sequencer that share a bank of data memory."""
    out = 0
    for stage in stages:
        key = {"fetch": "read_bytes", "commit": "write_bytes"}.get(stage.step)
        if key and {"time_entries", "packet_entries"} <= stage.settings.keys():
            dtype = _memory_dtype(stage, facts)
            out = max(out, bank_run(stage, int(stage.settings[key]), dtype, facts.plan.hardware))
    return out


def _memory_dtype(stage: Stage, facts: Facts) -> str:
    names = stage.settings.get("reads") or [stage.settings.get("write")]
    entries = (e for e in facts.plan.memory if e.tensor.partition("[")[0].partition("#")[0] == names[0])
    return next((e.dtype for e in entries), stage.dtype)


def bank_run(stage: Stage, access_bytes: int, dtype: str, hardware: Hardware) -> int:
    """The longest run of accesses of `access_bytes` that touch one bank each time."""
    walk = (*entry_walk(stage.settings, "time"), *entry_walk(stage.settings, "packet"))
    return _bank_run(walk, access_bytes, DTYPES[dtype].bits, hardware.dm.bank_bytes, hardware.dm.banks)


@lru_cache(maxsize=256)
def _bank_run(walk: Walk, access_bytes: int, bits: int, width: int, banks: int) -> int:
    start = walk_offsets(walk)[:: max(1, access_bytes * 8 // bits)] * bits // 8
    # An access that does not begin with a row of a bank reaches into one more.
    first, touched = start // width % banks, (start + access_bytes - 1) // width - start // width + 1
    best = 0
    for bank in range(banks):
        hit = (bank - first) % banks < touched
        edges = np.flatnonzero(np.diff(np.concatenate(([False], hit, [False])).astype(np.int8)))
        best = max(best, int((edges[1::2] - edges[0::2]).max(initial=0)))
    return best


def vrf_store_holds_main_and_sub(facts: Facts) -> Iterator[Broken]:
    """A store into the VRF from Main writes through Sub."""
    for op in facts.plan.ops:
        steps = {stage.step for stage in facts.plan.programs.get(op.program, ())}
        if "to_vrf" in steps and "main" in op.contexts and "sub" not in op.contexts:
            yield Broken("a VRF store from Main must hold Sub as well", op.name, _listed(op.contexts), "main, sub")


def bitmap_load_missing(facts: Facts) -> Iterator[Broken]:
    """A pass with a custom bitmap comes after the load of just that bitmap, with no other load between."""
    loads = sorted((o for o in facts.plan.ops if o.kind == "bitmap_load"), key=lambda o: o.end)
    for op in facts.plan.ops:
        if op.kind != "pass":
            continue
        custom = _is_custom(facts, op)
        if not custom and op.bitmap is None:
            continue
        if op.bitmap is None:
            yield Broken("a custom configuration names no bitmap", op.name, "none", "a bitmap")
            continue
        latest = [load for load in loads if load.start < op.end]
        if not latest or latest[-1].bitmap != op.bitmap or latest[-1].end > op.start:
            found = f"{latest[-1].name} until {latest[-1].end}" if latest else "no load"
            yield Broken(
                f"bitmap `{op.bitmap}` is not loaded when the pass starts", op.name, found, f"until {op.start}"
            )


def _is_custom(facts: Facts, op: PlannedOp) -> bool:
    stages = facts.plan.programs.get(op.program, ())
    return any(s.step == "switch" and s.settings["config"]["kind"] == "CustomBroadcast" for s in stages)


def bitmap_load_contexts(facts: Facts) -> Iterator[Broken]:
    """A bitmap load holds DMA and Sub."""
    for op in facts.plan.ops:
        if op.kind == "bitmap_load" and set(op.contexts) != {"dma", "sub"}:
            yield Broken("loading a bitmap holds DMA and Sub", op.name, _listed(op.contexts), "dma, sub")


CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "context_overlap": context_overlap,
    "vector_engine_overlap": vector_engine_overlap,
    "wrong_contexts": wrong_contexts,
    "vrf_store_holds_main_and_sub": vrf_store_holds_main_and_sub,
    "bitmap_load_missing": bitmap_load_missing,
    "bitmap_load_contexts": bitmap_load_contexts,
}
