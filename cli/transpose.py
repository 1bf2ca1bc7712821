"""`tuplan transpose`: every way for the transpose engine to make one Time and Packet of another."""

from __future__ import annotations

from typing import Annotated

from cli import options
from cli.calculators import Axes, Dtype, mapping, tell
from cli.talk import Talk


def transpose(
    talk: Talk,
    axes: Axes,
    dtype: Dtype,
    time: Annotated[str, mapping("--time", "Time before the transpose.")],
    packet: Annotated[str, mapping("--packet", "Packet before the transpose, one flit.")],
    out_time: Annotated[str | None, mapping("--out-time", "Time wanted; left out, any will do.")] = None,
    out_packet: Annotated[str | None, mapping("--out-packet", "Packet wanted; left out, any will do.")] = None,
    sets: options.Set = None,
) -> int:
    """List every way to transpose a stream inside slices, cheapest first, with the matrix and the steps of the first.

    Status 0: there is one; 1: there is none, and the broken rules are listed.
    """
    from models.presets.load import load_hardware
    from planner.transpose_calculator import answer

    hardware = load_hardware("rngd", options.settings(sets))
    found = answer(options.axes(axes), dtype, time, packet, out_time, out_packet, hardware)

    from cli.render_transpose import ways

    return tell(talk, found, ways)
