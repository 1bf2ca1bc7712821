"""The simulator against numpy: gemm 512 x 512 x 64 within 60 times a plain float32 einsum, best of 5 in one run."""

from __future__ import annotations

import time

import numpy as np

from simulator import simulate
from tests.simulator.plans import gemm_plan

LIMIT = 60
ROUNDS = 5


def best(work) -> float:
    out = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        out.append(time.perf_counter() - begin)
    return min(out)


def test_gemm_against_einsum(benchmark):
    plan = gemm_plan()
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(512, 64)).astype(np.float32) for _ in range(2))
    plain = best(lambda: np.einsum("ik,jk->ij", a, b, optimize=False))
    result = benchmark.pedantic(simulate, args=(plan,), rounds=ROUNDS)
    assert result.ok
    ratio = min(benchmark.stats.stats.data) / plain if benchmark.stats else best(lambda: simulate(plan)) / plain
    benchmark.extra_info["ratio_to_einsum"] = round(ratio, 1)
    assert ratio <= LIMIT
