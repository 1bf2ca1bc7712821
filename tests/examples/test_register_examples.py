"""The examples of register files and contraction: planned, simulated exact, explained; broken plans are caught."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import planner
from models.plan import Plan
from simulator import simulate
from tests.simulator.edits import Edit, all_of, moved_to, op
from tests.simulator.plans import edited

ROOT = Path(__file__).parents[2]
NAMES = (
    "dot_product",
    "matrix_vector",
    "bmatmul_k_in_time",
    "bmatmul_m_in_time",
    "bmatmul_v_in_time",
    "bmatmul_clusters",
    "tiled_matmul",
    "reshape_operand",
    "vrf_from_vector",
)


@cache
def planned(name: str) -> Plan:
    return planner.plan(ROOT / "examples" / f"{name}.yaml", options=planner.PlanOptions(alternatives=False))


@pytest.mark.parametrize("name", NAMES)
def test_planned_optimal_and_simulated_exact(name):
    plan = planned(name)
    assert plan.status == "optimal"
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    assert all(v.max_abs_error == 0 for v in plan.verification.values.values())
    assert plan.verification.cycles.planned == plan.verification.cycles.simulated == plan.makespan_cycles


@pytest.mark.parametrize("name", NAMES)
def test_explained_in_a_paragraph(name):
    paragraphs = (ROOT / "docs" / "examples-registers.md").read_text(encoding="utf-8").split("\n\n")
    (own,) = [p for p in paragraphs if p.startswith(f"**`examples/{name}.yaml`**")]
    assert len(own.split()) > 40


def test_both_clusters_work():
    plan = planned("bmatmul_clusters")
    stages = plan.programs[next(o.program for o in plan.ops if o.base == "matmul")]
    assert {s.cluster for s in stages} == {"N / 8"}
    held = {e.tensor: e.cluster for e in plan.memory}
    assert held["b_dm"] == held["b_trf"] == "N / 8"


# What a plan may not do -------------------------------------------------------------------------------------------

BROKEN: dict[str, tuple[str, Edit, str]] = {
    "a contraction on Sub": ("matrix_vector", op("multiply", contexts=("sub",)), "sub_context_step"),
    "a cast without the Vector Engine": ("matrix_vector", op("multiply", contexts=("main",)), "wrong_contexts"),
    "a VRF store from Main without Sub": (
        "vrf_from_vector",
        op("root", contexts=("main",)),
        "vrf_store_holds_main_and_sub",
    ),
    "a vector store from Sub without the engine": (
        "vrf_from_vector",
        op("root", contexts=("sub",)),
        "wrong_contexts",
    ),
    "a transfer that holds Main": ("matrix_vector", op("load_a", contexts=("dma", "main")), "wrong_contexts"),
    "two passes on Main at once": (
        "matrix_vector",
        all_of(op("store_a", contexts=("main",)), moved_to("multiply", "store_a", -10)),
        "context_overlap",
    ),
    "two transfers at once": ("matrix_vector", moved_to("load_x", "load_a", -10), "context_overlap"),
    "a store over a tile that is read": (
        "tiled_matmul",
        lambda plan: edited(plan, **{f"memory_b_trf[{i}]": {"row": 0, "region": "first_half"} for i in range(5)}),
        "region_overlap",
    ),
    "a reader before its store has ended": ("matrix_vector", moved_to("multiply", "store_a", -200), "data_hazard_raw"),
    "two passes on the Vector Engine": (
        "vrf_from_vector",
        all_of(op("root", contexts=("sub", "vector")), moved_to("scale", "root", -20)),
        "vector_engine_overlap",
    ),
    "a register reused while it is read": (
        "reshape_operand",
        lambda plan: edited(plan, memory_b_all={"end": next(o.end for o in plan.ops if o.name == "stage")}),
        "lifetime_mismatch",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_context_rule_is_caught(what):
    name, edit, rule = BROKEN[what]
    assert planned(name).verification is not None
    found = simulate(edit(planned(name)))
    assert rule in {v.rule for v in found.violations}
    assert not found.ok
