"""Rules of the engines that a plan's programs show: order of steps, types, widths, strides, capacities."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator.checks_cells import followed
from simulator.checks_settings import inner_time
from simulator.facts import Broken, Facts, Place
from simulator.values import integer_range

_AFTER_COLLECT = {"to_trf", "to_vrf", "contract_outer", "cast", "transpose", "vector", "commit"}
_STORES = {"cast", "transpose", "vector", "commit"}
NEXT_STEPS: dict[str, set[str]] = {
    "fetch": {"fetch_table_lookup", "fetch_cast", "fetch_zero_point_sub", "switch", "collect"},
    "fetch_table_lookup": {"fetch_cast", "fetch_zero_point_sub", "switch", "collect"},
    "fetch_cast": {"fetch_zero_point_sub", "switch", "collect"},
    "fetch_zero_point_sub": {"switch", "collect"},
    "switch": {"collect"},
    "collect": _AFTER_COLLECT,
    "contract_outer": {"contract_packet"},
    "contract_packet": {"contract_time"},
    "contract_time": {"contract_lane"},
    "contract_lane": _STORES,
    "vector": {"vector", "cast", "transpose", "to_vrf", "commit"},
    "cast": {"transpose", "commit"},
    "transpose": {"commit"},
    "to_trf": set(),
    "to_vrf": set(),
    "commit": set(),
}
_FETCH_CASTS = {
    ("i4", "i32"), ("i8", "i32"), ("i16", "i32"),
    ("f8e4m3", "f32"), ("f8e5m2", "f32"), ("bf16", "f32"), ("f32", "bf16"),
}  # fmt: skip
_TABLES = {("f4e2m1", "f8e4m3"), ("f4e2m1", "f8e5m2"), ("f8e4m3", "bf16"), ("f8e5m2", "bf16")}
_ZERO_POINTS = {("i4", "i5"), ("i8", "i9")}
_CASTS = {
    ("i32", "i4"), ("i32", "i8"), ("i32", "i16"), ("f32", "f8e5m2"), ("f32", "f8e4m3"), ("f32", "bf16"),
}  # fmt: skip
_TRIMS = (8, 16, 24, 32)

Found = Iterator[Broken]


def _at(facts: Facts, *steps: str) -> Iterator[Place]:
    return (p for p in facts.places if p.stage.step in steps)


def illegal_next_step(facts: Facts) -> Found:
    """The table of legal next steps."""
    for place in facts.places:
        step = place.stage.step
        if place.op.kind != "pass":
            continue
        if place.before is None:
            if step != "fetch":
                yield Broken("a pass begins with fetch", place.op.name, step, "fetch")
        elif step not in NEXT_STEPS.get(place.before.step, set()):
            legal = ", ".join(sorted(NEXT_STEPS.get(place.before.step, set()))) or "nothing"
            yield Broken(f"`{step}` does not follow `{place.before.step}`", place.op.name, step, legal)


def pass_without_store(facts: Facts) -> Found:
    """A pass ends in a store."""
    for op in facts.plan.ops:
        stages = facts.plan.programs.get(op.program, ())
        if op.kind == "pass" and stages and stages[-1].step not in ("to_trf", "to_vrf", "commit"):
            yield Broken("the pass stores nothing", op.name, stages[-1].step, "to_trf, to_vrf or commit")


def sub_context_step(facts: Facts) -> Found:
    """Contraction and table look-up are Main only."""
    for op in facts.plan.ops:
        if op.kind != "pass" or "main" in op.contexts:
            continue
        for stage in facts.plan.programs.get(op.program, ()):
            if stage.step.startswith("contract_") or stage.step == "fetch_table_lookup":
                yield Broken(f"`{stage.step}` runs in Main only", op.name, "sub", "main")


def sub_commit_cast(facts: Facts) -> Found:
    """A commit cast is Main only."""
    for place in _at(facts, "commit"):
        if place.stage.settings.get("cast") and not place.main:
            yield Broken("a commit cast runs in Main only", place.op.name, "sub", "main")


def slice_count(facts: Facts) -> Found:
    """64, 128 or 256 slices."""
    geometry = facts.plan.hardware.geometry
    legal = {geometry.slices_per_cluster >> n for n in range(geometry.slices_per_cluster.bit_length())}
    for place in facts.places:
        size = place.size(place.stage.slice)
        if size < geometry.min_slices or size not in legal:
            yield Broken(
                f"`{place.stage.step}` has another number of slices",
                place.op.name,
                size,
                f"{geometry.min_slices} to {geometry.slices_per_cluster}, a power of two",
            )


def cluster_count(facts: Facts) -> Found:
    """One or two clusters."""
    most = facts.plan.hardware.geometry.clusters_per_chip
    for place in facts.places:
        size = place.size(place.stage.cluster)
        if size > most:
            yield Broken(f"`{place.stage.step}` has too many clusters", place.op.name, size, f"at most {most}")


def _types(step: str, legal: set[tuple[str, str]], *, same: bool) -> Callable[[Facts], Found]:
    def check(facts: Facts) -> Found:
        """Source and target types of a conversion."""
        for place in _at(facts, step):
            if place.before is None:
                continue
            found = (place.before.dtype, place.stage.dtype)
            if found not in legal and not (same and found[0] == found[1]):
                wanted = ", ".join(sorted(b for a, b in legal if a == found[0])) or "nothing"
                yield Broken(f"`{step}` does not make {found[1]} of {found[0]}", place.op.name, found[1], wanted)

    return check


def zero_point_range(facts: Facts) -> Found:
    """A zero point is a value of the source type."""
    for place in _at(facts, "fetch_zero_point_sub"):
        if place.before is not None:
            low, high = integer_range(place.before.dtype)
            point = int(place.stage.settings["zero_point"])
            if not low <= point <= high:
                yield Broken("the zero point is no value of the source type", place.op.name, point, f"{low} to {high}")


def slot_capacity(facts: Facts) -> Found:
    """Sums that run side by side fit the accumulator, as many as Time gives or the stage says."""
    unit = facts.plan.hardware.contraction
    for place in followed(facts, "contract_lane"):
        at, stages = place.at, place.stages
        outer = next((s for s in stages if s.step == "contract_outer"), None)
        if at < 2 or outer is None or stages[at - 1].step != "contract_time":
            continue
        time, entry = stages[at - 1], place.run.entry(str(outer.settings["with"]))
        inner = max(inner_time(place, stages[at - 2], time), int(time.settings.get("inner_time", 1)))
        packet, lanes = place.size(time.packet), place.size(entry.lane if entry else "1")
        interleaved = place.stage.settings["mode"] == "interleaved"
        most = unit.interleaved_slots // packet if interleaved else unit.sequential_slots // lanes
        if inner > most:
            yield place.broken("too many sums run side by side", inner, f"at most {most}")


def commit_trim_width(facts: Facts) -> Found:
    """8, 16, 24 or 32 bytes."""
    for place in _at(facts, "commit"):
        trim = int(place.stage.settings["trim_bytes"])
        if trim not in _TRIMS:
            yield Broken("a trim keeps 8, 16, 24 or 32 bytes", place.op.name, trim, "8, 16, 24 or 32")


def commit_cast_types(facts: Facts) -> Found:
    """The commit cast makes bf16 of f32."""
    for place in _at(facts, "commit"):
        cast = place.stage.settings.get("cast")
        if cast and place.before is not None and (place.before.dtype, cast) != ("f32", "bf16"):
            yield Broken(
                "the commit cast makes bf16 of f32", place.op.name, f"{place.before.dtype} to {cast}", "f32 to bf16"
            )


def commit_cast_width(facts: Facts) -> Found:
    """16 or 32 bytes before the commit cast."""
    for place in _at(facts, "commit"):
        trim = int(place.stage.settings["trim_bytes"])
        if place.stage.settings.get("cast") and trim not in (16, 32):
            yield Broken("the commit cast takes 16 or 32 bytes", place.op.name, trim, "16 or 32")


def relu_needs_cast(facts: Facts) -> Found:
    """ReLU belongs to the commit cast."""
    for place in _at(facts, "commit"):
        if place.stage.settings.get("relu") and not place.stage.settings.get("cast"):
            yield Broken("ReLU without a commit cast", place.op.name, "relu", "cast: bf16")


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "illegal_next_step": illegal_next_step,
    "pass_without_store": pass_without_store,
    "sub_context_step": sub_context_step,
    "sub_commit_cast": sub_commit_cast,
    "slice_count": slice_count,
    "cluster_count": cluster_count,
    "fetch_cast_types": _types("fetch_cast", _FETCH_CASTS, same=True),
    "fetch_table_types": _types("fetch_table_lookup", _TABLES, same=False),
    "zero_point_types": _types("fetch_zero_point_sub", _ZERO_POINTS, same=False),
    "zero_point_range": zero_point_range,
    "slot_capacity": slot_capacity,
    "cast_types": _types("cast", _CASTS, same=False),
    "commit_trim_width": commit_trim_width,
    "commit_cast_types": commit_cast_types,
    "commit_cast_width": commit_cast_width,
    "relu_needs_cast": relu_needs_cast,
}
