"""`tuplan reduce`: where a reduced axis may stand in Slice, Time and Packet, and what each placement costs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import options
from cli.calculators import Dtype, mapping, tell
from cli.talk import Talk


def reduce(
    talk: Talk,
    axes: Annotated[list[str], typer.Option("--axes", metavar="NAME=SIZE,...", help="Axes and their sizes.")],
    dtype: Dtype,
    axis: Annotated[str, typer.Option("--axis", metavar="NAME", help="The axis to reduce.", show_default=False)],
    op: Annotated[str, typer.Option("--op", metavar="OP", help="add, addsat, max or min.", show_default=False)],
    slice_: Annotated[str, mapping("--slice", "What else stands in Slice; left out, nothing.")] = "1",
    time: Annotated[str, mapping("--time", "What else stands in Time; left out, nothing.")] = "1",
    packet: Annotated[str, mapping("--packet", "What else stands in Packet; left out, the axis may.")] = "1",
    sets: options.Set = None,
) -> int:
    """List every legal placement of a reduced axis over slices, time steps and lanes, cheapest first.

    Status 0: there is one; 1: there is none, and the broken rules are listed.
    """
    from models.presets.load import load_hardware
    from planner.reduce_calculator import answer

    hardware = load_hardware("rngd", options.settings(sets))
    found = answer(options.axes(axes), dtype, axis, op, slice_, time, packet, hardware)

    from cli.render_reduce import placements

    return tell(talk, found, placements)
