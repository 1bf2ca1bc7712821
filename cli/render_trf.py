"""The answer of the TRF calculator as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.render import plain, styled, table
from planner.trf_calculator import lines

if TYPE_CHECKING:
    from planner.trf_calculator import Answer


def layouts(answer: Answer) -> str:
    """All layouts in a table, the store of the smallest one, and why other numbers of lanes are out."""
    document = answer.document()
    parts = [_table(document["options"]), *_chosen(answer, document["chosen"]), _reasons(document["reasons"])]
    return "\n\n".join(part for part in parts if part)


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return styled("does not fit", "bold red")
    head = ("type", "bits", "lanes", "lane", "flits per lane", "rows per bank", "banks", "rows", "of the file", "fits")
    return table(
        head,
        [
            (
                row["dtype"],
                str(row["stored_bits"]),
                str(row["lanes"]),
                row["lane"],
                f"{row['flits_per_lane']:,}",
                f"{row['rows_per_bank']:,}",
                str(row["banks"]),
                f"{row['rows']:,}",
                f"{row['full_percent']:g} %",
                f"a half, {row['in_half']} of them" if row["fits_half"] else "full only",
            )
            for row in rows
        ],
        (1, 2, 4, 5, 6, 7, 8),
    )


def _chosen(answer: Answer, chosen: int | None) -> list[str]:
    return [] if chosen is None else [plain("\n".join(lines(answer.options[chosen])))]


def _reasons(reasons: dict[str, dict[str, str]]) -> str:
    if not reasons:
        return ""
    return table(("not", "rule", "why"), [(name, r["rule"], r["message"]) for name, r in reasons.items()], ())
