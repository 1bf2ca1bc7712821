"""Settings that only report, and those that a kernel states itself: neither may say anything else (plan-file page)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from models.cells import LIVE
from models.kernel import PassOp
from models.plan import Stage
from simulator.checks_banks import read_pattern
from simulator.checks_cells import Found, alike, live_positions, travelling_bits
from simulator.checks_settings import settings_mismatch as stated_of_walks
from simulator.checks_vector import links
from simulator.engines.walks import entry_walk
from simulator.facts import Facts, Place
from simulator.memories import walk_offsets

Derived = Iterator[tuple[str, Any]]
_LAYOUTS = ("time", "packet", "slice", "tile_time", "split_time")
_STATED = ("op", "value", "operand", "operands", "guards", "mode", "comparisons", "axis", "zero_point")
"""What the kernel says of an op and a plan must repeat; an ALU may be chosen. Layouts stand in the stage: where the
settings have them too, they are the kernel's.
"""


def settings_mismatch(facts: Facts) -> Found:
    """Every setting that a stage carries: derived from walks, from sizes, or stated by the kernel."""
    yield from stated_of_walks(facts)
    for place in facts.places:
        derive = _DERIVED.get(place.stage.step)
        for key, own in derive(place) if derive else ():
            stated = place.stage.settings.get(key)
            if stated is not None and stated != own:
                yield place.broken(f"`{place.stage.step}` of `{place.op.program}` states another {key}", stated, own)
    yield from _of_kernel(facts)


def _fetch(place: Place) -> Derived:
    settings = place.stage.settings
    base, bases = settings.get("base"), settings.get("bases")
    if bases:
        strides = [None if b is None or base is None else b | {"stride": base["stride"]} for b in bases]
        yield "bases", [base, *strides[1:]]
    lift = settings.get("lift") or {}
    if any(
        prod(int(n) for n, _ in entries) != place.size(getattr(place.stage, level)) for level, entries in lift.items()
    ):
        yield "lift", {level: place.size(getattr(place.stage, level)) for level in lift}


def _switch(place: Place) -> Derived:
    """How Time is cut for the configurations that cut it."""
    config, before = place.stage.settings["config"], place.before
    if before is None or not config.get("time0"):
        return
    steps, time0 = place.size(before.time), int(config["time0"])
    if config["kind"] == "InterTranspose":
        yield "time1", int(config["slice1"])
        yield "time2", steps // (int(config["slice1"]) * time0)
    else:
        yield "time1", steps // time0


def _contract_outer(place: Place) -> Derived:
    """Multipliers of a slice, those with a live product in a step, and the share of them over all steps."""
    entry, hardware = place.entry("with"), place.hardware
    if entry is None:
        return
    bits = travelling_bits(entry.dtype)
    reads = walk_offsets(entry_walk(place.stage.settings, "trf_time")) * bits
    yield "trf_reads", read_pattern(reads, int(place.stage.settings["read_elements"]) * bits, hardware)
    widest = hardware.contraction.max_packet_flits * place.flit_bytes * 8
    there = hardware.geometry.lanes_per_slice * (widest // travelling_bits(entry.dtype))
    used = len(live_positions(place.layouts, place.stage.packet)) * len(
        live_positions(place.layouts, entry.lane or "1")
    )
    steps = place.layouts.inner(place.stage.time).kind
    yield "multipliers", there
    yield "multipliers_used", used
    yield "utilisation_percent", round(100 * used * int((steps == LIVE).sum()) / steps.size / there, 1)


def _vector(place: Place) -> Derived:
    settings = place.stage.settings
    for level in ("time", "packet", "slice"):
        held = str(getattr(place.stage, level))
        if (
            level in settings
        ):  # what an op says it leaves is what leaves its stage, whatever program it came to stand in
            yield level, settings[level] if alike(place.layouts, str(settings[level]), held) else held
    if "filled" in settings:
        yield "filled", [slot | {"size": place.size(str(slot["mapping"]))} for slot in settings["filled"]]
    if settings.get("vcg_ways") is not None and place.before is not None:
        link = next(found for found in links(place.facts) if found.place == place)
        halves = any(d.name == "narrow_split" for d in link.done) and place.size(place.before.time) % 2 == 0
        yield "vcg_ways", place.size(place.before.packet) * (2 if halves else 1)


_DERIVED: dict[str, Callable[[Place], Derived]] = {
    "fetch": _fetch,
    "switch": _switch,
    "contract_outer": _contract_outer,
    "vector": _vector,
}


# What the kernel states -----------------------------------------------------------------------------------


def _of_kernel(facts: Facts) -> Found:
    """Operands, modes and constants of a pass are those of its operation in the kernel."""
    for place in facts.places:
        op = facts.bench.kernel_ops.get(place.op.base)
        if place.at == 0 and isinstance(op, PassOp):
            for stage, wanted in _paired(op, place.stages):
                keys = [k for k in wanted if k in _STATED or (k in _LAYOUTS and k in stage.settings)]
                wrong = [k for k in keys if not _same(stage.settings.get(k), wanted[k])]
                for key in wrong:
                    message = f"`{stage.step}` of `{place.op.program}` has another {key} than the kernel"
                    yield place.broken(message, stage.settings.get(key), wanted[key])


def _same(stated: object, wanted: object) -> bool:
    """Whether two values agree; names of operations without case, and without the F that f32 may leave out."""
    if isinstance(stated, str) and isinstance(wanted, str):
        return stated.lower().removesuffix("f") == wanted.lower().removesuffix("f")
    return stated == wanted


def _paired(op: PassOp, stages: tuple[Stage, ...]) -> Iterator[tuple[Stage, dict[str, Any]]]:
    """Vector ops and zero points of a program with what the kernel says of them, where both have as many."""
    stated: list[dict[str, Any]] = []
    for step in op.steps:
        if step.step == "vector":
            stated += [o.model_dump(mode="json", exclude_defaults=True) for o in step.ops]
        elif step.step == "fetch_zero_point_sub":
            stated.append({"zero_point": step.zero_point})
    planned = [s for s in stages if s.step in ("vector", "fetch_zero_point_sub")]
    yield from zip(planned, stated, strict=True) if len(planned) == len(stated) else ()


CHECKS: dict[str, Callable[[Facts], Found]] = {"settings_mismatch": settings_mismatch}
