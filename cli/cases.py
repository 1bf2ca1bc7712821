"""`tuplan cases`: runs case files, tables of engine configurations with the verdict each must get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options
from cli.talk import DONE, INVALID, Talk


def cases(
    talk: Talk,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Case files.", show_default=False)],
    sets: options.Set = None,
) -> int:
    """Run every case of the files and compare verdict and derived numbers with what it expects.

    Status 0: all pass; 1: a case failed, or a file has no such form.
    """
    from planner.cases import run_cases

    report = run_cases(files, options.settings(sets))
    if talk.json:
        talk.document(report.document())
    elif report.failed or not talk.quiet:
        from cli.render_cases import results

        talk.data(results(report))
    return DONE if report.failed == 0 else INVALID
