"""`tuplan whatif`: variants of a kernel side by side, each planned and simulated anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli import options
from cli.interrupt import end_at_once
from cli.progress_sweep import SweepProgress
from cli.talk import DONE, INVALID, UNDECIDED, Talk

if TYPE_CHECKING:
    from planner import Answer, PlanOptions, Request, Sweep

Sweeps = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep",
        metavar="PATH=V1,V2,...",
        help="Try each value of a hardware number, an axis or a choice; repeatable: every combination.",
    ),
]
_VARYING = "--set, --axis, --fix, --forbid, --sweep, --sensitivity, --pareto"


def whatif(
    talk: Talk,
    kernel: options.Kernel,
    sets: options.Set = None,
    axis: options.Axis = None,
    fix: options.Fix = None,
    forbid: options.Forbid = None,
    sweeps: Sweeps = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Each lever one step up and down: what it buys, what binds then.")
    ] = False,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Only plans that no other beats in makespan and peak memory.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Rows as JSON Lines; the same command goes on from them."),
    ] = None,
    force: options.Force = False,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, max=1024, help="Variants at a time; at most cores / workers.")
    ] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="ADDRESS", help="Plan on a Dask cluster, as tcp://host:8786.")
    ] = "",
    time_limit: options.TimeLimit = 60.0,
    workers: options.Workers = 1,
    seed: options.Seed = 0,
    objective: options.Least = options.Objective.makespan,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Execute every plan in the simulator.")] = True,
) -> int:
    """Plan variants of a kernel beside the kernel as it is; say what changed, and why.

    Status 0: a variant was planned; 1: none has a plan, or one did not verify; 3: none was decided within the limit.
    """
    from planner import PlanOptions, Request, Where

    del objective  # the makespan is the only one so far; typer has refused any other word
    fixed, forbidden = options.choices(fix, "--fix"), options.choices(forbid, "--forbid")
    common = Request(options.axes(axis), options.settings(sets), dict(fixed), tuple(forbidden))
    grid = _sweeps(sweeps)
    if not (grid or sensitivity or pareto or common != Request()):
        raise typer.BadParameter(f"nothing to vary: give one of {_VARYING}")
    if sensitivity and (grid or pareto):
        raise typer.BadParameter("--sensitivity stands alone, without --sweep and --pareto")
    limits = PlanOptions(time_limit_seconds=time_limit, workers=workers, seed=seed, verify=verify)
    where = Where(processes, cluster, output, force)
    progress = SweepProgress(talk)
    try:
        answer = _answer(kernel, common, grid, limits, where, progress, sensitivity=sensitivity, pareto=pareto)
    except KeyboardInterrupt:
        progress.end()
        kept = f"; {output} keeps the rows so far, the same command goes on from there" if output else ""
        talk.error(f"interrupted{kept}")
        end_at_once()
    progress.end()
    _show(talk, answer, _form(sensitivity=sensitivity, pareto=pareto))
    return _status(answer)


def _form(*, sensitivity: bool, pareto: bool) -> str:
    return "pareto" if pareto else "sensitivity" if sensitivity else "whatif"


def _sweeps(texts: list[str] | None) -> list[Sweep]:
    from planner import parse_sweep

    try:
        return [parse_sweep(text) for text in texts or ()]
    except ValueError as error:
        raise typer.BadParameter(f"--sweep {error}") from None


def _answer(
    kernel: Path,
    common: Request,
    grid: list[Sweep],
    limits: PlanOptions,
    where: Any,  # noqa: ANN401  # planner.Where, whose import must not slow down --help
    progress: SweepProgress,
    *,
    sensitivity: bool,
    pareto: bool,
) -> Answer:
    import planner

    if sensitivity:
        found = planner.sensitivity(kernel, common, limits, where=where, on_tally=progress)
    elif pareto and not grid:
        return planner.pareto(kernel, common, limits, on_tally=progress)
    else:
        found = planner.whatif(kernel, common, grid, limits, where=where, on_tally=progress)
    if not pareto:
        return found
    return planner.Answer(found.kernel, found.base, planner.front((found.base, *found.rows)))


def _show(talk: Talk, answer: Answer, form: str) -> None:
    if talk.json:
        talk.document({"form": form, **answer.document()})
    elif not talk.quiet:
        from cli.render_whatif import comparison, front, levers

        talk.show({"whatif": comparison, "sensitivity": levers, "pareto": front}[form](answer))


def _status(answer: Answer) -> int:
    rows = answer.rows or (answer.base,)
    if any(r.verified is False for r in (answer.base, *rows)):
        return INVALID
    if any(r.planned for r in rows):
        return DONE
    return UNDECIDED if any(r.status == "unknown" for r in rows) else INVALID
