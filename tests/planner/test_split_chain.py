"""Chains that need an ALU, a stage or a value twice: split by the planner, and still what the kernel's author meant."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from pathlib import Path

import numpy as np
import pytest

import planner
from models.faults import FaultError
from models.plan import Plan
from planner.options import PlanOptions, Request
from simulator import prepare_bench
from simulator.inputs import make_inputs
from simulator.loading import fill_hbm
from simulator.machine import execute
from simulator.values import decode

QUICK = PlanOptions(alternatives=False, corrections=False)
SPLIT = '{narrow_split: {time: "L % 4, H / 4", packet: "H % 4"}}'
CONCAT = '{widen_concat: {time: "L % 4, H / 8", packet: "H % 8"}}'

DOUBLE, TIMES = "{fp_binary: {op: mul, operand: 2.0}}", "{fp_binary: {op: mul, operand: stash}}"
PLUS = "{fp_binary: {op: add, operand: stash}}"
ADD, MOST, LEAST, SIZE = (f"{{clip: {{op: {op}, operand:" for op in ("Add", "Max", "Min", "AbsMax"))


def kernel(dtype: str, ops: list[str], *, store: str = "L % 4, H", element: str = "L, H") -> str:
    chain = "\n".join(f"          - {op}" for op in ["{tag: zero}", *ops])
    return f"""
kernel: split
axes: {{L: 256, H: 16}}
tensors:
  x: {{dtype: {dtype}, element: "L, H"}}
  y: {{dtype: {dtype}, element: "{element}", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "L / 4", element: "L % 4, H"}}
  - pass: compute
    read: x_dm
    steps:
      - fetch: {{time: "L % 4, H / 8", packet: "H % 8"}}
      - collect
      - vector:
{chain}
      - commit: {{write: y_dm, element: "{store}"}}
  - {{dma: store, read: y_dm, write: y}}
