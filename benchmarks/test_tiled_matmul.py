"""64 tiles of weights that do not fit the TRF: a proven optimum, or a gap under 1 percent, in about the time of 8."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import planner
from models.plan import Plan

SOURCE = (Path(__file__).parents[1] / "examples" / "tiled_matmul.yaml").read_text(encoding="utf-8")
QUICK = planner.PlanOptions(time_limit_seconds=4, alternatives=False, verify=False)


def tiles(count: int, rows: int) -> str:
    """The example with 4 KB tiles, `count` of them, and so many rows of A a slice."""
    changes = (
        ("count: 5", f"count: {count}"),
        ("J: 640", f"J: {32 * count}"),
        ("J / 128", "J / 32"),
        ("J / 8 % 16", "J / 8 % 4"),
        ("I: 256", f"I: {4 * rows}"),
        ("I / 64 #", f"I / {rows} #"),
        ("I % 64", f"I % {rows}"),
    )
    text = SOURCE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def plan_of(text: str, folder: Path) -> Plan:
    path = folder / "tiles.yaml"
    path.write_text(text, encoding="utf-8")
    return planner.plan(path, options=QUICK)


@pytest.mark.parametrize("rows", [32, 16])
def test_sixty_four_tiles(benchmark, tmp_path, rows):
    """32 rows: Main stores 15 tiles of 64 and Sub the rest; 16 rows: Sub alone would be half as quick as both."""
    plan = benchmark.pedantic(plan_of, args=(tiles(64, rows), tmp_path), rounds=3, iterations=1)
    assert sum(o.base == "matmul" for o in plan.ops) == 64
    assert plan.gap is not None
    assert plan.gap < 0.01
    if benchmark.enabled:
        assert benchmark.stats.stats.min < 5


def test_time_grows_with_the_plan_not_with_the_search(tmp_path):
    """As a ratio, so that a busy machine does not decide: 8 times the tiles in well under 8 x 8 times the time."""

    def seconds(count: int) -> float:
        start = time.process_time()
        plan = plan_of(tiles(count, 32), tmp_path)
        assert plan.gap is not None
        assert plan.gap < 0.01
        return time.process_time() - start

    seconds(8)
    assert seconds(64) < 64 * seconds(8)
