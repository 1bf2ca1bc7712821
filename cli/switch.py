"""`tuplan switch`: every way to move data from one distribution over the slices to another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import options
from cli.talk import DONE, INVALID, Talk


def _mapping(name: str, words: str) -> Any:  # noqa: ANN401 - what typer itself says of it
    return typer.Option(name, metavar="MAPPING", help=words, show_default=False)


def switch(
    talk: Talk,
    axes: Annotated[list[str], typer.Option("--axes", "--axis", metavar="NAME=SIZE,...", help="Axes and their sizes.")],
    dtype: Annotated[str, typer.Option("--dtype", metavar="TYPE", help="Element type.")],
    in_slice: Annotated[str, _mapping("--in-slice", "Slice before the switch.")],
    in_time: Annotated[str, _mapping("--in-time", "Time before the switch.")],
    packet: Annotated[str, _mapping("--packet", "Packet; the switch leaves it as it is.")],
    out_slice: Annotated[str, _mapping("--out-slice", "Slice wanted.")],
    out_time: Annotated[str | None, _mapping("--out-time", "Time wanted; left out, any will do.")] = None,
    sets: options.Set = None,
) -> int:
    """List every legal switch configuration and every way around the switch, cheapest first; say why others are not.

    Status 0: there is a way; 1: there is none, and the reasons are listed.
    """
    from models.presets.load import load_hardware
    from planner.switch_calculator import answer

    hardware = load_hardware("rngd", options.settings(sets))
    found = answer(options.axes(axes), dtype, in_slice, in_time, packet, out_slice, out_time, hardware)
    if talk.json:
        talk.document(found.document())
    else:
        from cli.render_switch import ways

        talk.data(ways(found))
    return DONE if found.found.options else INVALID
