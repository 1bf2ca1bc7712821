"""The answer of the transpose calculator as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render import findings, plain, styled, table
from planner.transpose_calculator import matrix, steps, visa

if TYPE_CHECKING:
    from planner.transpose_calculator import Answer, TransposeOption

_HEAD = ("out time", "out packet", "matrix", "packets a row", "kept rows", "buffering", "cycles", "pass cycles")


def ways(answer: Answer) -> str:
    """All options in a table; of the first the line to paste, steps, matrix before and behind; or what stops it."""
    parts = [_options(answer.options), *_first(answer), findings(answer.reasons)]
    return "\n\n".join(part for part in parts if part)


def _options(found: tuple[TransposeOption, ...]) -> str:
    if not found:
        return styled("no legal way", "bold red")
    rows = []
    for option in found:
        row, p = option.document(), option.parameters
        shape, kept = f"{p.in_rows} x {p.in_cols}", f"{p.out_rows} of {p.in_cols}"
        cycles = (f"{p.cycles:,}", f"{option.pass_cycles:,}")
        rows.append((row["out_time"], row["out_packet"], shape, str(p.packets_per_col), kept, p.buffering, *cycles))
    return table(_HEAD, rows, (3, 6, 7))


def _first(answer: Answer) -> list[str]:
    if not answer.options:
        return []
    stream, option = answer.stream, answer.options[0]
    before, behind = matrix(stream, option)
    drawn = ["before, a row of the matrix in each line:", *before, "", "behind:", *behind]
    return [visa(option), plain("\n".join(steps(stream, option))), plain("\n".join(drawn))]
