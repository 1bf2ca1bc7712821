"""Who may run where: what every pass holds, the commit cast as the way around the Cast Engine, DM banks."""

from __future__ import annotations

import pytest

from models.faults import FaultError
from models.graph import DMA, MAIN, SUB, VECTOR
from models.presets.load import load_hardware
from planner.engines import pipeline
from planner.engines.addresses import bank_run
from simulator import simulate
from tests.planner.registers.kernels import op, planned, stage

FETCHED, CONTRACTED = (
    ("fetch", "collect"),
    ("fetch", "collect", "contract_outer", "contract_packet", "contract_time", "contract_lane"),
)

# domain section 3, contexts
HOLDS = [
    (MAIN, (*FETCHED, "to_trf"), {MAIN}),
    (SUB, (*FETCHED, "to_trf"), {SUB}),
    (MAIN, (*FETCHED, "to_vrf"), {MAIN, SUB}),
    (SUB, (*FETCHED, "to_vrf"), {SUB}),
    (MAIN, (*FETCHED, "vector", "to_vrf"), {MAIN, SUB}),
    (SUB, (*FETCHED, "vector", "to_vrf"), {SUB, VECTOR}),
    (MAIN, (*FETCHED, "commit"), {MAIN}),
    (SUB, (*FETCHED, "commit"), {SUB}),
    (MAIN, (*CONTRACTED, "commit"), {MAIN}),
    (MAIN, (*CONTRACTED, "cast", "commit"), {MAIN, VECTOR}),
    (MAIN, (*CONTRACTED, "vector", "commit"), {MAIN, VECTOR}),
    (SUB, (*FETCHED, "vector", "cast", "commit"), {SUB, VECTOR}),
    (SUB, (*FETCHED, "cast", "commit"), {SUB, VECTOR}),
    (MAIN, (*FETCHED, "transpose", "commit"), {MAIN}),
]


@pytest.mark.parametrize(("context", "steps", "held"), HOLDS)
def test_what_a_pass_holds(context, steps, held):
    assert pipeline.holds(context, steps) == held
    assert pipeline.order(steps) == []


MAIN_ONLY = ("fetch_table_lookup", "contract_outer", "contract_packet", "contract_time", "contract_lane")


@pytest.mark.parametrize("step", sorted(pipeline.NEXT))
def test_what_sub_cannot_do(step):
    found = pipeline.in_context(SUB, step)
    assert (found is not None) == (step in MAIN_ONLY)
    assert pipeline.in_context(MAIN, step) is None


def test_a_commit_cast_is_of_main():
    found = pipeline.in_context(SUB, "commit", commit_cast=True)
    assert found is not None
    assert found.rule == "sub_commit_cast"
    assert pipeline.in_context(MAIN, "commit", commit_cast=True) is None


def test_nothing_follows_a_store_into_the_vrf():
    for step in ("cast", "transpose", "commit", "vector"):
        assert [f.rule for _, f in pipeline.order(("fetch", "collect", "vector", "to_vrf", step))][:1] == [
            "illegal_next_step"
        ]


# The Cast Engine and the commit cast --------------------------------------------------------------------------


def with_vector_work(text: str) -> str:
    """A second tensor that Sub scales on the Vector Engine while Main multiplies and casts."""
    work = """
  - {dma: load_x, read: x, write: x_dm, slice: "{Grid}", element: "L % 64, H"}
  - pass: scale
    read: x_dm
    context: sub
    steps:
      - fetch: {time: "L % 64, H / 8", packet: "H % 8"}
      - collect
      - vector:
          - {tag: zero}
          - {narrow_split: {time: "L % 64, H / 4", packet: "H % 4"}}
          - {fp_binary: {op: mul, operand: 2.0}}
          - {widen_concat: {time: "L % 64, H / 8", packet: "H % 8"}}
      - commit: {write: y_dm, element: "L % 64, H"}
  - {dma: store_y, read: y_dm, write: y}
"""
    grid = 'layouts: {Batch: "V % 16 # 256"}'
    text = text.replace("K: 32}", "K: 32, L: 1024, H: 64}").replace(
        grid, 'layouts: {Batch: "V % 16 # 256", Grid: "L / 64 # 256"}'
    )
    text = text.replace(
        "ops:\n", '  x: {dtype: f32, element: "L, H"}\n  y: {dtype: f32, element: "L, H", role: output}\nops:\n'
    )
    return text.rstrip() + work


