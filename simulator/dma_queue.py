"""The DMA engines and HBM channels as a small queue, on physically enumerated addresses (cycles page, DMA).

Times inside are tenths of a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heapreplace

import numpy as np
from numpy.typing import NDArray

from models.hardware import Hardware

Ints = NDArray[np.int64]
_TENTHS = 10
_CHANNEL_GROUPS = range(9, 29, 4)  # cycles page: the xor of the five 4-bit groups of address bits 9 to 28
_STACK_BIT = 8


@dataclass(frozen=True, slots=True)
class Pieces:
    """Contiguous HBM pieces in the order in which a slice's bytes name them: unit, first byte, bytes."""

    unit: Ints
    start: Ints
    length: Ints

    def where(self, keep: NDArray[np.bool_]) -> Pieces:
        """Some of the pieces."""
        return Pieces(self.unit[keep], self.start[keep], self.length[keep])


def runs(at: NDArray[np.int32], width: int) -> Pieces:
    """Contiguous HBM runs per unit from HBM positions [units, elements] (-1: takes no part), `width` bytes each."""
    units, elements = at.shape
    if (at >= 0).all():
        position, unit = at.reshape(-1), None
        fresh = np.arange(0, units * elements, elements)
    else:
        where, _ = np.nonzero(at >= 0)
        position, unit = at[at >= 0], where
        fresh = np.flatnonzero(np.diff(where, prepend=-1))
    first = np.ones(len(position), dtype=np.bool_)
    first[1:] = position[1:] != position[:-1] + 1
    first[fresh] = True
    begin = np.flatnonzero(first)
    count = np.diff(np.append(begin, len(position)))
    owner = begin // max(1, elements) if unit is None else unit[begin]
    return Pieces(owner, position[begin].astype(np.int64) * width, count * width)


def cut(pieces: Pieces, block: int) -> Pieces:
    """Cuts pieces at every address that is a multiple of `block`."""
    return _cut_at(pieces, pieces.start % block, block)


def cut_from_start(pieces: Pieces, block: int) -> Pieces:
    """Cuts pieces every `block` bytes from their own start."""
    return _cut_at(pieces, np.zeros(len(pieces.start), dtype=np.int64), block)


def _cut_at(pieces: Pieces, lead: Ints, block: int) -> Pieces:
    parts = -(-(lead + pieces.length) // block)
    whole = np.repeat(np.arange(len(parts)), parts)
    index = np.arange(len(whole)) - np.repeat(np.cumsum(parts) - parts, parts)
    low = np.maximum(index * block - lead[whole], 0)
    high = np.minimum((index + 1) * block - lead[whole], pieces.length[whole])
    return Pieces(pieces.unit[whole], pieces.start[whole] + low, high - low)


def engine_of(unit: Ints, hardware: Hardware) -> Ints:
    """The DMA engine of a unit: 64 neighbouring slices share one."""
    return unit // hardware.dma.slices_per_engine


def channel_of(address: Ints) -> Ints:
    """The HBM channel of an address: 2 c + bit 8."""
    mixed = np.zeros_like(address)
    for low in _CHANNEL_GROUPS:
        mixed ^= (address >> low) & 0xF
    return 2 * mixed + ((address >> _STACK_BIT) & 1)


def queue_tenths(requests: Pieces, hardware: Hardware) -> int:
    """When the last request has ended: bursts in slice order, few in flight, first come first served per channel."""
    dma = hardware.dma
    engines = _in_burst_order(requests, hardware)
    chunk = dma.service_chunk_bytes
    channel = channel_of(requests.start) % dma.channels
    chunks = (requests.start + requests.length - 1) // chunk - requests.start // chunk + 1
    service = dma.service_tenths + dma.service_chunk_tenths * chunks
    lists = [list(zip(channel[order].tolist(), service[order].tolist(), strict=True)) for order in engines]
    return _run(lists, dma.channels, dma.in_flight_requests, dma.return_tenths)


def long_queue_tenths(requests: Pieces, hardware: Hardware) -> int:
    """The same for any number of requests: beyond so many, the first m of every slice are simulated, and half as many.

    What the second half took is taken for every further m / 2 requests of the fullest slice; m is a power of two, so
    that is exact when the pattern of channels repeats.
    """
    dma = hardware.dma
    if len(requests.unit) <= dma.queue_requests:
        return queue_tenths(requests, hardware)
    place, first = _place_in_unit(requests.unit), _first(requests, hardware)
    half = first // 2
    start = queue_tenths(requests.where(place < half), hardware)
    end = queue_tenths(requests.where(place < first), hardware)
    further = max(0, int(place.max()) + 1 - first)
    return end + (2 * further * (end - start) + half) // (2 * half)


def queued(requests: Pieces, hardware: Hardware) -> int:
    """How many of the requests a queue of any number of them is simulated for."""
    if len(requests.unit) <= hardware.dma.queue_requests:
        return len(requests.unit)
    return int((_place_in_unit(requests.unit) < _first(requests, hardware)).sum())


def _first(requests: Pieces, hardware: Hardware) -> int:
    """m: a power of two, so many that the queue's limit is not passed, and two bursts at least."""
    fits = hardware.dma.queue_requests // len(np.unique(requests.unit))
    return max(2 * hardware.dma.burst_requests, 1 << (fits.bit_length() - 1 if fits else 0))


def _place_in_unit(unit: Ints) -> Ints:
    """The number of each request among those of its unit, which follow one another."""
    change = np.flatnonzero(np.diff(unit, prepend=-1))
    sizes = np.diff(np.append(change, len(unit)))
    return np.arange(len(unit)) - np.repeat(change, sizes)


def _run(lists: list[list[tuple[int, int]]], channels: int, in_flight: int, back: int) -> int:
    """Serves (channel, service) requests of every engine; plain comparisons, since this loop is the slow part."""
    free = [0] * channels
    ends: list[list[int]] = [[0] * in_flight for _ in lists]  # the first ones stand for "nothing in flight"
    waiting = [iter(requests) for requests in lists]
    ready = [(0, engine) for engine in range(len(lists))]
    while ready:
        issued, engine = ready[0]
        done = ends[engine]
        request = next(waiting[engine], None)
        if request is None:
            heappop(ready)
            continue
        lane, service = request
        begin = free[lane]
        end = (issued if issued > begin else begin) + service
        free[lane] = end
        end += back
        done.append(end if end > done[-1] else done[-1])
        issued, oldest = issued + _TENTHS, done[-in_flight]
        heapreplace(ready, (issued if issued > oldest else oldest, engine))
    return max((done[-1] for done in ends), default=0)


def _in_burst_order(requests: Pieces, hardware: Hardware) -> list[Ints]:
    """Request numbers per engine: the first few of each slice in slice order, then the next few of each."""
    engine = engine_of(requests.unit, hardware)
    within = _place_in_unit(requests.unit)
    burst = within // hardware.dma.burst_requests
    order = np.lexsort((within, requests.unit, burst, engine))
    return [order[engine[order] == e] for e in np.unique(engine)]
