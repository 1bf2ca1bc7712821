"""The examples of docs/examples-vector.md: planned, simulated, and within the bound that the page states."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest

import planner
from models.faults import FaultError
from models.plan import Plan
from planner.options import PlanOptions, Request
from simulator import prepare_bench, simulate
from simulator.inputs import make_inputs
from simulator.loading import fill_hbm
from simulator.machine import execute
from simulator.values import decode

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)\.yaml` \| `(\w+)` \| .* \| (?:(exact)|`2\^-(\d+)` of `([\w ]+)`) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "examples-vector.md").read_text(encoding="utf-8"))
QUICK = PlanOptions(alternatives=False, corrections=False)
Arrays = dict[str, np.ndarray]


@cache
def planned(name: str, *fixed: tuple[str, str]) -> Plan:
    return planner.plan(ROOT / "examples" / f"{name}.yaml", Request(fixed=dict(fixed)), QUICK)


def executed(plan: Plan, output: str) -> tuple[Arrays, np.ndarray]:
    """Random inputs on their named axes as float64, and the output's words in HBM order."""
    bench = prepare_bench(plan)
    raw = make_inputs(plan.kernel, None, 7, random=True)
    fill_hbm(bench, raw)
    execute(bench)
    held = bench.memories.hbm[output]
    given = {name: decode(r, plan.kernel.tensors[name].dtype).astype(np.float64) for name, r in raw.items()}
    return given, decode(held.raw, held.dtype).astype(np.float64)


# Exact results in float64: (result, what the bound is a part of) ------------------------------------------

Answer = tuple[np.ndarray, np.ndarray]


def rmsnorm(given: Arrays) -> Answer:
    x, g = given["x"], given["g"]
    y = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6) * g
    return y, np.abs(y)


def softmax(given: Arrays) -> Answer:
    powers = np.exp(given["x"] - given["x"].max(axis=1, keepdims=True))
    y = powers / powers.sum(axis=1, keepdims=True)
    return y, y


def row_max(given: Arrays) -> Answer:
    s = given["x"].max(axis=1)
    return s, 0 * s


def row_sum(given: Arrays) -> Answer:
    return given["x"].sum(axis=1), np.abs(given["x"]).sum(axis=1)


def gelu(given: Arrays) -> Answer:
    x = given["x"]
    return x / 2 * (1 + np.vectorize(erf)(x / sqrt(2))), np.abs(x)


def decoded_weight(given: Arrays) -> Answer:
    a, w = given["a"], given["w"]
    return a @ w.T, np.abs(a) @ np.abs(w).T


def quantised_matmul(given: Arrays) -> Answer:
    sums = (given["a"] - 3) @ given["w"].T / 16
    whole = np.sign(sums) * np.floor(np.abs(sums) + 0.5)
    c = np.clip(whole - 5, -128, 127)
    return c, 0 * c


def transposed_store(given: Arrays) -> Answer:
    return given["x"].T, 0 * given["x"].T


def sum_all(given: Arrays) -> Answer:
    return given["x"].sum(keepdims=True), np.abs(given["x"]).sum(keepdims=True)


ANSWERS: dict[str, Callable[[Arrays], Answer]] = {
    "rmsnorm": rmsnorm,
    "softmax": softmax,
    "row_max": row_max,
    "row_sum": row_sum,
    "gelu": gelu,
    "decoded_weight": decoded_weight,
    "quantised_matmul": quantised_matmul,
    "transposed_store": transposed_store,
    "sum_all_slices": sum_all,
    "sum_all_slices_padded": sum_all,
}


def test_the_page_lists_every_answer():
    assert [row[0] for row in ROWS] == list(ANSWERS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_an_example_is_exact_on_integers_and_bounded_on_real_numbers(row):
    name, output, exact, bits, _ = row
    plan = planned(name)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification
    assert plan.verification.values[output].max_abs_error == 0
    assert simulate(plan, seed=7, random=True).ok
    given, words = executed(plan, output)
    wanted, part = ANSWERS[name](given)
    width = words.size // wanted.size
    found = words.reshape(-1, width)[:, 0].reshape(wanted.shape)
    bound = 0.0 if exact else 2.0 ** -int(bits)
    assert (np.abs(found - wanted) <= bound * part).all()


@pytest.mark.parametrize("name", ["row_max", "row_sum"])
@pytest.mark.parametrize("mask", ["vcg", "identity"])
def test_both_ways_of_masking_give_the_same(name, mask):
    plan = planned(name, ("fold.mask", mask))
    assert plan.verification is not None
    assert plan.verification.ok
    assert simulate(plan, seed=3, random=True).ok
    first, second = (executed(planned(name, ("fold.mask", m)), "s")[1] for m in ("vcg", "identity"))
    assert np.array_equal(first[:, ::4], second[:, ::4])


def test_softmax_may_not_rely_on_the_identity_of_a_sum():
    with pytest.raises(FaultError) as refused:
        planned("softmax", ("row_sum.mask", "identity"))
    assert {fault.rule for fault in refused.value.faults} == {"identity_behind_transform"}


def test_a_table_look_up_is_done_by_main_alone():
    plan = planned("decoded_weight")
    assert [op.contexts for op in plan.ops if op.name == "decode"] == [("main",)]


def test_the_vendors_reduction_over_all_slices_takes_its_cycles():
    """cycles page: 281 + max(N, 9 r t - 3) with r = 256 and t = 1; the vendor's schedule has 2582."""
    (op,) = [o for o in planned("sum_all_slices").ops if o.name == "sum"]
    assert op.cycles == 281 + 9 * 256 - 3 == 2582
