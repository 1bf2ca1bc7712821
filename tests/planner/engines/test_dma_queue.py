"""The request queue against a slow second telling of it, tick by tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.presets.load import load_hardware
from planner.engines.dma_queue import channels, issue_order, queue_end_tenths, service_tenths

DMA = load_hardware().dma


def channel_by_bits(address: int) -> int:
    groups = [(address >> bit) & 15 for bit in (9, 13, 17, 21, 25)]
    c = groups[0] ^ groups[1] ^ groups[2] ^ groups[3] ^ groups[4]
    return 2 * c + ((address >> 8) & 1)


@given(st.lists(st.integers(0, 2**36 - 1), min_size=1, max_size=20))
def test_channel(addresses):
    found = channels(np.array(addresses, dtype=np.int64), DMA)
    assert found.tolist() == [channel_by_bits(a) for a in addresses]


@pytest.mark.parametrize(
    ("address", "length", "tenths"),
    [(0, 256, 36 + 60), (0, 1, 36 + 15), (63, 2, 36 + 30), (64, 64, 36 + 15), (32, 64, 36 + 30)],
)
def test_service(address, length, tenths):
    assert service_tenths(np.array([address]), np.array([length]), DMA).tolist() == [tenths]


def test_bursts_of_four_in_slice_order():
    units = np.array([0] * 6 + [1] * 5)
    ranks = np.array([*range(6), *range(5)])
    order = issue_order(units, ranks, DMA)
    assert [(units[i], ranks[i]) for i in order] == [
        *((0, r) for r in range(4)), *((1, r) for r in range(4)), (0, 4), (0, 5), (1, 4),
    ]  # fmt: skip


def ticking(requests: list[list[tuple[int, int]]]) -> int:
    """The queue told tick by tick: requests per engine as (address, length), in issue order."""
    ends: list[list[int]] = [[] for _ in requests]
    last = [-10] * len(requests)
    busy = dict.fromkeys(range(32), 0)
    now = 0
    while any(len(e) < len(r) for e, r in zip(ends, requests, strict=True)):
        for engine, queue in enumerate(requests):
            at = len(ends[engine])
            waits = at < len(queue) and (now < last[engine] + 10 or (at >= 8 and ends[engine][at - 8] > now))
            if at == len(queue) or waits:
                continue
            address, length = queue[at]
            channel = channel_by_bits(address)
            chunks = len({byte // 64 for byte in range(address, address + length)})
            busy[channel] = max(busy[channel], now) + 36 + 15 * chunks
            ends[engine].append(max([busy[channel] + 60, *ends[engine][-1:]]))
            last[engine] = now
        now += 1
    return max(e[-1] for e in ends if e)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 15), st.integers(0, 255)), min_size=1, max_size=24), min_size=1, max_size=4
    )
)
def test_queue_against_ticks(raw):
    requests = [[(256 * block + start, 256 - start) for block, start in queue] for queue in raw]
    engines = np.array([e for e, queue in enumerate(requests) for _ in queue])
    flat = np.array([r for queue in requests for r in queue], dtype=np.int64)
    assert queue_end_tenths(engines, flat[:, 0], flat[:, 1], DMA) == ticking(requests)


def test_no_request_ends_at_once():
    empty = np.zeros(0, dtype=np.int64)
    assert queue_end_tenths(empty, empty, empty, DMA) == 0


def test_one_request():
    assert queue_end_tenths(np.array([0]), np.array([0]), np.array([256]), DMA) == 36 + 60 + 60
