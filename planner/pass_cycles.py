"""What a pass takes in a schedule: a base plus the largest step count of its stages (cycles page, Passes)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from models.hardware import Hardware


@dataclass(frozen=True, slots=True)
class InterSlice:
    """An inter-slice reduction inside a pass: over so many slices, so many time steps entering the reducer."""

    ratio: int
    time: int


@dataclass(frozen=True, slots=True)
class Steps:
    """Step counts of a pass by stage, in order; `short` for the short form of a register store."""

    context: str
    counts: tuple[tuple[str, int], ...]
    inter_slice: InterSlice | None = None
    short: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The stages in order."""
        return tuple(name for name, _ in self.counts)


def pass_cycles(hardware: Hardware, steps: Steps) -> int:
    """Cycles of a pass: exact on the ten fitted ones; the inter-slice term is a guess fitted at one point."""
    largest = max((n for _, n in steps.counts), default=0)
    if steps.inter_slice is not None:
        unit = hardware.vector
        law = unit.inter_slice_cycles_per_step * steps.inter_slice.ratio * steps.inter_slice.time
        return unit.inter_slice_pass_base_cycles + max(largest, law + unit.inter_slice_offset_cycles)
    return base_cycles(hardware, steps) + largest


def base_cycles(hardware: Hardware, steps: Steps) -> int:
    """The base by what the pass does and where it ends."""
    passes, names = hardware.passes, steps.names
    if _largest_is(steps.counts, "switch"):
        return passes.commit_base_cycles
    if steps.short:
        return passes.short_store_base_cycles
    if "to_trf" in names or "to_vrf" in names:
        return passes.register_store_base_cycles
    if steps.context == "sub":
        # unconfirmed: no compiled Sub pass that commits was seen
        return passes.commit_base_cycles
    if "vector" in names:
        return passes.vector_base_cycles
    return passes.contraction_base_cycles if "contract_outer" in names else passes.commit_base_cycles


def _largest_is(counts: Sequence[tuple[str, int]], name: str) -> bool:
    own = max((n for s, n in counts if s == name), default=0)
    return own > 0 and own > _most(n for s, n in counts if s != name)


def _most(values: Iterable[int]) -> int:
    return max(values, default=0)
