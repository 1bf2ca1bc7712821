"""What a transfer's cycles are made of, in sentences for summaries, and what layout would make it cheap."""

from __future__ import annotations

from typing import Any

from models.dtypes import DTYPES
from models.hardware import Hardware
from models.layout import TensorLayout
from models.mapping import text
from planner.engines.base import Ground, Outcome
from planner.engines.dma_access import Row
from planner.engines.dma_cost import store_cost
from planner.engines.dma_forms import Var
from planner.engines.dma_runs import Runs


def explain(ground: Ground, outcome: Outcome, destination: TensorLayout) -> tuple[str, ...]:
    """Sentences on a legal transfer: its requests, its partial writes, and how to avoid them; none if illegal."""
    if not outcome.ok:
        return ()
    numbers = outcome.settings
    out = [_requests(numbers, outcome.steps, ground.hardware)]
    if numbers["direction"] == "load" and numbers["shared"]:
        out.append(
            f"Slices read the same bytes of HBM: {numbers['bytes']:,} bytes arrive in DM, and requests that meet at "
            "one channel wait for one another."
        )
    if numbers.get("partial_writes"):
        out += _partial(numbers, outcome.steps, ground.hardware, destination)
    return tuple(out)


def _requests(numbers: dict[str, Any], cycles: int, hardware: Hardware) -> str:
    what = {"load": "requests", "store": "writes", "copy": "reads and writes"}[numbers["direction"]]
    return (
        f"{numbers['slices']:,} slices over {numbers['engines']} DMA engines need {numbers['requests']:,} {what} "
        f"of up to {hardware.dma.access_bytes} bytes, in runs of {numbers['run_bytes']:,} bytes: {cycles:,} cycles."
    )


def _partial(numbers: dict[str, Any], cycles: int, hardware: Hardware, destination: TensorLayout) -> list[str]:
    block = hardware.dma.access_bytes
    elements = block * 8 // DTYPES[destination.dtype].bits
    best = whole_block_cycles(numbers["bytes"], numbers["slices"], hardware)
    said = [
        f"{numbers['partial_writes']:,} of the writes are partial, into {numbers['partial_blocks']:,} blocks of "
        f"{block} bytes, up to {numbers['most_partial_writes_per_block']} into one; k of them into one block cost "
        f"about k squared: {numbers['partial_cycles']:,.0f} of {cycles:,} cycles."
    ]
    if numbers["bytes"] >= block and best < cycles:
        said.append(
            f"With whole {block}-byte blocks in each slice, {elements} neighbouring elements of "
            f"`{text(destination.element)}` ({destination.dtype}), the store would take about {best:,} cycles."
        )
    return said


def whole_block_cycles(size_bytes: int, slices: int, hardware: Hardware) -> int:
    """Cycles of a store of so many bytes when at most so many slices hold whole, aligned HBM blocks."""
    block = hardware.dma.access_bytes
    blocks = -(-size_bytes // block)
    used = min(slices, blocks)
    length = -(-blocks // used) * block
    unit = Row(Var("slice", 1, used), used, 1, length)
    return store_cost(Runs(length, (), (), (unit,) if used > 1 else (), ()), 8, hardware).cycles
