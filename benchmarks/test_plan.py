"""`tuplan plan` of gemm as a whole process, within 3 times a process that imports what it is built on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = 3
ROUNDS = 5
IMPORTS = "import networkx, ortools.sat.python.cp_model, pydantic; pydantic.BaseModel"
PLAN = "from cli.app import main; main()"


def process(code: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, check=True, capture_output=True)


def best(code: str) -> float:
    out = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        process(code)
        out.append(time.perf_counter() - begin)
    return min(out)


def test_plan_of_gemm_against_its_imports(benchmark, tmp_path):
    arguments = (PLAN, "plan", "examples/gemm.yaml", "-o", str(tmp_path / "gemm.plan.json"), "-f", "--quiet")
    process(*arguments)  # the first run writes byte code
    imports = best(IMPORTS)
    benchmark.pedantic(process, args=arguments, rounds=ROUNDS)
    ratio = min(benchmark.stats.stats.data) / imports
    benchmark.extra_info["ratio_to_imports"] = round(ratio, 2)
    assert ratio <= LIMIT
