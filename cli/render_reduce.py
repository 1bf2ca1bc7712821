"""The answer of the reduce calculator as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.render import findings, styled, table
from planner.reduce_calculator import visa

if TYPE_CHECKING:
    from planner.reduce_calculator import Answer

MOST_SHOWN = 16
"""So many placements are shown at most; JSON has all."""
_HEAD = ("slice", "time", "packet", "slices", "slots", "first output", "padding", "cycles", "pass cycles")


def placements(answer: Answer) -> str:
    """The cheapest placements in a table, the lines to paste for the first, and what stops the others."""
    if not answer.options:
        return styled("no legal placement", "bold red") + "\n\n" + findings(answer.reasons)
    rows = [option.document() for option in answer.options]
    parts = [table(_HEAD, [_row(row) for row in rows[:MOST_SHOWN]], (3, 4, 5, 7, 8))]
    if len(rows) > MOST_SHOWN:
        parts.append(f"and {len(rows) - MOST_SHOWN} dearer placements; --json lists all")
    first = answer.options[0]
    parts.append(
        "\n".join([f"first: {rows[0]['slice']} | {rows[0]['time']} | {rows[0]['packet']}", *visa(answer, first)])
    )
    parts.append(_generator(rows[0]["vcg"]))
    if answer.reasons:
        parts.append(findings(answer.reasons, answer.refused))
    return "\n\n".join(part for part in parts if part)


def _generator(settings: dict[str, Any] | None) -> str:
    """The valid count generator's time filters and packet clipper, one in each line."""
    if settings is None:
        return ""
    clipper = [settings["clipper"]] if settings["clipper"] else []
    named = [*(("filter", f) for f in settings["filters"]), *(("clipper", c) for c in clipper)]
    return "\n".join(f"valid count {what}: " + _fields(fields) for what, fields in named)


def _fields(fields: dict[str, Any]) -> str:
    return ", ".join(f"{k} {' '.join(map(str, v)) if isinstance(v, list) else v}" for k, v in fields.items())


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (f"{row['inter_slice_ratio']}", f"{row['slots']}", f"{row['first_output_delay']}")
    padding = ", ".join([_MASKS.get(row["mask"], row["mask"]), *row["warnings"]])
    cycles = (f"{row['cycles']:,}", f"{row['pass_cycles']:,}")
    return (row["slice"], row["time"], row["packet"], *counts, padding, *cycles)


_MASKS = {"vcg": "masked by VCG", "none": "none"}
