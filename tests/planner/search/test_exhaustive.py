"""Every placement of the digits of small problems, as kernels from the tests' own templates: no plan is shorter.

A kernel that a rule forbids is left out, all others are planned as any kernel file with `ops:` is.
"""

import pytest
import yaml

import planner
from models.faults import FaultError
from planner import InfeasibleError, PlanOptions
from tests.planner.search.placements import count, digits, sums
from tests.planner.search.product_placements import Problem, products

BYTES = {"bf16": 2, "f32": 4}
QUICK = PlanOptions(time_limit_seconds=20, alternatives=False, verify=False, corrections=False)


def shortest(head, kernels, tmp_path):
    """The least makespan of all kernels that are legal, and how many were."""
    best, legal = None, 0
    for ops in kernels:
        path = tmp_path / "kernel.yaml"
        path.write_text(yaml.safe_dump(head | {"ops": ops}))
        try:
            plan = planner.plan(path, options=QUICK)
        except (FaultError, InfeasibleError):
            continue
        legal += 1
        best = plan.makespan_cycles if best is None else min(best, plan.makespan_cycles)
    return best, legal


def from_program(head, statement, tmp_path):
    path = tmp_path / "program.yaml"
    path.write_text(yaml.safe_dump(head | {"program": [statement]}))
    return planner.plan(path, options=PlanOptions(time_limit_seconds=60, alternatives=False))


def head_of_sum(rows, columns, dtype):
    x, s = {"dtype": "bf16", "element": "R, C"}, {"dtype": dtype, "element": "R", "role": "output"}
    return {"kernel": "small_sum", "axes": {"R": count(rows), "C": count(columns)}, "tensors": {"x": x, "s": s}}


@pytest.mark.parametrize(
    ("rows", "columns", "dtype"),
    [
        ((4,), (16, 4), "bf16"),
        ((2, 2), (2, 4), "bf16"),
        pytest.param((2,), (64, 16, 4), "f32", marks=pytest.mark.long),
        pytest.param((2, 2, 2), (2, 4), "bf16", marks=pytest.mark.long),
        pytest.param((4, 4), (8, 8, 4), "bf16", marks=pytest.mark.long),
        pytest.param((8, 8), (32, 4), "bf16", marks=pytest.mark.long),
    ],
)
def test_no_placement_of_a_sum_is_shorter(rows, columns, dtype, tmp_path):
    rows, columns = digits("R", *rows), digits("C", *columns)
    head = head_of_sum(rows, columns, dtype)
    best, legal = shortest(head, sums(rows, columns, 2 if dtype == "bf16" else 4), tmp_path)
    plan = from_program(head, "s = sum(x[R, C] -> [R])", tmp_path)
    assert legal > 5
    assert plan.verification.ok
    assert plan.makespan_cycles <= best


def contraction(rows, columns, depth, dtype="bf16"):
    """The head, statement and kernels of c[I, J] = sum over K of a[I, K] * b[J, K]; without columns of y[I]."""
    rows, columns, depth = digits("I", *rows), digits("J", *columns), digits("K", *depth)
    out = [*rows, *columns]
    shapes = {n: ", ".join(dict.fromkeys(d[0] for d in own)) for n, own in (("a", rows), ("b", columns), ("c", out))}
    tensors = {n: {"dtype": "bf16", "element": ", ".join(filter(None, (shapes[n], "K")))} for n in "ab"}
    tensors["c"] = {"dtype": dtype, "element": shapes["c"] or f"1 # {8 // BYTES[dtype]}", "role": "output"}
    axes = {"I": count(rows), "J": count(columns), "K": count(depth)}
    used = {d[0] for d in (*out, *depth)}
    head = {"kernel": "small", "axes": {a: n for a, n in axes.items() if a in used}, "tensors": tensors}
    statement = f"c = einsum(a[{tensors['a']['element']}], b[{tensors['b']['element']}] -> [{shapes['c']}])"
    end = ("c", BYTES[dtype])
    kernels = [
        *products(Problem(("a", rows), ("b", columns), depth, out, end)),
        *products(Problem(("b", columns), ("a", rows), depth, out, end)),
    ]
    return head, statement, kernels


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "dtype"),
    [
        ((), (), (4, 32), "f32"),
        ((4,), (), (16,), "bf16"),
        pytest.param((4,), (), (2, 16), "bf16", marks=pytest.mark.long),
        pytest.param((4, 2), (), (4, 16), "bf16", marks=pytest.mark.long),
        pytest.param((4, 8), (), (16, 32), "bf16", marks=pytest.mark.long),
        pytest.param((2,), (), (64, 32), "f32", marks=pytest.mark.long),
        pytest.param((4, 4), (4,), (32,), "bf16", marks=pytest.mark.long),
        pytest.param((4,), (8,), (2, 16), "bf16", marks=pytest.mark.long),
    ],
)
def test_no_placement_of_a_contraction_is_shorter(rows, columns, depth, dtype, tmp_path):
    head, statement, kernels = contraction(rows, columns, depth, dtype)
    best, legal = shortest(head, kernels, tmp_path)
    plan = from_program(head, statement, tmp_path)
    assert legal >= 5
    assert plan.verification.ok
    assert plan.makespan_cycles <= best
