"""`tuplan check`: every broken rule of a kernel, or the derived layout of every stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options
from cli.talk import DONE, INVALID, UNUSABLE, Talk

if TYPE_CHECKING:
    from planner import Checked


def check(
    talk: Talk,
    kernels: Annotated[list[Path], typer.Argument(metavar="KERNEL...", help="Kernel files.", show_default=False)],
    sets: options.Set = None,
    axis: options.Axis = None,
) -> int:
    """Check kernels against every rule; show all faults, or the layout that leaves each stage.

    Status 0: legal; 1: a rule is broken; 2: a file cannot be read.
    """
    import planner

    request = planner.Request(axes=options.axes(axis), settings=options.settings(sets))
    found = [planner.check(path, request) for path in kernels]
    for kernel in found:
        talk.faults(kernel.faults)
    if talk.json:
        talk.document({"kernels": [_document(kernel) for kernel in found]})
    elif not talk.quiet:
        from cli.render_check import layouts

        for kernel in found:
            talk.show(layouts(kernel))
    return max((_status(kernel) for kernel in found), default=DONE)


def _status(kernel: Checked) -> int:
    if kernel.ok:
        return DONE
    return UNUSABLE if all(f.rule.startswith("unreadable_") for f in kernel.faults) else INVALID


def _document(kernel: Checked) -> dict[str, Any]:
    return {"name": kernel.name, "ok": kernel.ok, "faults": [f.model_dump() for f in kernel.faults]}