def test_the_commit_casts_where_sub_wants_the_vector_engine():
    plan = planned("bmatmul_m_in_time", with_vector_work)
    matmul = op(plan, "matmul")
    assert matmul.decisions["cast"].chosen == "commit"
    assert matmul.contexts == ("main",)
    assert [s.step for s in plan.programs[matmul.program]][-2:] == ["contract_lane", "commit"]
    assert stage(plan, "matmul", "commit").settings["cast"] == "bf16"
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations


def test_the_cast_engine_may_be_asked_for_by_hand():
    plan = planned("bmatmul_m_in_time", with_vector_work, fixed={"matmul.cast": "engine"})
    assert op(plan, "matmul").contexts == ("main", "vector")
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    free = planned("bmatmul_m_in_time", with_vector_work)
    assert (plan.makespan_cycles or 0) >= (free.makespan_cycles or 0)


def test_without_such_work_the_cast_stays_where_the_kernel_states_it():
    plan = planned("bmatmul_m_in_time", alternatives=True)
    matmul = op(plan, "matmul")
    assert matmul.decisions["cast"].chosen == "engine"
    assert matmul.contexts == ("main", "vector")
    (other,) = matmul.decisions["cast"].alternatives
    assert (other.value, other.makespan_cycles) == ("commit", plan.makespan_cycles)


def test_a_commit_cast_into_eight_bytes_is_none():
    """i8 results are cast on the Cast Engine alone: the commit makes bf16 of f32."""
    plan = planned(
        "bmatmul_m_in_time",
        lambda t: t.replace("cast: bf16", "cast: f8e4m3").replace("c: {dtype: bf16", "c: {dtype: f8e4m3"),
    )
    assert "cast" not in op(plan, "matmul").decisions


# DM banks ----------------------------------------------------------------------------------------------------------


