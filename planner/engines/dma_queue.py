"""The queue of DMA requests at the HBM channels, in tenths of a cycle (cycles page, DMA loads, 1 to 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.hardware import DMA

Ints = NDArray[np.int64]
TENTHS = 10
_LAST_HASH_BIT = 28
"""Address bits above do not choose the channel (domain: section 10)."""


def channels(addresses: Ints, dma: DMA) -> Ints:
    """The HBM channel of each byte address: the lowest bit of the block's number tells the stack, the xor of
    the groups of bits above it the channel of the stack (on this chip bit 8 and five groups of 4 bits from 9 to 28).
    """
    stack_bit = (dma.access_bytes - 1).bit_length()
    width = max(1, (dma.channels // 2 - 1).bit_length())
    group = np.zeros_like(addresses)
    for bit in range(stack_bit + 1, _LAST_HASH_BIT + 1, width):
        group ^= (addresses >> bit) & ((1 << width) - 1)
    return (2 * group + ((addresses >> stack_bit) & 1)) % dma.channels


def service_tenths(addresses: Ints, lengths: Ints, dma: DMA) -> Ints:
    """How long each request holds its channel: a base and a share per 64-byte chunk it touches."""
    chunk = dma.service_chunk_bytes
    chunks = (addresses + lengths - 1) // chunk - addresses // chunk + 1
    return dma.service_tenths + dma.service_chunk_tenths * chunks


def issue_order(units: Ints, ranks: Ints, dma: DMA) -> Ints:
    """The order in which an engine takes requests: a burst of each slice in slice order, then the next burst.

    Args:
        units: the slice of each request.
        ranks: its place among the requests of its slice, from 0.
        dma: the constants.

    """
    return np.lexsort((ranks, units, ranks // dma.burst_requests)).astype(np.int64)


def queue_end_tenths(engines: Ints, addresses: Ints, lengths: Ints, dma: DMA) -> int:
    """When the last request has ended; requests of an engine are given in its issue order. 0 for no request."""
    if not engines.size:
        return 0
    channel, service = channels(addresses, dma).tolist(), service_tenths(addresses, lengths, dma).tolist()
    groups = [np.flatnonzero(engines == e).tolist() for e in np.unique(engines)]
    return _run([list(zip((channel[i] for i in g), (service[i] for i in g), strict=True)) for g in groups], dma)


def _run(queues: list[list[tuple[int, int]]], dma: DMA) -> int:
    """Serves the requests in the order of their issue, ties to the lower engine."""
    free = [0] * dma.channels
    window, back = dma.in_flight_requests, dma.return_tenths
    ends: list[list[int]] = [[] for _ in queues]
    issue = [0] * len(queues)
    open_engines = list(range(len(queues)))
    while open_engines:
        engine = min(open_engines, key=issue.__getitem__)
        queue, done, now = queues[engine], ends[engine], issue[engine]
        at = len(done)
        channel, service = queue[at]
        begin = free[channel]
        if begin < now:
            begin = now
        free[channel] = begin + service
        end = begin + service + back
        done.append(max(end, done[-1]) if done else end)
        at += 1
        if at == len(queue):
            open_engines.remove(engine)
            continue
        now += TENTHS
        if at >= window and done[at - window] > now:
            now = done[at - window]
        issue[engine] = now
    return max(done[-1] for done in ends)
