"""Lower bounds that cost next to nothing: of transfers from their bytes, of passes from their step counts.

None of them is a second law: each follows from the law it bounds, and only orders the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from models.hardware import Hardware
from planner.engines import switch_cost
from planner.pass_cycles import Steps, pass_cycles
from planner.search.contraction import HELD, STREAMED, Tiling, contraction_cycles, filled
from planner.search.contraction_passes import Spread
from planner.search.parts import Parts, joined, size_of, take_major, without
from planner.search.spec import Named
from planner.search.turns import turn_floor

TENTHS = 10


def frame_cycles(hardware: Hardware) -> int:
    """What every kernel takes beside its operations."""
    return hardware.kernel.first_start_cycles + hardware.kernel.final_sync_cycles


@dataclass(frozen=True, slots=True)
class Spots:
    """What a transfer uses at most: engines that take part, HBM channels, bytes of a request."""

    engines: int
    channels: int
    piece_bytes: int


def transfer_floor(hardware: Hardware, total_bytes: int, base_cycles: int, spots: Spots | None = None) -> int:
    """A transfer's base and the requests of the fullest engine: each waits for the end of the one 8 before it; or
    those of the fullest channel. Without `spots` the best there are.
    """
    dma = hardware.dma
    at = spots or Spots(dma.engines_per_chip, dma.channels, dma.access_bytes)
    piece = min(at.piece_bytes, dma.access_bytes)
    latency = dma.service_tenths + dma.service_chunk_tenths * -(-piece // dma.service_chunk_bytes) + dma.return_tenths
    requests = total_bytes // piece
    engine = max(0, requests // at.engines // dma.in_flight_requests - 1) * latency
    channel = requests // at.channels * (latency - dma.return_tenths)
    return base_cycles + max(engine, channel) // TENTHS


def engines_of(hardware: Hardware, slice_: Parts, clusters: int) -> int:
    """DMA engines whose slices hold data: a group of neighbouring slices has one."""
    groups = hardware.geometry.slices_per_cluster // hardware.dma.slices_per_engine
    outer = take_major(slice_, groups)
    used = groups if outer is None else size_of(p for p in outer[0] if p.axis is not None)
    return clusters * used


def operand_bytes(tiling: Tiling, operand: Named) -> int:
    """What a slice holds of an operand."""
    return size_of(tiling.axis_tile(operand.axes)) * operand.bytes_per_element


def units(tiling: Tiling) -> int:
    """Slices that take part, of all clusters."""
    return size_of(tiling.working) * (size_of(tiling.cluster[1]) if tiling.cluster[0] else 1)


def load_floor(hardware: Hardware, tiling: Tiling, operand: Named, sizes: dict[str, int]) -> int:
    """A load whose spread over the slices that share it is as wide as can be: every byte arrives once per rest."""
    other, dma = STREAMED if operand is tiling.held else HELD, hardware.dma
    once = prod(sizes[a] for a in operand.axes) * operand.bytes_per_element
    total = once * (size_of(tiling.cluster[1]) if tiling.cluster[0] == other else 1)
    if units(tiling) == 1:
        return dma.single_slice_base_cycles + total // dma.access_bytes * dma.single_slice_request_tenths // TENTHS
    working = filled(tiling, hardware.geometry.slices_per_cluster) or ()
    engines = engines_of(hardware, working, size_of(tiling.cluster[1]) if tiling.cluster[0] else 1)
    run = run_elements(operand.loaded_axes, sizes, tiling.axis_tile(operand.axes)) * operand.bytes_per_element
    blocks = -(-once // dma.access_bytes)
    base = dma.load_base_cycles + (dma.group_cycles if engines > 1 else 0)
    return transfer_floor(hardware, total, base, Spots(engines, min(dma.channels, blocks), run))


def store_floor(
    hardware: Hardware, out: Named, sizes: dict[str, int], element: Parts, engines: int | None = None
) -> int:
    """A store whose blocks are written evenly: whole ones by the queue, others once per run that a slice holds of them.

    `element` are the digits that each slice holds; `engines` those that take part, all where that is not known.
    """
    dma, total = hardware.dma, prod(sizes[a] for a in out.axes) * out.bytes_per_element
    run_bytes = min(total, run_elements(out.axes, sizes, element) * out.bytes_per_element)
    base = dma.store_base_cycles + (dma.group_cycles if engines is not None and engines > 1 else 0)
    engines = dma.engines_per_chip if engines is None else engines
    if run_bytes >= dma.access_bytes or run_bytes == total:
        return transfer_floor(hardware, total, base, Spots(engines, dma.channels, dma.access_bytes))
    writes = dma.access_bytes // run_bytes
    blocks = total // dma.access_bytes // engines
    tenths = blocks * writes * min(writes, dma.partial_cap_writes) * dma.partial_weight_tenths
    return base + dma.partial_base_cycles + tenths // TENTHS


def run_elements(order: tuple[str, ...], sizes: dict[str, int], element: Parts) -> int:
    """Neighbours in HBM that a slice holds, at most."""
    run, element = 1, joined(sorted(element, key=lambda p: (p.axis or "", -p.stride)))
    for axis in reversed(order):
        held = next((p for p in element if p.axis == axis and p.stride == 1), None)
        run *= 1 if held is None else min(held.size, sizes[axis])
        if held is None or held.size < sizes[axis]:
            break
    return run


def hold_floor(hardware: Hardware, tiling: Tiling, spread: Spread) -> int:
    """The pass that stores the held operand, behind the one that turns it round where it does not lie as it is read."""
    return _turn(hardware, tiling, tiling.held, spread) + _store(hardware, tiling, spread)


def _turn(hardware: Hardware, tiling: Tiling, operand: Named, spread: Spread) -> int:
    if operand.lies is None:
        return 0
    return turn_floor(hardware, operand.dtype, without(tiling.axis_tile(operand.axes), spread.moved))


def _store(hardware: Hardware, tiling: Tiling, spread: Spread) -> int:
    """The operand's flits, and the ring where it was spread."""
    flits = max(1, operand_bytes(tiling, tiling.held) // hardware.geometry.flit_bytes)
    counts = [("fetch", flits), ("collect", flits), ("to_trf", flits)]
    if spread.moved:
        n = size_of(spread.moved)
        ring = n * spread.inside
        counts.append(("switch", switch_cost.pass_steps(hardware, "Broadcast1", ring, max(1, flits // n), 1)))
    return pass_cycles(hardware, Steps("main", tuple(counts)))


def stream_floor(hardware: Hardware, tiling: Tiling, spread: Spread) -> int:
    """The matrix pass, behind the one that turns the stream round where it does not lie as it is read."""
    return _turn(hardware, tiling, tiling.stream, spread) + matrix_floor(hardware, tiling, spread)


def matrix_floor(hardware: Hardware, tiling: Tiling, spread: Spread) -> int:
    """The matrix pass: contraction steps, and the ring where the stream was spread."""
    floor = contraction_cycles(hardware, tiling)
    if not spread.moved:
        return floor
    n, flits = size_of(spread.moved), max(1, operand_bytes(tiling, tiling.stream) // hardware.geometry.flit_bytes)
    steps = switch_cost.pass_steps(hardware, "Broadcast1", n * spread.inside, max(1, flits // n), 1)
    return max(floor, switch_cost.pass_cycles(hardware, steps))
