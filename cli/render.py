"""Tables and colours for people; text only, writing is the business of `cli.talk`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.talk import can_print

if TYPE_CHECKING:
    from models.faults import Finding

NARROWEST = 60
PIPED_WIDTH = 110
"""Columns of a picture that goes into a file or a pipe; tables there are as wide as they need."""
_UNBOUNDED = 100_000
_ASCII = str.maketrans("┌┐└┘┬┴─│·…", "++++++-|.~")


def is_terminal() -> bool:
    """Tells whether standard output goes to somebody who reads it now."""
    return sys.stdout is not None and sys.stdout.isatty()


def picture_width() -> int:
    """Columns for a picture: those of the terminal."""
    return max(NARROWEST, shutil.get_terminal_size().columns) if is_terminal() else PIPED_WIDTH


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table with columns as wide as their texts; on a terminal too narrow for it, texts are folded.

    Args:
        head: titles of the columns.
        rows: texts, taken literally.
        right: numbers of the columns that are aligned to the right.

    """
    numeric = frozenset(right)
    out = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, title in enumerate(head):
        out.add_column(Text(title), justify="right" if i in numeric else "left", overflow="fold")
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    return rendered(out)


def styled(text: str, style: str) -> str:
    """The text in a colour where colours are shown."""
    return rendered(Text(text, style=style))


def verdict_style(ok: bool) -> str:
    """Green or red; the words say the same."""
    return "green" if ok else "bold red"


def findings(found: Iterable[Finding], counts: Mapping[str, int] | None = None) -> str:
    """Broken rules in a table; empty where there is none. `counts`: how many candidates each rule stops."""
    head = ("not legal", "because", "nearest legal")
    rows = [(f.rule, f.message, f.nearest or f.wanted) for f in found]
    if counts is None:
        return table(head, rows) if rows else ""
    return table((*head, "stops"), [(*row, f"{counts[row[0]]:,}") for row in rows], (3,)) if rows else ""


def plain(text: str) -> str:
    """Drawn lines, in characters that the output can print."""
    return text if can_print(text) else text.translate(_ASCII)


def rendered(what: Any) -> str:  # noqa: ANN401 - whatever rich can render
    """Renders without markup, without highlighting and without blanks at line ends."""
    terminal = is_terminal()
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=shutil.get_terminal_size().columns if terminal else _UNBOUNDED,
        force_terminal=terminal and os.environ.get("TERM") != "dumb",
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(what, soft_wrap=isinstance(what, Text))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())
