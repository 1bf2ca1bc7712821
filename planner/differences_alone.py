"""Each difference of two plans alone: the first plan's kernel with that one change, planned anew."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from models.faults import FaultError
from models.plan import Plan
from planner import facade
from planner.differences import Alone, Change, Diff, numbers
from planner.options import PlanOptions, Request
from planner.whatif_hint import hint_of
from planner.writers.kernel_yaml import kernel_text

MOST_ALONE = 24
_AXIS, _HARDWARE = "axis ", "hardware."


def with_alone(found: Diff, first: Plan, options: PlanOptions) -> Diff:
    """The comparison with what every changed input and decision does to the first plan by itself."""
    changes = [c for c in (*found.inputs, *found.decisions) if _request(c) is not None][:MOST_ALONE]
    if not changes or first.makespan_cycles is None:
        return found
    with tempfile.TemporaryDirectory(prefix="tuplan-") as folder:
        path = Path(folder) / f"{first.kernel.kernel}.yaml"
        path.write_text(kernel_text(first.kernel), encoding="utf-8")
        alone = tuple(_alone(path, first, c, options) for c in changes)
    return found.model_copy(update={"alone": alone})


def _request(change: Change) -> Request | None:
    """One change as a request; None where it cannot be asked for alone."""
    if change.what.startswith(_AXIS) and change.after:
        return Request(axes={change.what.removeprefix(_AXIS): int(change.after)})
    if change.what.startswith(_HARDWARE):
        return Request(settings={change.what.removeprefix(_HARDWARE): int(change.after)})
    # A choice that iterations make differently has no one value.
    one = change.after and ", " not in change.after and "." in change.what
    return Request(fixed={change.what: change.after}) if one else None


def _alone(path: Path, first: Plan, change: Change, options: PlanOptions) -> Alone:
    request = _request(change) or Request()
    chip = {p: int(v) for p, v in numbers(first.hardware)}
    asked = replace(request, settings=chip | dict(request.settings))
    what = f"{change.what}: {change.before or 'none'} -> {change.after}"
    try:
        plan = facade.plan(
            path, asked, replace(options, alternatives=False, verify=False, corrections=False), hint=hint_of(first)
        )
    except FaultError as error:
        fault = error.faults[0]
        return Alone(what=what, makespan_cycles=None, status="infeasible", reason=f"{fault.rule}: {fault.message}")
    return Alone(what=what, makespan_cycles=plan.makespan_cycles, status=plan.status)
