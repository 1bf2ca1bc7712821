"""Programs against the kernels that are laid out by hand: same tensors, only the computation stated."""

from functools import cache
from pathlib import Path

import pytest
import yaml

import planner
from planner import PlanOptions

EXAMPLES = Path(__file__).parents[3] / "examples"
QUICK = PlanOptions(time_limit_seconds=20, alternatives=False)

BATCHED = "c = einsum(a[V, M, K], b[N, K] -> [V, M, N])"
PROGRAMS = {
    "dot_product": "d = einsum(x[K], y[K] -> [])",
    "matrix_vector": "y = einsum(a[I, K], x[K] -> [I])",
    "bmatmul_m_in_time": BATCHED,
    "bmatmul_v_in_time": BATCHED,
    "bmatmul_k_in_time": BATCHED,
    "bmatmul_clusters": "c = einsum(a[V, M, K], b[V, N, K] -> [V, M, N])",
    "rmsnorm": "y = rmsnorm(x[S, H], g[H], H, 1e-6)",
    "softmax": "y = softmax(x[R, C], C)",
    "sum_all_slices": "s = sum(x[A] -> [])",
    "gemm": "c = einsum(a[I, K], b[J, K] -> [I, J])",
}
"""Statement by example; every layout is left open."""


@cache
def by_hand(example):
    """The example as it stands."""
    return planner.plan(EXAMPLES / f"{example}.yaml", options=QUICK)


@pytest.fixture(scope="module")
def from_program(tmp_path_factory):
    """Plans a statement over an example's own tensors; the equal ones once."""
    known = {}

    def planned(example, statement):
        kernel = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
        head = {k: kernel[k] for k in ("kernel", "axes", "tensors")} | {"program": [statement]}
        key = yaml.safe_dump({k: v for k, v in head.items() if k != "kernel"})
        if key not in known:
            path = tmp_path_factory.mktemp("program") / f"{example}.yaml"
            path.write_text(yaml.safe_dump(head))
            known[key] = planner.plan(path, options=QUICK)
        return known[key]

    return planned


@pytest.mark.parametrize("example", PROGRAMS)
def test_a_program_is_at_least_as_short_as_its_hand_laid_out_kernel(from_program, example):
    plan = from_program(example, PROGRAMS[example])
    assert plan.verification.ok
    assert plan.makespan_cycles <= by_hand(example).makespan_cycles


@pytest.mark.parametrize(
    ("example", "statement"),
    [
        ("matrix_vector_scattered", "y = einsum(a[I, J], x[J] -> [I])"),
        ("row_sum_scattered", "s = sum(x[R, C] -> [R])"),
    ],
)
def test_results_gathered_before_the_store_take_a_twelfth(from_program, example, statement):
    plan = from_program(example, statement)
    assert plan.verification.ok
    assert plan.makespan_cycles * 12 <= by_hand(example).makespan_cycles


def test_gemm_takes_an_eighth_of_what_the_vendor_scheduled(from_program):
    plan = from_program("gemm", PROGRAMS["gemm"])
    # The vendor's own schedule of the kernel in examples/gemm.yaml is 81,449 cycles (issue and cycles page).
    assert plan.makespan_cycles * 8 <= 81_449
    assert plan.verification.ok
