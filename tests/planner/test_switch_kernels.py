"""Whole kernels around one switch: planned, executed in the simulator, and broken on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import planner
from models.layout import TensorLayout
from models.parse import parse
from models.plan import Plan, Stage
from models.presets.load import load_hardware
from planner.engines import fetch
from planner.engines.base import Ground
from planner.engines.switch_routing import full_bitmap
from planner.options import PlanOptions, Request
from simulator import prepare_bench, simulate
from simulator.inputs import make_inputs
from simulator.loading import fill_hbm
from simulator.machine import execute
from tests.planner.switch_kernels import lifting_kernel, written

ROOT = Path(__file__).parents[1]
QUICK = PlanOptions(alternatives=False)
Case = dict[str, Any]


def accepted(*files: Path) -> list[Case]:
    """Accepted cases; a DMA engine writes 8 bytes at a time, so lone elements are taken in packets of such."""
    cases = [c for f in files for c in YAML(typ="safe").load(f)["cases"] if c["expect"]["ok"]]
    return [c for c in cases if not c["id"].startswith(("dropped_live_values", "output_not_held.feasible"))]


PLANNED = accepted(ROOT / "golden" / "switch.yaml", ROOT / "rules" / "switch.yaml")
ORDERED = next(c for c in PLANNED if c["id"] == "rule4_order_preserved")
TRANSPOSE = next(c for c in PLANNED if c["id"] == "transpose_keeps_time.feasible")


def planned(directory: Path, case: Case, request: Request | None = None, switch: str | None = None) -> Plan:
    return planner.plan(written(directory, case, switch), request or Request(), QUICK)


def switch_of(plan: Plan) -> Stage:
    return next(s for stages in plan.programs.values() for s in stages if s.step == "switch")


def with_switch(plan: Plan, **changes: Any) -> Plan:
    """The plan with another switch stage; `settings` are added to those that it has."""
    old = switch_of(plan)
    settings = {"settings": old.settings | changes.pop("settings", {})}
    new = old.model_copy(update=changes | settings)
    programs = {k: tuple(new if s is old else s for s in stages) for k, stages in plan.programs.items()}
    return plan.model_copy(update={"programs": programs})


def broken_rules(plan: Plan) -> dict[str, str]:
    return {v.rule: v.message for v in simulate(plan).violations}


@pytest.mark.parametrize("case", PLANNED, ids=lambda c: c["id"])
def test_every_accepted_case_is_planned_and_exact(tmp_path: Path, case: Case) -> None:
    plan = planned(tmp_path, case)
    assert plan.verification is not None
    assert plan.verification.violations == ()
    assert plan.verification.ok
    found = switch_of(plan).settings
    for name in ("ring_size", "cycles", "flits_per_packet"):
        assert found[name] == case["expect"].get(name, found[name])


# Broken on purpose ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "rule"),
    [("C, B % 2, B / 2 % 2", "moved_order_not_preserved"), ("B / 2 % 2, B % 2, C", "moved_not_innermost")],
)
def test_a_claimed_order_that_needs_a_second_held_packet_is_refused(tmp_path: Path, time: str, rule: str) -> None:
    found = broken_rules(with_switch(planned(tmp_path, ORDERED), time=time))
    assert rule in found


@pytest.mark.parametrize("case", [ORDERED, TRANSPOSE], ids=lambda c: c["id"])
def test_a_cleared_bit_makes_data_wrong_and_the_check_fail(tmp_path: Path, case: Case) -> None:
    plan = planned(tmp_path, case)
    rows = full_bitmap(**switch_of(plan).settings["bitmap"], slices=256)
    pattern = [rows[r][1:] if r in range(8, 12) else rows[r] for r in range(256)]
    broken = with_switch(plan, settings={"bitmap": {"pattern": pattern, "period": 256}})
    found = simulate(broken)
    assert "snoop_bitmap_mismatch" in {v.rule for v in found.violations}
    assert not found.values["y"].ok


@pytest.mark.parametrize("dead", [0, 17])
def test_a_dead_router_makes_data_wrong(tmp_path: Path, dead: int) -> None:
    plan = planned(tmp_path, ORDERED)
    bench = prepare_bench(plan)
    bench.dead_routers = frozenset({dead})
    fill_hbm(bench, make_inputs(plan.kernel, None, 0, random=False))
    execute(bench)
    assert {v.rule for v in bench.report.violations} & {"switch_time_shape", "moved_order_not_preserved"}
    assert bench.memories.hbm["y"].poison.any()


def test_a_ring_of_another_size_is_refused(tmp_path: Path) -> None:
    assert "ring_size_mismatch" in broken_rules(with_switch(planned(tmp_path, ORDERED), settings={"ring_size": 8}))


# Axis lifting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["slice", "cluster", "chip"])
def test_lifting_along_every_level_is_exact(tmp_path: Path, level: str) -> None:
    path = tmp_path / "lifting.yaml"
    path.write_text(lifting_kernel(level))
    plan = planner.plan(path, Request(), QUICK)
    assert plan.verification is not None
    assert plan.verification.violations == ()
    assert plan.verification.ok
    (lift,) = [s.settings["lift"] for stages in plan.programs.values() for s in stages if s.step == "fetch"]
    assert set(lift) == {level}


def test_lifting_replaces_the_switch_that_the_kernel_leaves_open() -> None:
    plan = planner.plan(ROOT.parent / "examples" / "switch_lifting.yaml", Request(), PlanOptions())
    (move,) = [o for o in plan.ops if o.kind == "pass"]
    decided = move.decisions["switch"]
    assert decided.chosen == "AxisLifting"
    assert "InterTranspose" in {a.value.partition("(")[0] for a in decided.alternatives}
    assert "switch" not in {s.step for stages in plan.programs.values() for s in stages}
    assert plan.verification is not None
    assert plan.verification.ok


def test_another_offset_than_the_lifted_one_reads_another_cell() -> None:
    plan = planner.plan(ROOT.parent / "examples" / "switch_lifting.yaml", Request(), QUICK)
    programs = {}
    for key, stages in plan.programs.items():
        changed = [
            s.model_copy(update={"settings": s.settings | {"lift": {"slice": [[64, 0], [2, 32], [2, 64]]}}})
            if s.step == "fetch"
            else s
            for s in stages
        ]
        programs[key] = tuple(changed)
    found = simulate(plan.model_copy(update={"programs": programs}))
    assert "fetch_not_addressable" in {v.rule for v in found.violations}
    assert not found.values["y"].ok


@pytest.mark.parametrize(
    ("held", "wanted", "rules"),
    [
        ("A / 4, 4", "A / 4, B % 4", set()),
        ("A", "A / 4, B % 4", {"fetch_placement"}),
        ("A / 4, 4", "A / 4, A % 4", {"fetch_placement"}),
        ("A / 4, 1 # 4", "A / 4, B % 4", {"fetch_placement"}),
        ("A / 4, 4", "A / 4, B % 2", {"fetch_placement"}),
    ],
)
def test_lifting_wants_copies_and_a_digit_of_the_buffer(held: str, wanted: str, rules: set[str]) -> None:
    axes = {"A": 256, "B": 64, "C": 32}
    where, element, time, packet = (parse(t, axes) for t in (held, "B, C", "B / 4", "C"))
    source = TensorLayout("x", "dm", "i8", element, slice=where)
    outcome = fetch.law(
        Ground(load_hardware(), axes), [source], fetch.FetchConfig(time, packet, slice=parse(wanted, axes))
    )
    assert {f.rule for f in outcome.findings} & {"fetch_placement"} == rules
    if not rules:
        assert outcome.ok
        assert outcome.settings["lift"] == {"slice": [[64, 0], [4, 32]]}
