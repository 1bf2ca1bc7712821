"""Levers of a kernel and its chip, each one step up and one down."""

from __future__ import annotations

from models.hardware import Hardware
from models.kernel import Kernel
from models.presets.load import load_hardware
from planner.corrections_edits import tile_axes, written_tensors
from planner.options import Request
from planner.whatif_variants import HARDWARE, Variant, changed, described

DOUBLED = (
    *("trf.rows_per_bank", "vrf.bytes_per_slice", "dm.bytes_per_slice"),
    *("switch.ring_tenths_per_flit", "dma.slices_per_engine", "geometry.lanes_per_slice"),
)
"""Numbers whose step is a factor of two: half the slices per engine are twice the engines."""
OVERHEADS = (
    *("passes.register_store_base_cycles", "passes.contraction_base_cycles", "passes.commit_base_cycles"),
    *("passes.vector_base_cycles", "passes.short_store_base_cycles"),
)
"""Numbers whose step is a tenth."""
TENTH = 10


def levers(kernel: Kernel, common: Request) -> tuple[Variant, ...]:
    """Two variants for every lever, on top of the common changes; numbered from 1."""
    hardware = load_hardware(kernel.hardware, common.settings)
    steps = [*_hardware(hardware), *_axes(kernel)]
    return tuple(
        Variant(i, described(common) | {path: str(value)}, changed(common, {path: str(value)}))
        for i, (path, value) in enumerate(steps, 1)
    )


def _hardware(hardware: Hardware) -> list[tuple[str, int]]:
    out = []
    for path in DOUBLED:
        now = number(hardware, path)
        out += [(HARDWARE + path, value) for value in (now * 2, now // 2) if value]
    for path in OVERHEADS:
        now = number(hardware, path)
        step = max(1, now // TENTH)
        out += [(HARDWARE + path, value) for value in (now + step, now - step) if value > 0]
    return out


def _axes(kernel: Kernel) -> list[tuple[str, int]]:
    """Axes that lie, in part or whole, within a slice: their size is the tile's."""
    tensors = tuple(tensor for _, tensor in written_tensors(kernel))
    out = []
    for axis in tile_axes(kernel, tensors):
        size = kernel.axes[axis]
        out += [(axis, size * 2), *([(axis, size // 2)] if size % 2 == 0 and size > 1 else [])]
    return out


def number(hardware: Hardware, path: str) -> int:
    """The number at a dotted path."""
    group, _, leaf = path.partition(".")
    return int(getattr(getattr(hardware, group), leaf))
