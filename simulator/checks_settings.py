"""What stages say they derived, against the simulator's own reading of their walks and mappings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from models.dtypes import DTYPES
from models.plan import Stage
from simulator.bench import Run
from simulator.checks_contexts import bank_run
from simulator.engines.contraction import time_groups
from simulator.engines.fetch import adapted_bits, read_bytes_of, walk_steps
from simulator.engines.snoop import Wanted, custom, expand, regular
from simulator.engines.walks import entry_walk, factors, merged, run_elements
from simulator.facts import Broken, Facts, Place
from simulator.memories import Walk
from simulator.values import Bits

Derived = Iterator[tuple[str, Any]]
_ENTRY = re.compile(r"(\d{1,12}):(\d{1,12})")


def settings_mismatch(facts: Facts) -> Iterator[Broken]:
    """Every derived setting that a stage carries."""
    for place in facts.places:
        derive = _DERIVED.get(place.stage.step)
        for key, own in derive(place) if derive else ():
            stated = place.stage.settings.get(key)
            if stated is not None and stated != own:
                message = f"`{place.stage.step}` of `{place.op.program}` states another {key}"
                yield Broken(message, place.op.name, stated, own)


def ring_size_mismatch(facts: Facts) -> Iterator[Broken]:
    """The ring size is the one that the configuration, or a custom bitmap, gives."""
    for place in _switches(facts):
        settings = place.stage.settings
        own = ring_of(place)
        stated = {int(settings["ring_size"]), int(settings["config"].get("ring_size") or settings["ring_size"])}
        if stated != {own}:
            yield Broken("the ring has another size", place.op.name, ", ".join(map(str, sorted(stated))), own)


def snoop_bitmap_mismatch(facts: Facts) -> Iterator[Broken]:
    """Every output slice listens to the slices that its cells come from; what padding listens to does not matter."""
    for place in _switches(facts):
        slices = place.size(place.stage.slice)
        stated = expand(place.stage.settings["bitmap"], slices)
        custom_one = place.stage.settings["config"]["kind"] == "CustomBroadcast"
        router, wanted = _custom_flaw(place, stated) if custom_one else _regular_flaw(place, stated)
        if router is not None:
            message = f"slice {router} listens to other slices than its cells come from"
            yield Broken(message, place.op.name, np.flatnonzero(stated[router]).tolist(), wanted)


def _custom_flaw(place: Place, stated: Bits) -> tuple[int | None, list[int]]:
    wanted = _wanted(place)
    router = wanted.flaw(stated)
    return router, [] if router is None else wanted.sources(router)


def _regular_flaw(place: Place, stated: Bits) -> tuple[int | None, list[int]]:
    own = regular(place.stage.settings["config"], len(stated))
    live = np.asarray(place.facts.bench.layouts.inner(place.stage.slice).kind == 0).reshape(-1)
    wrong = np.flatnonzero((own != stated).any(axis=1) & live)
    return (None, []) if len(wrong) == 0 else (int(wrong[0]), np.flatnonzero(own[wrong[0]]).tolist())


def _switches(facts: Facts) -> Iterator[Place]:
    return (p for p in facts.places if p.stage.step == "switch" and p.before is not None)


def _wanted(place: Place) -> Wanted:
    """What a custom configuration's bitmap is to bring about, by enumeration."""
    before = place.before
    assert before is not None
    after = (place.stage.slice, place.stage.time)
    return custom(place.facts.bench.layouts, (before.slice, before.time), after)


def ring_of(place: Place) -> int:
    """slice1 x slice0, or the smallest aligned blocks that hold every custom source."""
    config = place.stage.settings["config"]
    if config["kind"] == "Forwarding":
        return 1
    if config["kind"] != "CustomBroadcast":
        return int(config["slice1"]) * int(config["slice0"])
    return _wanted(place).ring(expand(place.stage.settings["bitmap"], place.size(place.stage.slice)))


