"""Whole plans: values exact, cycles those of the laws, and what an edit does to them."""

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from models.faults import FaultError
from simulator import simulate
from simulator.inputs import make_inputs
from tests.simulator.plans import GEMM, LOAD_A, LOAD_B, STORE_C, edited, finished, gemm_plan
from tests.simulator.small_plans import custom_plan, round_trip_plan, scale_plan

PLANS = {"gemm": gemm_plan, "scale": scale_plan, "custom": custom_plan, "round_trip": round_trip_plan}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("random", [False, True])
def test_hand_made_plans_verify(name, random):
    result = simulate(PLANS[name](), random=random)
    assert result.violations == ()
    assert all(v.ok for v in result.values.values())
    assert result.cycles.ok
    assert result.cycles.planned == result.cycles.simulated


def test_exact_inputs_leave_no_error():
    assert simulate(gemm_plan()).values["c"].max_abs_error == 0.0


def test_gemm_takes_what_the_vendor_schedules():
    """Passes exactly, transfers within the law's own error of 4 % and 3 %."""
    kernels = YAML(typ="safe").load(Path("tests/data/vendor_cycles.yaml"))["kernels"]
    vendor = {i["id"]: i["cycles"] for i in kernels["gemm"]["instructions"]}
    planned = {o.name: o.cycles for o in gemm_plan().ops}
    assert (planned["store_b"], planned["matmul"]) == (vendor[7], vendor[14])
    assert pytest.approx(vendor[1], rel=0.041) == LOAD_B
    assert pytest.approx(vendor[9], rel=0.04) == LOAD_A
    assert pytest.approx(vendor[17], rel=0.03) == STORE_C


def test_given_inputs_are_used():
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, (512, 64)).astype(np.float32) for _ in range(2))
    assert simulate(gemm_plan(), inputs={"a": a, "b": b}).values["c"].ok


@pytest.mark.parametrize(
    ("inputs", "rule"),
    [
        ({"a": np.zeros((512, 64))}, "input_missing"),
        ({"a": np.zeros((512, 64)), "b": np.zeros((64, 512))}, "input_shape"),
        ({"a": np.zeros((512, 64)), "b": np.zeros((512, 64)), "q": np.zeros(1)}, "input_unknown"),
    ],
)
def test_wrong_inputs_are_faults(inputs, rule):
    with pytest.raises(FaultError) as error:
        simulate(gemm_plan(), inputs=inputs)
    assert rule in {f.rule for f in error.value.faults}


@pytest.mark.parametrize("left_out", ["load_a", "load_b", "store_b", "matmul", "store_c"])
def test_an_operation_left_out_leaves_poison(left_out):
    plan = gemm_plan()
    broken = finished(GEMM, [o for o in plan.ops if o.name != left_out], list(plan.memory), plan.programs)
    result = simulate(broken)
    assert not result.values["c"].ok
    assert {"operation_missing", "unwritten_output"} <= {v.rule for v in result.violations}


def test_a_reader_that_comes_too_early_really_reads_nothing():
    plan = gemm_plan()
    early = edited(plan, op_matmul={"start": 1003, "end": 1003 + 777})
    result = simulate(early)
    assert not result.values["c"].ok
    assert "data_hazard_raw" in {v.rule for v in result.violations}


def test_a_dead_router_makes_the_data_wrong():
    plan = custom_plan()
    stages = list(plan.programs["move"])
    settings = dict(stages[1].settings)
    pattern = [list(row) for row in settings["bitmap"]["pattern"]]
    pattern[17] = []
    stages[1] = stages[1].model_copy(update={"settings": {**settings, "bitmap": {"pattern": pattern, "period": 256}}})
    result = simulate(plan.model_copy(update={"programs": {**plan.programs, "move": tuple(stages)}}))
    assert not result.values["y"].ok
    assert "snoop_bitmap_mismatch" in {v.rule for v in result.violations}


def test_a_ring_too_small_never_carries_the_packet():
    plan = custom_plan()
    stages = list(plan.programs["move"])
    stages[1] = stages[1].model_copy(update={"settings": {**stages[1].settings, "ring_size": 16}})
    result = simulate(plan.model_copy(update={"programs": {**plan.programs, "move": tuple(stages)}}))
    assert not result.values["y"].ok
    assert "ring_size_mismatch" in {v.rule for v in result.violations}


def test_a_stretched_schedule_is_legal_with_its_new_makespan():
    plan = gemm_plan()
    store = next(o for o in plan.ops if o.name == "store_c")
    later = edited(plan, op_store_c={"start": store.start + 50, "end": store.end + 50})
    result = simulate(later)
    assert result.violations == ()
    assert result.cycles.simulated == plan.makespan_cycles + 50
    assert result.cycles.ok


def test_the_seed_changes_the_inputs():
    first, second = (make_inputs(GEMM, None, seed, random=False) for seed in (1, 2))
    assert not np.array_equal(first["a"], second["a"])
    assert not np.array_equal(first["a"][:64, :64], first["b"][:64, :64])
