"""Two plans side by side: the parts add up, and what is named as the reason is the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from cli.render_diff import differences
from planner import PlanOptions, Request
from tests.infeasible.kernels import scaling

QUICK = PlanOptions(alternatives=False, verify=False)
MAIN = Request(fixed={"scale_0.context": "main", "scale_1.context": "main"})
"""The plan that changes are compared with decides itself what is a tie."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "k.yaml"
    file.write_text(scaling("12", 64), encoding="utf-8")
    return file


CHANGES = {
    "nothing": MAIN,
    "a decision": Request(fixed={"scale_1.context": "sub"}),
    "a number": Request(settings={"dma.load_base_cycles": 500}),
    "an axis": Request(axes={"H": 32}),
    "much": Request(fixed={"scale_1.context": "sub"}, settings={"dma.load_base_cycles": 100}, axes={"H": 128}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_parts_add_up_to_the_difference(name, path):
    a, b = planner.plan(path, MAIN, QUICK), planner.plan(path, CHANGES[name], QUICK)
    found = planner.diff(a, b)
    assert sum(p.cycles for p in found.parts) == b.makespan_cycles - a.makespan_cycles
    assert found.same == (name == "nothing")
    for resource, (x, y) in found.busy.items():
        assert x == sum(o.cycles for o in a.ops if resource in o.contexts)
        assert y == sum(o.cycles for o in b.ops if resource in o.contexts)
        assert (x + found.idle[resource][0], y + found.idle[resource][1]) == (a.makespan_cycles, b.makespan_cycles)


def test_the_reason_is_named_and_each_difference_is_planned_alone(path):
    request = Request(fixed={"scale_1.context": "sub"}, settings={"dma.load_base_cycles": 500})
    a, b = planner.plan(path, MAIN, QUICK), planner.plan(path, request, QUICK)
    found = planner.with_alone(planner.diff(a, b), a, QUICK)
    by = {p.what: p.because for p in found.parts}
    assert by["scale_1"] == ("scale_1.context: main -> sub",)
    assert "hardware.dma.load_base_cycles: 460 -> 500" in found.explained_by
    alone = {x.what.partition(":")[0]: x.makespan_cycles for x in found.alone}
    only = {
        "scale_1.context": Request(fixed={"scale_1.context": "sub"}),
        "hardware.dma.load_base_cycles": Request(settings={"dma.load_base_cycles": 500}),
    }
    for what, one in only.items():
        assert alone[what] == planner.plan(path, one, QUICK).makespan_cycles
        assert alone[what] > a.makespan_cycles


def test_operations_in_another_order_are_named(path):
    plan = planner.plan(path, options=QUICK)
    first, second = (o for o in plan.ops if o.name in ("load_w1", "load_w2"))
    swapped = {first.name: second, second.name: first}
    ops = [
        o.model_copy(update={"start": swapped[o.name].start, "end": swapped[o.name].end}) if o.name in swapped else o
        for o in plan.ops
    ]
    other = plan.model_copy(update={"ops": tuple(sorted(ops, key=lambda o: (o.start, o.end, o.name)))})
    swaps = {(s.resource, s.first, s.second) for s in planner.diff(plan, other).order}
    assert ("dma", first.name, second.name) in swaps
    assert all(first.name in swap or second.name in swap for swap in swaps)
    assert "before" in differences(planner.diff(plan, other), "a", "b")


def test_the_summary_says_same_or_shows_the_sum(path):
    a, b = planner.plan(path, MAIN, QUICK), planner.plan(path, CHANGES["much"], QUICK)
    assert "are the same plan" in differences(planner.diff(a, a), "a", "b")
    text = differences(planner.diff(a, b), "a", "b")
    assert f"{b.makespan_cycles - a.makespan_cycles:+,}" in text
    assert "together" in text
