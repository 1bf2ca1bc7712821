"""Large graphs: `make bench-scale` prints the table of docs/scale.md and holds the gaps against their targets.

Every solve has a process of its own, so that its memory is its own, and its row is written down as soon as it is done:
the same command goes on where it was stopped. SCALE_SEEDS: how many seeds a row stands for; SCALE_OTHER: for how many
of them PyJobShop solves the instance as well, from the largest down to the smallest, `4000=1,1000=1,300=3` by default.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator

import pytest

from benchmarks.decoder import Kind
from benchmarks.scale_rows import Row, kept, measured, other, percent

SEEDS = range(int(os.environ.get("SCALE_SEEDS", "3")))
OTHER = dict(pair.split("=") for pair in os.environ.get("SCALE_OTHER", "4000=1,1000=1,300=3").split(",") if pair)

SECONDS = {300: 60.0, 1000: 60.0, 4000: 180.0}
"""What a solve may take, by operations."""

TARGETS: dict[tuple[Kind, int], float] = {
    ("dma", 300): 0.0,
    ("balanced", 300): 3.0,
    ("dma", 1000): 0.5,
    ("balanced", 1000): 4.0,
    ("dma", 4000): 0.2,
    ("balanced", 4000): 4.5,
}
"""Median gaps in percent of the bound."""

MOST_MEGABYTES = 4096

COLUMNS = (
    "instance",
    "operations",
    "first plan (s)",
    "2 percent (s)",
    "final gap (%)",
    "proved (s)",
    "list (%)",
    "PyJobShop (%)",
    "memory (MB)",
)


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    yield rows
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *rows]
    print("\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))  # noqa: T201  # the table is the point


@pytest.mark.long
@pytest.mark.parametrize(("kind", "operations"), TARGETS)
def test_scale(kind: Kind, operations: int, table: list[tuple[str, ...]]) -> None:
    seconds = SECONDS[operations]
    rows = [Row(**kept(measured, kind, operations, seed, seconds)) for seed in SEEDS]
    table.append(
        (
            kind,
            str(operations),
            median([r.first for r in rows]),
            median([r.two_percent for r in rows]),
            median([r.gap for r in rows]),
            median([r.total if r.proved else None for r in rows]),
            median([r.list_gap for r in rows]),
            beside(kind, operations, seconds, rows),
            f"{max(r.megabytes for r in rows):.0f}",
        )
    )
    assert all(0 <= r.gap <= r.list_gap for r in rows)
    assert statistics.median(r.gap for r in rows) <= TARGETS[kind, operations]
    assert max(r.megabytes for r in rows) < MOST_MEGABYTES


def beside(kind: Kind, operations: int, seconds: float, rows: list[Row]) -> str:
    """The gap of PyJobShop against the same bounds, and of how many seeds."""
    seeds = SEEDS[: int(OTHER.get(str(operations), "0"))]
    if not seeds:
        return "-"
    pytest.importorskip("pyjobshop", reason="pip install -e '.[bench]'")
    spans = [kept(other, kind, operations, seed, seconds)["makespan"] for seed in seeds]
    gaps = [None if span is None else percent(span, row.lower_bound) for span, row in zip(spans, rows, strict=False)]
    text = "no plan" if all(g is None for g in gaps) else median(gaps)
    return text if len(seeds) == len(rows) else f"{text} (of {len(seeds)})"


def median(values: list[float | None]) -> str:
    """The median; a dash where more than half of the runs never got there."""
    known = sorted(float("inf") if v is None else v for v in values)
    middle = statistics.median_low(known)
    return "-" if middle == float("inf") else f"{middle:.2f}"
