"""`tuplan switch`: every way to move data from one distribution over the slices to another."""

from __future__ import annotations

from typing import Annotated

from cli import options
from cli.calculators import Axes, Dtype, mapping, tell
from cli.talk import Talk


def switch(
    talk: Talk,
    axes: Axes,
    dtype: Dtype,
    in_slice: Annotated[str, mapping("--in-slice", "Slice before the switch.")],
    in_time: Annotated[str, mapping("--in-time", "Time before the switch.")],
    packet: Annotated[str, mapping("--packet", "Packet; the switch leaves it as it is.")],
    out_slice: Annotated[str, mapping("--out-slice", "Slice wanted.")],
    out_time: Annotated[str | None, mapping("--out-time", "Time wanted; left out, any will do.")] = None,
    sets: options.Set = None,
) -> int:
    """List every legal switch configuration and every way around the switch, cheapest first; say why others are not.

    Status 0: there is a way; 1: there is none, and the reasons are listed.
    """
    from models.presets.load import load_hardware
    from planner.switch_calculator import answer

    hardware = load_hardware("rngd", options.settings(sets))
    found = answer(options.axes(axes), dtype, in_slice, in_time, packet, out_slice, out_time, hardware)

    from cli.render_switch import ways

    return tell(talk, found, ways)
