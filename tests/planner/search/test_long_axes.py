"""Summed and reduced axes over several slices: verified plans, the ring in them, and no shorter plan without it."""

from pathlib import Path

import pytest
import yaml

import planner
from models.kernel import PassOp, Transpose, Vector
from planner import PlanOptions
from planner.export import write_kernel

PROGRAMS = Path(__file__).parents[3] / "examples" / "programs"
QUICK = PlanOptions(time_limit_seconds=20, alternatives=False)


def rings(kernel):
    """Names of the passes that fold among slices."""
    return [
        op.name
        for op in kernel.ops
        if isinstance(op, PassOp)
        for step in op.steps
        if isinstance(step, Vector)
        for one in step.ops
        if one.name == "inter_slice_reduce"
    ]


@pytest.mark.parametrize("name", ["long_dot", "few_rows", "token_rmsnorm", "long_softmax"])
def test_a_long_axis_is_folded_on_the_ring(name, tmp_path):
    plan = planner.plan(PROGRAMS / f"{name}.yaml", options=QUICK)
    assert plan.verification.ok
    assert rings(plan.kernel)
    emitted = tmp_path / "emitted.yaml"
    write_kernel(emitted, plan)
    assert planner.plan(emitted, options=QUICK).makespan_cycles == plan.makespan_cycles


@pytest.mark.parametrize(("name", "slice_"), [("few_rows", "1 # 64, R"), ("token_rmsnorm", "1 # 256")])
def test_whole_axes_take_longer(name, slice_, tmp_path):
    kernel = yaml.safe_load((PROGRAMS / f"{name}.yaml").read_text())
    kernel["program"] = [{"do": kernel["program"][0], "slice": slice_}]
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(kernel))
    whole = planner.plan(path, options=QUICK)
    assert not rings(whole.kernel)
    assert planner.plan(PROGRAMS / f"{name}.yaml", options=QUICK).makespan_cycles < whole.makespan_cycles


def test_padding_of_a_folded_axis_is_kept_out_by_the_valid_counts(tmp_path):
    path = tmp_path / "padded.yaml"
    tensors = {
        "x": {"dtype": "bf16", "element": "R, C"},
        "s": {"dtype": "bf16", "element": "R", "role": "output"},
    }
    # 8 does not divide 9,996: every split over slices is padded
    head = {"kernel": "padded", "axes": {"R": 4, "C": 9996}, "tensors": tensors}
    path.write_text(yaml.safe_dump(head | {"program": ["s = sum(x[R, C] -> [R])"]}))
    plan = planner.plan(path, options=QUICK)
    assert plan.verification.ok
    assert rings(plan.kernel)


@pytest.mark.long
def test_operands_are_turned_where_that_is_shorter():
    plan = planner.plan(PROGRAMS / "turned_operands.yaml", options=QUICK)
    assert plan.verification.ok
    turns = [op for op in plan.kernel.ops if isinstance(op, PassOp) and op.name.startswith("turn_")]
    assert turns
    assert all(any(isinstance(s, Transpose) for s in op.steps) for op in turns)
