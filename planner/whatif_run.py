"""Plans one variant, anew and in full: solved, simulated, compared with the base, each difference with its reason."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from models.faults import Fault, FaultError
from planner import facade
from planner.infeasible import InfeasibleError
from planner.options import PlanOptions, Request
from planner.whatif_hint import Hint
from planner.whatif_rows import FILES, Outcome, Row, row_of
from planner.whatif_variants import Variant

MOST_REASONS = 8
"""So many changed decisions of a variant are asked why, each by a solve of its own."""
MOST_OPERATIONS = 4


@dataclass(frozen=True, slots=True)
class Job:
    """A variant with all it takes to plan it, here or on another machine: `text` is the kernel file's.

    `hint` is a neighbour's plan to start from, `keep` the base's, preferred where it is as good as any.
    """

    name: str
    text: str
    variant: Variant
    options: PlanOptions
    hint: Hint | None = None
    keep: Hint | None = None
    base: Row | None = None


def run(job: Job) -> Row:
    """The variant's row; a variant that is wrong or has no plan is a row with its reason."""
    with tempfile.TemporaryDirectory(prefix="tuplan-") as folder:
        path = Path(folder) / job.name
        path.write_text(job.text, encoding="utf-8")
        return _row(job, path)


def _row(job: Job, path: Path) -> Row:
    number, changes = job.variant.id, job.variant.changes
    options = replace(job.options, alternatives=False, corrections=False)
    try:
        row = row_of(number, changes, facade.plan(path, job.variant.request, options, hint=job.hint, keep=job.keep))
    except FaultError as error:
        status: Outcome = "infeasible" if isinstance(error, InfeasibleError) else "wrong"
        return Row(id=number, changes=changes, status=status, reason=reason_of(error))
    if job.base is None:
        return row
    if not job.base.planned:
        told = f"there is a plan now, of {row.makespan_cycles:,} cycles" if row.makespan_cycles is not None else ""
        return row.model_copy(update={"sentences": (told,) if told else ()})
    changed = {
        path: (job.base.decisions.get(path, ""), row.decisions.get(path, ""))
        for path in {**job.base.decisions, **row.decisions}
        if job.base.decisions.get(path) != row.decisions.get(path)
    }
    compared = row.model_copy(update={"changed": changed})
    why = _Why(path, job.variant.request, options, row)
    return compared.model_copy(update={"sentences": tuple(sentences(job.base, compared, why))})


def reason_of(error: FaultError) -> str:
    """The faults in one line."""
    text = "; ".join(f"{f.rule}: {_where(f)}{f.message}" for f in error.faults[:3])
    more = len(error.faults) - 3
    text += f"; and {more} more" if more > 0 else ""
    return text


def _where(fault: Fault) -> str:
    return f"{fault.op}: " if fault.op and fault.op not in fault.message else ""


# Differences ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Why:
    """Asks what the old value of a decision would do in the variant."""

    path: Path
    request: Request
    options: PlanOptions
    row: Row

    def __call__(self, field: str, old: str, new: str) -> str:
        """Why the old value was given up; empty where it cannot be asked."""
        if not old:
            return "it is open only now"
        if not new:
            return "it is no longer open"
        if ", " in old:
            return ""
        asked = replace(self.request, fixed={**self.request.fixed, field: old})
        try:
            found = facade.plan(self.path, asked, replace(self.options, verify=False))
        except FaultError as error:
            faults = [f for f in error.faults if f.rule != "choice_fixed"] or list(error.faults)
            return f"{old} is no longer possible ({faults[0].rule}: {faults[0].message})"
        if found.makespan_cycles is None or self.row.makespan_cycles is None:
            return f"{old} was not decided within the limit"
        lost = found.makespan_cycles - self.row.makespan_cycles
        if lost > 0:
            return f"{old} would take {lost:,} cycles more"
        return f"{old} would take as long: a tie"


def sentences(base: Row, row: Row, why: _Why) -> Iterator[str]:
    """One sentence per difference, the makespan's first; none where nothing differs."""
    if row.makespan_cycles is not None and base.makespan_cycles is not None:
        yield from _numbers("makespan", base.makespan_cycles, row.makespan_cycles, "cycles")
    for n, (field, (old, new)) in enumerate(row.changed.items()):
        reason = why(field, old, new) if n < MOST_REASONS else ""
        yield f"{field}: {old or 'none'} -> {new or 'none'}{': ' if reason else ''}{reason}"
    yield from _operations(base, row)
    for file in FILES:
        before, now = base.peak_bytes.get(file, 0), row.peak_bytes.get(file, 0)
        yield from _numbers(f"peak {file}", before, now, "bytes per slice")
    if base.binds.rpartition(" ")[0] and base.binds.rsplit(" ", 2)[0] != row.binds.rsplit(" ", 2)[0]:
        yield f"what binds: {base.binds} -> {row.binds}"


def _operations(base: Row, row: Row) -> Iterator[str]:
    both = {name: (base.cycles.get(name, 0), row.cycles.get(name, 0)) for name in {**base.cycles, **row.cycles}}
    moved = sorted((n for n, (a, b) in both.items() if a != b), key=lambda n: (-abs(both[n][1] - both[n][0]), n))
    for name in moved[:MOST_OPERATIONS]:
        yield from _numbers(name, *both[name], "cycles")
    if len(moved) > MOST_OPERATIONS:
        yield f"{len(moved) - MOST_OPERATIONS} more operations take other cycles"


def _numbers(what: str, before: int, now: int, unit: str) -> Iterator[str]:
    if before != now:
        yield f"{what}: {before:,} -> {now:,} {unit}, {abs(now - before):,} {'more' if now > before else 'fewer'}"
