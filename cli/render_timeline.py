"""The timeline as a picture of characters: one row for each context and one for the Vector Engine."""

from __future__ import annotations

from dataclasses import dataclass

from models.graph import RESOURCES
from models.plan import Plan, PlannedOp


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters of a picture: two fills that take turns, idle time, and the axis with its ticks."""

    fills: tuple[str, str]
    idle: str
    line: str
    tick: str


BLOCKS = Glyphs(("█", "▓"), "·", "─", "┴")
ASCII = Glyphs(("#", "="), ".", "-", "+")
_LABEL = 7
_TICK_EVERY = 16


def timeline(plan: Plan, width: int, glyphs: Glyphs = BLOCKS) -> str:
    """Draws the operations of a plan over time, scaled to `width` columns; names stand in blocks that are wide enough.

    An operation takes at least one column, so short ones may hide behind each other; the table has their numbers.
    """
    total = plan.makespan_cycles or 0
    columns = width - _LABEL
    if not plan.ops or total < 1 or columns < _TICK_EVERY:
        return ""
    rows = [
        f"{resource:<{_LABEL}}" + _row([op for op in plan.ops if resource in op.contexts], total, columns, glyphs)
        for resource in RESOURCES
    ]
    return "\n".join([*rows, *_axis(total, columns, glyphs)])


def _row(ops: list[PlannedOp], total: int, columns: int, glyphs: Glyphs) -> str:
    cells = [glyphs.idle] * columns
    for i, op in enumerate(sorted(ops, key=lambda o: o.start)):
        first = min(columns - 1, op.start * columns // total)
        last = min(columns, max(first + 1, op.end * columns // total))
        cells[first:last] = _block(op.name, last - first, glyphs.fills[i % 2])
    return "".join(cells)


def _block(name: str, width: int, fill: str) -> list[str]:
    text = f" {name} "
    return list(text.center(width, fill) if len(text) + 2 <= width else fill * width)


def _axis(total: int, columns: int, glyphs: Glyphs) -> list[str]:
    line = [glyphs.line] * columns
    numbers = [" "] * (columns + _LABEL)
    for at in range(0, columns - _TICK_EVERY // 2, _TICK_EVERY):
        line[at] = glyphs.tick
        text = f"{at * total // columns:,}"
        numbers[at + _LABEL : at + _LABEL + len(text)] = text
    end = f"{total:,} cycles"
    numbers[len(numbers) - len(end) :] = end
    return [f"{'':<{_LABEL}}" + "".join(line), "".join(numbers).rstrip()]
