"""`tuplan schema`: JSON Schema of the file formats, for editors and for programs that write such files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cli.talk import DONE, Talk


class Kind(StrEnum):
    """The file formats that have a schema."""

    kernel = "kernel"
    plan = "plan"
    hardware = "hardware"
    cases = "cases"


def schema(talk: Talk, kind: Annotated[Kind, typer.Argument(help="Which file format.", show_default=False)]) -> int:
    """Print the JSON Schema of a file format; it is JSON with and without --json."""
    import planner

    talk.document(planner.json_schema(kind.value))
    return DONE
