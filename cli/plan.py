"""`tuplan plan`: checks, plans, executes the plan in the simulator, shows it and writes it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cli import options
from cli.interrupt import GRACE_SECONDS, end_at_once, run_interruptible
from cli.progress import Progress
from cli.talk import DONE, INTERRUPTED, INVALID, UNDECIDED, Talk, json_text

if TYPE_CHECKING:
    from models.plan import Plan
    from planner import PlanOptions, Request

_STATUS = {"optimal": DONE, "feasible": DONE, "infeasible": INVALID, "unknown": UNDECIDED}


@dataclass(slots=True)
class _Job:
    """One planning run as the user asked for it, with the best plan so far."""

    kernel: Path
    request: Request
    options: PlanOptions
    progress: Progress
    stop: threading.Event = field(default_factory=threading.Event)
    best: Plan | None = None

    def work(self) -> Plan:
        """Runs the planner; every better plan it announces is kept at once."""
        import planner

        return planner.plan(
            self.kernel,
            self.request,
            self.options,
            progress=self.progress,
            on_plan=self.keep,
            stop=self.stop,
        )

    def keep(self, plan: Plan) -> None:
        """Takes a better plan."""
        self.best = plan


def plan(
    talk: Talk,
    kernel: options.Kernel,
    output: options.Output = None,
    force: options.Force = False,
    sets: options.Set = None,
    axis: options.Axis = None,
    fix: options.Fix = None,
    forbid: options.Forbid = None,
    time_limit: options.TimeLimit = 60.0,
    workers: options.Workers = 1,
    seed: options.Seed = 0,
    objective: options.Least = options.Objective.makespan,
    alternatives: options.Alternatives = True,
    why: options.Why = False,
    verify: options.Verify = True,
    random: options.Random = False,
    sample: options.Sample = None,
    emit_kernel: options.EmitKernel = None,
    timings: options.Timings = None,
) -> int:
    """Check a kernel, plan it, execute the plan in the simulator, and show and write it.

    Status 0: planned; 1: the kernel is wrong or infeasible, or the plan did not verify; 3: undecided within the limit,
    or planned and too large to be executed.
    """
    from planner import PlanOptions, Request
    from planner.files import check_output

    del objective  # the makespan is the only one so far; typer has refused any other word
    for path, kind in ((output, "plan"), (timings, "timings"), (emit_kernel, "kernel")):
        if path is not None:
            check_output(path, kind, force=force)
    request = Request(
        axes=options.axes(axis),
        settings=options.settings(sets),
        fixed=dict(options.choices(fix, "--fix")),
        forbidden=tuple(options.choices(forbid, "--forbid")),
    )
    limits = PlanOptions(
        time_limit,
        workers,
        seed,
        alternatives=alternatives,
        why=why,
        verify=verify,
        random=random,
        sample=options.sample(sample),
    )
    return _carried_out(talk, _Job(kernel, request, limits, Progress(talk)), output, timings, emit_kernel)


def _carried_out(talk: Talk, job: _Job, output: Path | None, timings: Path | None, emit_kernel: Path | None) -> int:
    from planner.export import write_kernel

    result = _run(talk, job)
    interrupted = job.stop.is_set()
    found = result or (job.best and job.best.model_copy(update={"stopped_by": "interrupt"}))
    status = INTERRUPTED if interrupted else _report(found)
    _deliver(talk, found, job.progress, output, timings)
    if emit_kernel is not None and found is not None and found.ops:
        write_kernel(emit_kernel, found)
        talk.say(f"kernel written to {emit_kernel}")
    if interrupted and result is None:
        end_at_once()
    return status


def _run(talk: Talk, job: _Job) -> Plan | None:
    def on_first() -> None:
        talk.say("\ninterrupted: stopping with the best plan so far; once more ends at once")

    try:
        return run_interruptible(job.work, job.stop, on_first, GRACE_SECONDS)
    finally:
        job.progress.end()


def _report(found: Plan | None) -> int:
    """The exit status that a plan deserves."""
    if found is None:
        return UNDECIDED
    if found.verification is not None and not found.verification.ok:
        return UNDECIDED if found.verification.not_run else INVALID
    return _STATUS[found.status]


def _deliver(talk: Talk, found: Plan | None, progress: Progress, output: Path | None, timings: Path | None) -> None:
    """Writes the files first: a summary that cannot be printed must not cost the plan."""
    from planner.files import write_atomic

    if found is None:
        talk.error("no plan was found before the interrupt; nothing is written")
        if talk.json:
            talk.document({"status": "unknown", "stopped_by": "interrupt", "makespan_cycles": None, "ops": []})
        return
    text = found.model_dump_json(indent=2, by_alias=True) + "\n"
    if output is not None and found.ops:
        write_atomic(output, text)
    if timings is not None:
        write_atomic(timings, json_text({"tool": "tuplan", "timings": progress.seconds}))
    if talk.json:
        talk.data(text)
    elif not talk.quiet:
        from cli.render_plan import summary

        talk.show(summary(found))
    talk.say(f"wall time {sum(progress.seconds.values()):.2f} s")
    if output is not None and found.ops:
        talk.say(f"plan written to {output}")
