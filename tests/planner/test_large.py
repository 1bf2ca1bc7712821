"""Kernels of many operations: prices of other values are bounded, and a price below the plan becomes the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

import planner.facade
import solver
from planner import PlanOptions
from planner.pricing import NOT_PRICED

QUICK = PlanOptions(time_limit_seconds=1, verify=False)

HEAD = """\
kernel: many
axes: {I: 256, J: 128, K: 64}
layouts: {Rows: "I / 64 # 64"}
"""

STORE = """\
  - {dma: load_b@, read: b@, write: b_dm@, slice: "{Rows}", element: "J, K"}
  - pass: store@
    read: b_dm@
    steps:
      - fetch: {time: "J % 8, J / 8 % 16", packet: "K"}
      - collect
      - to_trf: {write: b_trf@, lane: "J % 8", element: "J / 8 % 16, K"}
"""


def many(count):
    """So many tiles, each loaded and stored into the TRF on a context that the planner chooses."""
    tensors = "".join(f"  b{k}: {{dtype: bf16, element: 'J, K'}}\n" for k in range(count))
    return f"{HEAD}tensors:\n{tensors}ops:\n" + "".join(STORE.replace("@", str(k)) for k in range(count))


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "many.yaml"
    path.write_text(many(6))
    return path


def others(plan):
    return [a for op in plan.ops for d in op.decisions.values() for a in d.alternatives if a.status != "illegal"]


def test_only_so_many_values_are_priced_and_the_others_say_so(kernel, monkeypatch):
    every = others(planner.plan(kernel, options=QUICK))
    monkeypatch.setattr(planner.facade, "MANY_OPERATIONS", 10)
    monkeypatch.setattr(planner.facade, "PRICED_OPERATIONS", 12 * 4)
    monkeypatch.setattr("planner.facade.leave_main_free", lambda problem, chosen, _solve: (problem, chosen))
    found = others(planner.plan(kernel, options=QUICK))
    left_out = [a for a in found if a.message == NOT_PRICED]
    assert len(found) == len(every) > 4
    assert len(found) - len(left_out) == 4
    assert all(a.makespan_cycles is None and a.status == "unknown" for a in left_out)


def test_a_price_below_an_unproved_plan_becomes_the_plan(kernel, monkeypatch):
    real, first = solver.solve, []

    def worse_at_first(problem, limits, **given):
        found = real(problem, limits, **given)
        if first:
            return found
        first.append(found)
        late = {name: start + 500 for name, start in found.starts.items()}
        return replace(found, status="feasible", stopped_by="time_limit", makespan=found.makespan + 500, starts=late)

    monkeypatch.setattr(solver, "solve", worse_at_first)
    found = planner.plan(kernel, options=QUICK)
    assert found.makespan_cycles == first[0].makespan
    assert (found.status, found.stopped_by) == ("feasible", "time_limit")
    assert all(a.makespan_cycles is None or a.makespan_cycles >= found.makespan_cycles for a in others(found))


def test_better_plans_of_many_operations_are_seldom_written_out(kernel, monkeypatch):
    real, told, shares = solver.solve, [], []

    def tells_often(problem, limits, **given):
        found = real(problem, limits, **given)
        for _ in range(50 if "on_solution" in given else 0):
            given["on_solution"](found)
        return found

    def progress(phase, share):
        shares.append((phase, share))

    monkeypatch.setattr(solver, "solve", tells_often)
    options = replace(QUICK, alternatives=False)
    monkeypatch.setattr(planner.facade, "TOLD_EVERY", 10_000)
    planner.plan(kernel, options=options, on_plan=told.append)
    assert len(told) > 50, "a small kernel tells every plan"
    told.clear()
    monkeypatch.setattr(planner.facade, "MANY_OPERATIONS", 10)
    monkeypatch.setattr("planner.facade.leave_main_free", lambda problem, chosen, _solve: (problem, chosen))
    found = planner.plan(kernel, options=options, on_plan=told.append, progress=progress)
    assert told[-1] == found
    assert len(told) < 10
    assert all(0 <= share <= 1 for phase, share in shares if phase == "solving" and share is not None)
    assert any(share is not None for _, share in shares)
