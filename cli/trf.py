"""`tuplan trf`: what a layout costs in rows, banks and halves of the tensor register file."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import options
from cli.calculators import Axes, mapping, tell
from cli.talk import Talk


def trf(
    talk: Talk,
    tensor: Annotated[
        str,
        typer.Argument(
            metavar="MAPPING", help="[Lane, Element] of a slice; Element alone with --lane.", show_default=False
        ),
    ],
    axes: Axes,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="TYPE", help="One element type; left out, all that fit a row.")
    ] = None,
    lane: Annotated[str | None, mapping("--lane", "What stands in Lane; left out, every outer part.")] = None,
    sets: options.Set = None,
) -> int:
    """List what a tensor takes of the TRF per element type and number of lanes: flits, rows, banks, halves.

    Status 0: it fits in some way; 1: it does not, and the reasons are listed.
    """
    from models.presets.load import load_hardware
    from planner.trf_calculator import answer

    found = answer(options.axes(axes), tensor, dtype, lane, load_hardware("rngd", options.settings(sets)))

    from cli.render_trf import layouts

    return tell(talk, found, layouts)