"""


def planned(text: str, folder: Path) -> Plan:
    path = folder / "kernel.yaml"
    path.write_text(text, encoding="utf-8")
    return planner.plan(path, Request(), QUICK)


def computed(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    bench = prepare_bench(plan)
    raw = make_inputs(plan.kernel, None, 5, random=True)
    fill_hbm(bench, raw)
    execute(bench)
    held = bench.memories.hbm["y"]
    return decode(raw["x"], plan.kernel.tensors["x"].dtype), decode(held.raw[0], held.dtype)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def wrapped(x: np.ndarray) -> np.ndarray:
    return (x + 2**31) % 2**32 - 2**31


def _two_values(x: np.ndarray) -> np.ndarray:
    first = np.maximum(x + 1, x)
    least = np.minimum(first, 0.5)
    return np.where(np.abs(least) > np.abs(first), least, first)


Meaning = Callable[[np.ndarray], np.ndarray]
CASES: dict[str, tuple[str, list[str], Meaning, int, str]] = {
    "an ALU twice on 4 ways": (
        "f32",
        [SPLIT, "{fp_unary: Tanh}", "{fp_unary: Sigmoid}", CONCAT],
        lambda x: sigmoid(np.tanh(x)),
        2,
        "FpFpu",
    ),
    "an ALU three times": (
        "f32",
        [SPLIT, "{fp_unary: Tanh}", "{fp_unary: Sigmoid}", DOUBLE, "{fp_unary: Erf}", CONCAT],
        lambda x: np.vectorize(erf)(2 * sigmoid(np.tanh(x))),
        3,
        "FpFpu",
    ),
    "an ALU twice on 8 ways": (
        "i32",
        ["{fxp: {op: AddFxp, operand: 10}}", "{fxp: {op: MulInt, operand: 3}}", "{fxp: {op: SubFxp, operand: 5}}"],
        lambda x: wrapped(wrapped((x + 10) * 3) - 5),
        2,
        "FxpAdd",
    ),
    "a stage that has been passed": (
        "i32",
        ["{clip: {op: Max, operand: 0}}", "{fxp: {op: AddFxp, operand: 7}}"],
        lambda x: wrapped(np.maximum(x, 0) + 7),
        2,
        "stage fxp has been passed",
    ),
    "a value three times": (
        "f32",
        [SPLIT, "stash", "{fp_unary: Tanh}", TIMES, PLUS, CONCAT],
        lambda x: np.tanh(x) * x + x,
        3,
        "the VRF keeps it",
    ),
    "a value behind a cut": (
        "f32",
        ["stash", SPLIT, "{fp_unary: Tanh}", "{fp_unary: Sigmoid}", TIMES, CONCAT],
        lambda x: sigmoid(np.tanh(x)) * x,
        4,
        "the VRF keeps it",
    ),
    "two values": (
        "f32",
        ["stash", f"{ADD} 1.0}}}}", f"{MOST} stash}}}}", "stash", f"{LEAST} 0.5}}}}", f"{SIZE} stash}}}}"],
        _two_values,
        2,
        "the stash is taken",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_chain_that_no_pass_can_run_becomes_several(case, tmp_path):
    dtype, ops, meaning, passes, why = CASES[case]
    plan = planned(kernel(dtype, ops), tmp_path)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification
    (note,) = [n.text for n in plan.notes if n.topic == "split"]
    assert why in note
    assert note.startswith(f"compute runs as {passes} passes")
    assert sum(op.kind == "pass" for op in plan.ops) == passes
    x, y = computed(plan)
    wanted = meaning(x.astype(np.float64) if dtype == "f32" else x.astype(np.int64)).reshape(-1)
    if dtype == "i32":
        assert np.array_equal(y, wanted)
    else:
        assert np.allclose(y, wanted, rtol=2.0**-20, atol=2.0**-22)


def test_what_a_reduction_leaves_crosses_a_cut_with_padding(tmp_path):
    """The root of a sum: the float stage stands before the reduction."""
    reduce = '{intra_slice_reduce: {axis: H, op: Add, time: "L % 4", packet: "1 # 4"}}'
    square = '{fp_binary: {op: mul, operand: 2.0, mode: "00"}}'
    text = kernel(
        "f32",
        [SPLIT, square, reduce, "{fp_unary: Sqrt}", '{widen_pad: "1 # 8"}'],
        store="L % 4, 1 # 2",
        element="L, 1 # 2",
    )
    plan = planned(text, tmp_path)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification
    x, y = computed(plan)
    assert np.allclose(y.reshape(-1, 2)[:, 0], np.sqrt((x.astype(np.float64) ** 2).sum(axis=1)), rtol=2.0**-20)


def test_a_chain_that_one_pass_can_run_stays_whole(tmp_path):
    plan = planned(kernel("f32", [SPLIT, "{fp_unary: Tanh}", "{fp_unary: Exp}", CONCAT]), tmp_path)
    assert [n for n in plan.notes if n.topic == "split"] == []
    assert sum(op.kind == "pass" for op in plan.ops) == 1


def test_faults_behind_a_split_still_point_at_their_lines(tmp_path):
    text = kernel("f32", [SPLIT, "{fp_unary: Tanh}", "{fp_unary: Sigmoid}", CONCAT])
    wrong = text.replace(
        "{dma: store, read: y_dm, write: y}", "{dma: store, read: y_dm, write: y, slice: L, element: H}"
    )
    lines = wrong.splitlines()
    with pytest.raises(FaultError) as raised:
        planned(wrong, tmp_path)
    line = next(i for i, t in enumerate(lines, 1) if "dma: store" in t)
    assert {fault.line for fault in raised.value.faults} == {line}


def test_guards_and_tiles_are_not_cut(tmp_path):
    tag = '{tag: [{Less: 0}, {Equal: 7}, {Greater: 9}, "False"]}'
    guarded = "{fxp: {op: AddFxp, operand: [{when: [one, ignore, ignore, ignore], imm: 1}]}}"
    text = kernel("i32", [guarded, "{fxp: {op: SubFxp, operand: 5}}"]).replace("{tag: zero}", tag)
    with pytest.raises(FaultError) as raised:
        planned(text, tmp_path)
    assert {fault.rule for fault in raised.value.faults} == {"alu_used_twice"}
