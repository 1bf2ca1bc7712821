"""`tuplan map`: what a mapping means; size, normal form, cells, equivalence."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import options
from cli.talk import DONE, Talk


def map_(
    talk: Talk,
    mapping: Annotated[str, typer.Argument(metavar="MAPPING", help="What stands inside m![ ].", show_default=False)],
    axes: Annotated[
        list[str] | None, typer.Option("--axes", "--axis", metavar="NAME=SIZE,...", help="The axes and their sizes.")
    ] = None,
    at: Annotated[str, typer.Option("--at", metavar="P,...", help="Show these positions, not the first ones.")] = "",
    equivalent: Annotated[
        list[str] | None, typer.Option("--equivalent", metavar="MAPPING", help="Compare; repeatable.")
    ] = None,
) -> int:
    """Show what a mapping means: its size, its normal form, the cells at positions, what it is equivalent to.

    Status 0: it is a mapping; 1: it is none, and the broken rule is named.
    """
    found = _described(mapping, options.axes(axes), equivalent or [], _positions(at))
    if talk.json:
        talk.document(found)
    else:
        from cli.render_map import description

        talk.data(description(found))
    return DONE


def _described(mapping: str, axes: dict[str, int], others: list[str], at: list[int] | None) -> dict[str, Any]:
    """What the planner says of the mapping; a mapping that cannot be built is a fault with its column."""
    from models.faults import Fault, FaultError
    from models.mapping import MappingError
    from models.parse import parse
    from planner.mapping_cases import describe, named_cells

    try:
        found = describe(mapping, axes, others)
        if at is not None:
            found["cells"] = named_cells(parse(mapping, axes), at)
    except MappingError as error:
        fault = Fault(
            rule=error.rule, column=error.column, found=error.found, wanted=error.wanted, message=error.message
        )
        raise FaultError([fault]) from None
    return found


def _positions(text: str) -> list[int] | None:
    if not text:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--at {text}: wanted whole numbers apart by commas") from None
