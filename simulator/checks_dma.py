"""Transfers once more: what may move where, sizes, types, units (domain: section 10).

Which cells move, and in which runs, is judged where a transfer is executed: simulator/engines/dma_moves.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from models.dtypes import DTYPES, STAGED_ONLY
from models.kernel import Tensor
from models.plan import MemoryEntry
from simulator.checks_cells import Found, alike, places_at
from simulator.facts import Facts, Place

_DIRECTIONS = {("hbm", "dm"): "load", ("dm", "hbm"): "store", ("dm", "dm"): "copy", ("hbm", "hbm"): "copy"}


@dataclass(frozen=True, slots=True)
class End:
    """One end of a transfer: a tensor of the kernel, or an instance on the chip."""

    name: str
    memory: str
    held: Tensor | MemoryEntry


def _ends(facts: Facts) -> Iterator[tuple[Place, End, End]]:
    for place in places_at(facts, "dma"):
        found = [_end(place, str(place.stage.settings[key])) for key in ("read", "write")]
        if found[0] is not None and found[1] is not None:
            yield place, found[0], found[1]


def _end(place: Place, name: str) -> End | None:
    entry = place.run.entry(name)
    if entry is not None:
        return End(name, entry.file, entry)
    tensor = place.facts.plan.kernel.tensors.get(name)
    return None if tensor is None else End(name, "hbm", tensor)


def dma_memory(facts: Facts) -> Found:
    """HBM and data memory, in the direction that the stage says."""
    for place, source, target in _ends(facts):
        way = _DIRECTIONS.get((source.memory, target.memory))
        if way is None or place.stage.settings["direction"] != way:
            found = f"{place.stage.settings['direction']} from {source.memory} to {target.memory}"
            yield place.broken("a transfer does not move so", found, ", ".join(f"{a} to {b}" for a, b in _DIRECTIONS))


def dma_dtype(facts: Facts) -> Found:
    """The type stays."""
    for place, source, target in _ends(facts):
        if source.held.dtype != target.held.dtype or source.held.dtype in STAGED_ONLY:
            yield place.broken("a transfer keeps the type", target.held.dtype, source.held.dtype)


def dma_chip(facts: Facts) -> Found:
    """Between HBM and data memory the chips are the same."""
    for place, source, target in _ends(facts):
        chips = source.held.chip, target.held.chip
        if {source.memory, target.memory} == {"hbm", "dm"} and not alike(place.layouts, *chips):
            yield place.broken("a transfer stays on its chip", chips[1], chips[0])


def dma_units(facts: Facts) -> Found:
    """Clusters of the chip, and 64, 128 or 256 slices."""
    geometry = facts.plan.hardware.geometry
    for place, *ends in _ends(facts):
        for end in ends:
            if not isinstance(end.held, MemoryEntry):
                continue
            slices, clusters = place.size(end.held.slice), place.size(end.held.cluster)
            if not geometry.min_slices <= slices <= geometry.slices_per_cluster or slices & (slices - 1):
                yield place.broken(f"`{end.name}` has another number of slices", slices, "64, 128 or 256")
            if clusters > geometry.clusters_per_chip:
                message = f"`{end.name}` has more clusters than the chip"
                yield place.broken(message, clusters, f"at most {geometry.clusters_per_chip}")


def _size(memory: str) -> Callable[[Facts], Found]:
    """A check that what lies at an end of a transfer fits its memory."""

    def check(facts: Facts) -> Found:
        hardware = facts.plan.hardware
        most = hardware.dma.hbm_bytes if memory == "hbm" else hardware.dm.bytes_per_slice
        for place, *ends in _ends(facts):
            for end in ends:
                size = DTYPES[end.held.dtype].size_bytes(place.size(end.held.element))
                if end.memory == memory and size > most:
                    yield place.broken(f"`{end.name}` does not fit its memory", f"{size} bytes", f"at most {most}")

    return check


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "dma_memory": dma_memory,
    "dma_dtype": dma_dtype,
    "dma_chip": dma_chip,
    "dma_units": dma_units,
    "dma_hbm_size": _size("hbm"),
    "dma_dm_size": _size("dm"),
}
