"""`tuplan export`: a kernel's stage graph in other programs' formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli import options
from cli.talk import DONE, Talk


class Format(StrEnum):
    """Formats that can be written."""

    dot = "dot"


def export(
    talk: Talk,
    source: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, or a kernel file.", show_default=False)],
    to: Annotated[Format, typer.Option("--to", help="The format.", show_default=False)],
    output: options.Output = None,
    force: options.Force = False,
) -> int:
    """Write the graph of stages and transfers: data edges, hazards, contexts, cycles and open choices.

    Of a plan, the times and the values chosen are shown; without -o it goes to standard output.
    """
    from planner.export import export_dot
    from planner.files import check_output, write_atomic

    if output is not None:
        check_output(output, to.value, force=force)
    text = export_dot(source)
    if output is None:
        talk.document({"dot": text}) if talk.json else talk.data(text)
        return DONE
    write_atomic(output, text)
    talk.say(f"{to.value} written to {output}")
    if talk.json:
        talk.document({"written": str(output)})
    return DONE