def _fetch(place: Place) -> Derived:
    settings = place.stage.settings
    time, packet = entry_walk(settings, "time"), entry_walk(settings, "packet")
    entry = Run(place.facts.bench, place.op).entry(str(settings["reads"][0]))
    if entry is None:
        return
    bits = DTYPES[entry.dtype].bits
    bits_out = adapted_bits(entry.dtype, place.stages)
    own = read_bytes_of(
        place.facts.plan.hardware, (*time, *packet), walk_steps(packet), bits, main=place.main, bits_out=bits_out
    )
    yield "read_bytes", own
    yield "reads_per_packet", max(1, walk_steps(packet) * bits // 8 // own)
    yield "bank_run", bank_run(place.stage, own, entry.dtype, place.facts.plan.hardware)
    yield "entries", _entries(place, (*time, *packet))


def _texts(walk: Walk) -> list[str]:
    return [f"{size}:{stride}" for size, stride in walk] or ["1:1"]


def _entries(place: Place, walk: Walk) -> list[str]:
    """A sequencer's entries; what is too large for one is split, and the plan says how."""
    whole, most = merged(walk), place.hardware.sequencer.max_entry_size
    split = [factors(size, most) or (size,) for size, _ in whole]
    stated = list(map(str, place.stage.settings.get("entries") or ()))
    read = [m for m in map(_ENTRY.fullmatch, stated) if m]
    told = tuple((int(m[1]), int(m[2])) for m in read) if len(read) == len(stated) else ()
    fits = len(told) == sum(map(len, split)) and all(1 < size <= most for size, _ in told)
    if fits and len(told) > len(whole) and merged(told) == whole:
        return stated
    return _texts(tuple(e for sizes, (_, stride) in zip(split, whole, strict=True) for e in _spread(sizes, stride)))


def _spread(sizes: tuple[int, ...], stride: int) -> Walk:
    """One entry as several, outermost first."""
    return tuple((size, stride * prod(sizes[i + 1 :])) for i, size in enumerate(sizes))


def _switch(place: Place) -> Derived:
    assert place.before is not None
    flits, ring = _flits(place, place.before), ring_of(place)
    yield "flits_per_packet", flits
    yield "slice2", place.size(place.before.slice) // ring
    defined = ring * place.size(place.before.time) * flits
    partial = place.stage.settings["config"]["kind"] == "CustomBroadcast" and _wanted(place).leaves_padding
    documented = ring * place.size(place.stage.time) * flits
    # the documented number of a partial extraction counts extracted steps too; the slots that pass are the defined ones
    yield "cycles", documented if partial and place.stage.settings.get("cycles") == documented else defined


def _flits(place: Place, stage: Stage) -> int:
    bits = {"i5": 4, "i9": 8}.get(stage.dtype, DTYPES[stage.dtype].bits)
    return -(-place.size(stage.packet) * bits // (8 * place.flit_bytes))


def _collect(place: Place) -> Derived:
    if place.before is not None:
        yield "flits_per_packet", _flits(place, place.before)


def _to_trf(place: Place) -> Derived:
    yield from _stored_layout(place, "lane", "element")
    stage, trf = place.stage, place.facts.plan.hardware.trf
    lanes = place.size(str(stage.settings["lane"]))
    flits = place.size(stage.time) // lanes
    yield "lanes", lanes
    yield "flits_per_lane", flits
    per_lane = -(-flits // trf.banks)
    rows = -(-per_lane * lanes // place.facts.plan.hardware.geometry.lanes_per_slice)
    yield "rows_per_bank", per_lane
    yield "rows", rows
    fits = 2 * rows <= trf.rows_per_bank
    yield "fits_half", fits
    modes = ("full", "first_half", "second_half") if fits else ("full",)
    yield "regions", [region for region in stage.settings.get("regions") or () if region in modes]
    via = stage.settings.get("via")
    yield "via", via if via in ("short", "pipeline") else "short or pipeline"
    yield "total_bytes", lanes * flits * place.flit_bytes


def _stored_layout(place: Place, *names: str) -> Derived:
    """Lane and Element of the stage are those of the instance it makes."""
    entry = Run(place.facts.bench, place.op).entry(str(place.stage.settings["write"]))
    layouts = place.facts.bench.layouts
    for name in names if entry is not None else ():
        stated, held = str(place.stage.settings[name]), str(getattr(entry, name))
        sizes = layouts.size(stated), layouts.size(held)
        alike = sizes[0] == sizes[1] and layouts.inner(stated).same_as(layouts.inner(held)).all()
        yield name, stated if alike else held


def _to_vrf(place: Place) -> Derived:
    yield from _stored_layout(place, "element")
    yield "bytes", DTYPES[place.stage.dtype].size_bytes(place.size(str(place.stage.settings["element"])))


def _contract_outer(place: Place) -> Derived:
    if place.before is not None:
        yield "pack_size", place.size(place.stage.packet) // place.size(place.before.packet)
    yield "read_elements", run_elements(entry_walk(place.stage.settings, "trf_packet"))


def _contract_packet(place: Place) -> Derived:
    if place.before is None:
        return
    before, after = place.size(place.before.packet), place.size(place.stage.packet)
    depth = int(place.stage.settings["tree_depth"])
    fits = -(-before // (1 << depth)) >= after and before % (1 << depth) == 0
    yield "tree_depth", depth if fits else (before // after).bit_length() - 1


def _commit(place: Place) -> Derived:
    settings = place.stage.settings
    time, packet = entry_walk(settings, "time"), entry_walk(settings, "packet")
    hardware, bits = place.facts.plan.hardware, DTYPES[place.stage.dtype].bits
    trimmed = walk_steps(packet)
    access = int(np.gcd(trimmed, run_elements((*time, *packet)))) * bits // 8
    own = access if place.main else hardware.dm.bank_bytes
    yield "write_bytes", own
    yield "writes_per_packet", max(1, trimmed * bits // 8 // own)
    yield "bank_run", bank_run(place.stage, own, place.stage.dtype, hardware)
    yield "entries", _entries(place, (*time, *packet))


def _dma(place: Place) -> Derived:
    """What the transfer's cycles were counted from; `ideal_cycles` and the like are whole numbers or tenths."""
    yield from place.facts.transfers.get(place.op.program, {}).items()


def _contract_time(place: Place) -> Derived:
    if place.before is not None:
        yield "inner_time", inner_time(place, place.before, place.stage)


def inner_time(place: Place, before: Stage, after: Stage) -> int:
    """Sums that run side by side: different output steps between the first and the last part of one sum."""
    group, _ = time_groups(Run(place.facts.bench, place.op), before.time, after.time)
    group = group[group >= 0]
    if len(group) == 0:
        return 1
    last = int(np.flatnonzero(group == group[0])[-1])
    return len(np.unique(group[:last])) if last else 1


def _contract_lane(place: Place) -> Derived:
    stages = place.facts.plan.programs[place.op.program]
    at = next(i for i, stage in enumerate(stages) if stage is place.stage)
    unit, time = place.facts.plan.hardware.contraction, stages[at - 1]
    entry = Run(place.facts.bench, place.op).entry(str(stages[at - 3].settings["with"]))
    yield "inner_time", inner_time(place, stages[at - 2], time)
    if place.stage.settings["mode"] == "interleaved":
        yield "slot_capacity", unit.interleaved_slots // place.size(time.packet)
    elif entry is not None:
        yield "slot_capacity", unit.sequential_slots // place.size(entry.lane)


_DERIVED: dict[str, Callable[[Place], Derived]] = {
    "fetch": _fetch,
    "switch": _switch,
    "collect": _collect,
    "to_trf": _to_trf,
    "to_vrf": _to_vrf,
    "contract_outer": _contract_outer,
    "contract_packet": _contract_packet,
    "commit": _commit,
    "dma": _dma,
    "contract_time": _contract_time,
    "contract_lane": _contract_lane,
}

CHECKS: dict[str, Callable[[Facts], Iterator[Broken]]] = {
    "settings_mismatch": settings_mismatch,
    "ring_size_mismatch": ring_size_mismatch,
    "snoop_bitmap_mismatch": snoop_bitmap_mismatch,
}
