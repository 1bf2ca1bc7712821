"""Partial writes of stores against a count of every piece, block by block."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from models.presets.load import load_hardware
from planner.engines.dma_access import Ends, access
from planner.engines.dma_cost import partial_writes, pieces_of, to_bytes
from planner.engines.dma_runs import Part, find_runs, table
from tests.planner.engines.test_dma_law import place

DMA = load_hardware().dma

STORES = {
    "64-byte runs": ({"I": 64, "J": 128}, "I, J", ("I % 8, J % 32", "I / 8, J / 32 # 8")),
    "rows of 120 bytes": ({"A": 64, "H": 60}, "A, H", ("H", "A")),
    "rows of 360 bytes": ({"A": 64, "H": 180}, "A, H", ("H", "A")),
    "transposed": ({"I": 64, "J": 128}, "I, J", ("I", "J")),
    "three elements": ({"A": 192}, "A", ("A % 3", "A / 3")),
    "two clusters": ({"A": 4096}, "A", ("A % 16", "A / 16 % 128", "A / 2048")),
    "same bytes twice": ({"A": 512}, "A", ("A % 8", "A / 8", "2")),
    "odd start": ({"A": 100, "H": 300}, "H, A", ("[A # 128] % 2, H", "[A # 128] / 2")),
}


def counted(axes, hbm, dm) -> tuple[float, int, int, int]:
    """Cycles of law R, partial writes, blocks and most per block, with a loop over all pieces."""
    walk = access(Ends(place("dm", axes, *dm), place("hbm", axes, hbm), True, 256))
    runs = table(find_runs(walk))
    pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for unit, start, length in zip(
        runs.unit.tolist(), (runs.start * 2).tolist(), (runs.length * 2).tolist(), strict=True
    ):
        for own in range(start, start + length, 256):
            end = min(own + 256, start + length)
            borders = [own, *range(own // 256 * 256 + 256, end, 256), end]
            for a, b in pairwise(borders):
                if b - a < 256:
                    pieces[a // 256].append((unit // 64, b - a))
    sums: Counter[int] = Counter()
    for block in pieces.values():
        n = len(block)
        weight = 117 if sum(size < 8 for _, size in block) > 1 else 86
        for engine in {e for e, _ in block}:
            sums[engine] += weight * n * min(n, 64)
    return max(sums.values()), sum(map(len, pieces.values())), len(pieces), max(map(len, pieces.values()))


@pytest.mark.parametrize("name", STORES)
def test_law_of_partial_writes(name):
    axes, hbm, dm = STORES[name]
    walk = access(Ends(place("dm", axes, *dm), place("hbm", axes, hbm), True, 256))
    part = Part(to_bytes(table(find_runs(walk)), 16))
    found = partial_writes(pieces_of(part.found, DMA, store=True), part, DMA)
    assert (found.tenths, found.writes, found.blocks, found.most_per_block) == counted(axes, hbm, dm)
