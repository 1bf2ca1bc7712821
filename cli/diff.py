"""`tuplan diff`: two plans side by side, and what explains the difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.talk import DONE, Talk


def diff(
    talk: Talk,
    first: Annotated[Path, typer.Argument(metavar="PLAN_A", help="Plan file.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="PLAN_B", help="Plan file.", show_default=False)],
    solve: Annotated[
        bool, typer.Option("--solve/--no-solve", help="Plan each difference alone, to say which one matters.")
    ] = True,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="Limit of each solve.")
    ] = 10.0,
) -> int:
    """Compare two plans: decisions, order, cycles by resource, and which differences explain the makespan's.

    Status 0: compared, whether or not they differ; 1: a file is no plan; 2: a file cannot be read.
    """
    import planner

    a, b = planner.read_plan(first), planner.read_plan(second)
    found = planner.diff(a, b)
    if solve:
        found = planner.with_alone(found, a, planner.PlanOptions(time_limit_seconds=time_limit))
    if talk.json:
        talk.document(found.document())
    elif not talk.quiet:
        from cli.render_diff import differences

        talk.show(differences(found, first.name, second.name))
    return DONE
