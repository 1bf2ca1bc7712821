"""The chain that makes the makespan, as people read it: what each operation waited for, adding up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from cli.render import table
from models.plan import ChainLink, Plan, PlannedOp

MOST_ROWS = 40
WORDS = {
    "frame": "start-up",
    "data": "data",
    "raw": "data",
    "war": "readers of what it overwrites",
    "waw": "an earlier writer",
    "fence": "a fence",
    "order": "order",
    "main": "context main",
    "sub": "context sub",
    "dma": "context dma",
    "vector": "the Vector Engine",
    "bitmap_load": "a bitmap load",
    "region": "register region",
    "vrf": "an address in the VRF",
    "dm": "an address in DM",
}
"""What a reason of the plan's chain is called."""


def chain(plan: Plan) -> str:
    """A row for each operation, iterations that follow one another for the same reason together."""
    if not plan.chain or plan.makespan_cycles is None:
        return ""
    ops = {o.name: o for o in plan.ops}
    rows = [("start-up", "", "", f"{_first(plan):,}"), *(_row(group) for group in _groups(plan.chain, ops))]
    hidden = len(rows) - MOST_ROWS
    shown = rows if hidden <= 0 else [*rows[: MOST_ROWS // 2], ("...", "", "", ""), *rows[-MOST_ROWS // 2 :]]
    last = plan.makespan_cycles - plan.chain[-1].end
    end = [("final sync", "", "", f"{last:,}"), ("makespan", "", "", f"{plan.makespan_cycles:,}")]
    return table(("why not faster", "came after", "waited", "cycles"), [*shown, *end], (2, 3))


def _first(plan: Plan) -> int:
    return plan.chain[0].start - plan.chain[0].wait_cycles


def _groups(links: Sequence[ChainLink], ops: dict[str, PlannedOp]) -> Iterator[list[ChainLink]]:
    def key(link: ChainLink) -> tuple[str, str, str]:
        return ops[link.op].base, link.why, link.on.partition("[")[0]

    for _, group in groupby(links, key):
        yield list(group)


def _row(group: list[ChainLink]) -> tuple[str, str, str, str]:
    first, last = group[0], group[-1]
    name = first.op if len(group) == 1 else f"{first.op} .. {last.op}"
    reason = WORDS[first.why]
    on = f"{first.on if len(group) == 1 else first.on.partition('[')[0]}: {reason}" if first.on else ""
    tensor = f" ({first.tensor.partition('[')[0]})" if first.tensor else ""
    waited = sum(x.wait_cycles for x in group)
    return name, on + tensor, f"{waited:,}" if waited else "", f"{sum(x.end - x.start for x in group):,}"