def longest_run(addresses: list[int], size: int) -> int:
    """The longest run of accesses that share one of 16 banks of 8 bytes: domain section 3, counted one by one."""
    best = 0
    for bank in range(16):
        run = 0
        for address in addresses:
            touched = {b % 16 for b in range(address // 8, (address + size - 1) // 8 + 1)}
            run = run + 1 if bank in touched else 0
            best = max(best, run)
    return best


@pytest.mark.parametrize(
    ("entries", "access"),
    [
        ([(64, 16)], 16),
        ([(64, 64)], 16),
        ([(4, 0), (32, 64)], 4),
        ([(8, 512), (8, 64), (16, 1)], 16),
        ([(100, 0), (4, 1)], 4),
        ([(3, 32), (70, 64), (4, 1)], 4),
        ([(16, 8), (4, 1)], 4),
    ],
)
def test_the_count_of_same_bank_accesses(entries, access):
    addresses = [0]
    for size, stride in entries:
        addresses = [a + i * stride for a in addresses for i in range(size)]
    starts = [2 * a for a in addresses[::access]] if entries[-1][1] == 1 else [2 * a for a in addresses]
    walked = entries if entries[-1][1] == 1 else [*entries, (access, 1)]
    assert bank_run(walked, access, "bf16", load_hardware()) == longest_run(starts, 2 * access)


@pytest.mark.parametrize(("run", "held"), [(63, set()), (64, {DMA}), (65, {DMA})])
def test_a_starving_pass_holds_dma(run, held):
    assert pipeline.starved(load_hardware(), 1, run) == held


def test_a_walk_down_one_bank_holds_dma_in_the_plan():
    """64 rows that lie 128 bytes apart: every read of a column begins in the same bank."""
    kernel = """
kernel: columns
axes: {R: 64, C: 64, S: 64}
tensors:
  x: {dtype: bf16, element: "S, R, C"}
  y: {dtype: bf16, element: "S, C / 4, R, C % 4", role: output}
ops:
  - {dma: load, read: x, write: x_dm, slice: "S", element: "R, C"}
  - pass: turn
    read: x_dm
    context: main
    steps:
      - fetch: {time: "C / 4, R", packet: "C % 4"}
      - collect
      - commit: {write: y_dm, element: "C / 4, R, C % 4"}
  - {dma: store, read: y_dm, write: y}
"""
    plan = planned("gemm", lambda _: kernel)
    assert stage(plan, "turn", "fetch").settings["bank_run"] >= 64
    assert op(plan, "turn").contexts == ("main", "dma")
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    wide = planned("gemm", lambda _: kernel.replace("R: 64", "R: 32"))
    assert stage(wide, "turn", "fetch").settings["bank_run"] < 64
    assert op(wide, "turn").contexts == ("main",)


def test_a_sub_pass_cannot_contract():
    with pytest.raises(FaultError) as error:
        planned("matrix_vector", lambda t: t.replace("read: x_dm\n", "read: x_dm\n    context: sub\n"))
    assert {f.rule for f in error.value.faults} == {"sub_context_step"}


TWO_RUNS = """
kernel: two_runs
axes: {R: 40, C: 64, S: 64, T: 64}
tensors:
  x: {dtype: bf16, element: "S, R, C"}
  y: {dtype: bf16, element: "S, C / 4, R, C % 4", role: output}
  u: {dtype: bf16, element: "T, R, C"}
  v: {dtype: bf16, element: "T, C / 4, R, C % 4", role: output}
ops:
  - {dma: load_x, read: x, write: x_dm, slice: "S", element: "R, C"}
  - {dma: load_u, read: u, write: u_dm, slice: "T", element: "R, C"}
  - pass: turn
    read: x_dm
    context: main
    steps:
      - fetch: {time: "C / 4, R", packet: "C % 4"}
      - collect
      - commit: {write: y_dm, element: "C / 4, R, C % 4"}
  - pass: turn_too
    read: u_dm
    context: sub
    steps:
      - fetch: {time: "C / 4, R", packet: "C % 4"}
      - collect
      - commit: {write: v_dm, element: "C / 4, R, C % 4"}
  - {dma: store_y, read: y_dm, write: y}
  - {dma: store_v, read: v_dm, write: v}
"""


def test_runs_of_two_contexts_add():
    """40 accesses in a row on Main and 40 on Sub are 80 while both run: the domain page, starvation."""
    plan = planned("gemm", lambda _: TWO_RUNS)
    assert stage(plan, "turn", "fetch").settings["bank_run"] in range(32, 64)
    assert "dma" in op(plan, "turn").contexts or "dma" in op(plan, "turn_too").contexts
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    short = planned("gemm", lambda _: TWO_RUNS.replace("R: 40", "R: 16"))
    assert op(short, "turn").contexts == ("main",)
    assert op(short, "turn_too").contexts == ("sub",)


def test_a_pass_never_starves_dma_beside_itself():
    """40 accesses in a row on either context are no 80 when the other pass makes runs of one."""
    first, second = TWO_RUNS.split("  - pass: turn_too")
    second = second.replace('"C / 4, R", packet', '"R, C / 4", packet').replace("C / 4, R, C % 4", "R, C")
    free = first.replace("context: main", "context: auto") + "  - pass: turn_too" + second
    plan = planned("gemm", lambda _: free)
    assert stage(plan, "turn", "fetch").settings["bank_run"] in range(32, 64)
    assert op(plan, "turn").contexts in (("main",), ("sub",))
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations


def test_the_simulator_sees_runs_that_add():
    plan = planned("gemm", lambda _: TWO_RUNS)
    free = {"turn": ("main",), "turn_too": ("sub",)}
    ops = tuple(
        o.model_copy(update={"contexts": free[o.name], "start": 1003, "end": 1003 + o.cycles})
        if o.name in free
        else o.model_copy(update={"start": 1003, "end": 1003 + o.cycles})
        for o in plan.ops
    )
    found = simulate(plan.model_copy(update={"ops": ops}))
    assert any(v.rule == "wrong_contexts" and "keep one DM bank" in v.message for v in found.violations)
