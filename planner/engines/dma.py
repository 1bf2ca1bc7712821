"""The law of transfers: which are legal, and what they take (domain: section 10; cycles page, DMA).

Base addresses of tensors and starts of tiles are taken as 0, so one law holds for all iterations of a loop.
"""

from __future__ import annotations

from models.dtypes import DTYPES
from models.faults import Finding
from models.kernel import Tile
from models.layout import Stream, TensorLayout
from models.mapping import ONE
from planner.engines.base import Ground, Outcome
from planner.engines.dma_access import Access, Ends, access
from planner.engines.dma_checks import DIRECTIONS, as_tiling, check_cells, check_ends, check_runs
from planner.engines.dma_cost import Cost, copy_cost, load_cost, store_cost
from planner.engines.dma_forms import Undecided
from planner.engines.dma_runs import find_runs


def law(
    ground: Ground,
    source: TensorLayout,
    destination: TensorLayout,
    *,
    read_tile: Tile | None = None,
    write_tile: Tile | None = None,
) -> Outcome:
    """What a transfer from `source` to `destination` takes, or why it is illegal.

    `steps` are its cycles. A tile names the part of its tensor that takes part. The stream of the outcome is the
    DM side (of a copy, the destination): chip, cluster, slice, Time 1 and the DM element as the packet.
    """
    ends = (source, destination)
    findings = check_ends(ends, ground)
    tile_in, wrong_in = as_tiling(read_tile, ground)
    tile_out, wrong_out = as_tiling(write_tile, ground)
    findings += wrong_in + wrong_out
    if findings:
        return Outcome(tuple(findings))
    direction = DIRECTIONS[source.memory, destination.memory]
    here, there = (source, destination) if direction == "store" else (destination, source)
    tiles = (tile_in, tile_out) if direction == "store" else (tile_out, tile_in)
    slices = ground.hardware.geometry.slices_per_cluster
    try:
        return _judged(ground, ends, direction, access(Ends(here, there, direction == "store", slices, *tiles)))
    except Undecided as reason:
        return Outcome((Finding("dma_not_decided", f"this transfer is not decided: {reason}"),))


def _judged(ground: Ground, ends: tuple[TensorLayout, TensorLayout], direction: str, walk: Access) -> Outcome:
    source, destination = ends
    bits, runs = DTYPES[source.dtype].bits, find_runs(walk)
    findings = check_cells(walk, ends)
    findings += check_runs(walk, runs, destination.memory == "dm", bits, ground.hardware)
    if findings:
        return Outcome(tuple(findings))
    cost = _cost(ground, ends, direction, walk)
    ideal = -(-cost.settings["bytes"] // ground.hardware.dma.peak_bytes_per_cycle)
    settings = {
        "read": source.name,
        "write": destination.name,
        "direction": direction,
        "run_bytes": runs.length * bits // 8,
        **cost.settings,
        "ideal_cycles": ideal,
        "shared": walk.shared,
    }
    return Outcome(stream=_stream(source, destination), steps=cost.cycles, settings=settings)


def _cost(ground: Ground, ends: tuple[TensorLayout, TensorLayout], direction: str, walk: Access) -> Cost:
    bits, runs, hardware = DTYPES[ends[0].dtype].bits, find_runs(walk), ground.hardware
    if direction == "load":
        return load_cost(runs, bits, hardware)
    if direction == "store":
        return store_cost(runs, bits, hardware)
    return copy_cost(runs, bits, ends[0].memory == "dm", hardware)


def _stream(source: TensorLayout, destination: TensorLayout) -> Stream:
    side = source if destination.memory == "hbm" and source.memory == "dm" else destination
    return Stream(side.dtype, side.chip, side.cluster, side.slice, ONE, side.element)
