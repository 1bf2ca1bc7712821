"""Three tests of every check: feasible, broken by one edit, feasible right beside it; and no rule without a check."""

import pytest

from models.plan import Alternative, Decision
from simulator import simulate
from tests.simulator.edits import EDITS, fields, makespan, moved, plus, settings
from tests.simulator.plans import gemm_plan
from tests.simulator.small_plans import custom_plan, round_trip_plan, scale_plan

PLANS = {p.__name__.removesuffix("_plan"): p() for p in (gemm_plan, scale_plan, custom_plan, round_trip_plan)}


def broken_rules(plan):
    return {v.rule for v in simulate(plan).violations}


@pytest.mark.parametrize("name", PLANS)
def test_feasible(name):
    assert broken_rules(PLANS[name]) == set()


@pytest.mark.parametrize("rule", EDITS)
def test_broken_by_one_edit(rule):
    name, edit, _ = EDITS[rule]
    assert rule in broken_rules(edit(PLANS[name]))


@pytest.mark.parametrize("rule", EDITS)
def test_feasible_beside(rule):
    name, _, edit = EDITS[rule]
    assert rule not in broken_rules(edit(PLANS[name]))


@pytest.mark.parametrize("by", [-1, 1])
def test_a_wrong_makespan_is_named_either_way(by):
    assert "makespan_mismatch" in broken_rules(makespan(by)(PLANS["scale"]))


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("field", ["start", "end"])
@pytest.mark.parametrize("entry", ["x_dm", "w_dm", "y_dm", "w_vrf[0]"])
def test_an_edited_lifetime_is_named(entry, field, by):
    assert "lifetime_mismatch" in broken_rules(plus("memory", entry, field, by)(PLANS["scale"]))


def test_steps_of_a_stage_are_counted():
    plan = PLANS["scale"]
    stages = list(plan.programs["scale"])
    stages[4] = stages[4].model_copy(update={"steps_cycles": 3})
    assert "cycles_mismatch" in broken_rules(
        plan.model_copy(update={"programs": {**plan.programs, "scale": tuple(stages)}})
    )


@pytest.mark.parametrize(
    "edit",
    [
        settings("scale", "fetch", time_entries=[[4, 4]]),
        settings("scale", "fetch", base={"start": "i", "stride": 16}),
        settings("scale", "commit", base={"start": "3 * i", "stride": 16}),
        settings("scale", "commit", time_entries=[[4, 16]]),
        settings("stage", "to_vrf", element="H, L % 4 = 2"),
    ],
)
def test_an_edited_walk_is_found(edit):
    result = simulate(edit(PLANS["scale"]))
    assert not result.ok
    assert result.violations


def test_moving_into_slack_changes_nothing():
    """store_b has slack beside load_a: later by less than that, everything still holds."""
    plan = PLANS["gemm"]
    result = simulate(moved("store_b", 1000)(plan))
    assert result.violations == ()
    assert result.cycles.simulated == plan.makespan_cycles


def test_an_edited_bound_is_named():
    assert "bound_exceeds_makespan" in broken_rules(fields(lower_bound_cycles=5)(PLANS["scale"]))


@pytest.mark.parametrize(("less", "named"), [(1, True), (0, False)])
def test_a_price_below_the_bound_is_named(less, named):
    """No forced choice is cheaper than what any plan takes."""
    plan = PLANS["gemm"].model_copy(update={"lower_bound_cycles": PLANS["gemm"].makespan_cycles})
    price = Alternative(value="main", makespan_cycles=plan.lower_bound_cycles - less, status="optimal")
    decided = {"context": Decision(chosen="sub", alternatives=(price,))}
    ops = tuple(
        o.model_copy(update={"decisions": o.decisions | decided}) if o.name == "store_b" else o for o in plan.ops
    )
    assert ("bound_exceeds_makespan" in broken_rules(plan.model_copy(update={"ops": ops}))) is named


@pytest.mark.parametrize("key", ["time", "packet"])
def test_a_vector_op_repeats_the_layouts_of_the_kernel(key):
    edit = settings("scale", "vector", **{key: "L % 2, 60 = 4, H / 8"})
    assert "settings_mismatch" in broken_rules(edit(PLANS["scale"]))
