"""The planner's price of a transfer and the simulator's count are two tellings of one law: they agree exactly."""

from __future__ import annotations

import pytest

from planner.engines import dma_runs
from tests.planner.random_transfers import disagreements

KINDS = {"load", "store", "copy"}


def compared(seeds, most_elements):
    """Compares the transfers of many kernels; gives how many of each kind."""
    counts: dict[str, int] = {}
    for seed in seeds:
        wrong, kinds = disagreements(seed, most_elements)
        assert wrong == []
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


@pytest.mark.parametrize("first", [0, 100, 200])
def test_small_transfers(first):
    assert compared(range(first, first + 60), 2**12).keys() == KINDS


def test_larger_transfers():
    assert compared(range(400, 430), 2**17).keys() == KINDS


def test_transfers_looked_at_in_part(monkeypatch):
    """A walk is cut to its first repetitions, and what repeats is multiplied."""
    monkeypatch.setattr(dma_runs, "MOST_RUNS", 64)
    assert compared(range(500, 560), 2**13).keys() == KINDS


@pytest.mark.long
@pytest.mark.parametrize(("most_elements", "count"), [(2**10, 2000), (2**14, 2000), (2**17, 1500), (2**21, 500)])
def test_thousands_of_transfers(most_elements, count):
    assert compared(range(10_000 + most_elements, 10_000 + most_elements + count), most_elements).keys() == KINDS


@pytest.mark.long
def test_thousands_of_transfers_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(dma_runs, "MOST_RUNS", 64)
    assert compared(range(20_000, 21_500), 2**15).keys() == KINDS
