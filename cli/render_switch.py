"""The answer of the switch calculator as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.render import plain, styled, table
from planner.switch_calculator import bitmap_rows, boxes, rings, visa

if TYPE_CHECKING:
    from planner.switch_calculator import Answer

_PARAMETERS = ("slice1", "slice0", "time0", "ring_size")


def ways(answer: Answer) -> str:
    """All options in a table, the first one in full, and why the other kinds are out."""
    document = answer.document()
    parts = [_options(document["options"]), *_first(answer), _reasons(document["reasons"])]
    return "\n\n".join(part for part in parts if part)


def _options(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return styled("no legal way", "bold red")
    head = ("kind", "parameters", "pass cycles", "book's cycles", "also holds", "out time", "why not first")
    return table(
        head,
        [
            (
                row["kind"],
                ", ".join(f"{name} {row[name]}" for name in _PARAMETERS if row.get(name) is not None),
                f"{row['pass_cycles']:,}",
                f"{row['cycles']:,}",
                " + ".join(row["occupies"]),
                row["out_time"],
                "; ".join(part for part in (row["reason"], row.get("note", "")) if part),
            )
            for row in rows
        ],
        (2, 3),
    )


def _first(answer: Answer) -> list[str]:
    """The cheapest option: what to paste, the parts as tables, the rings, and who listens to whom."""
    if not answer.found.options:
        return []
    option = answer.found.options[0]
    slices = answer.stream.slice.size
    drawn = "\n".join(boxes(answer.stream, option))
    lines = [rings(option, slices), *bitmap_rows(option, slices)]
    return [
        "\n".join(visa(option)),
        plain(drawn),
        "\n".join(line for line in lines if line),
    ]


def _reasons(reasons: dict[str, dict[str, str]]) -> str:
    rows = [(kind, why["rule"], why["message"], why["nearest"]) for kind, why in reasons.items()]
    return table(("not legal", "rule", "because", "nearest legal"), rows) if rows else ""
