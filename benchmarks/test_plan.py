"""`tuplan plan` of gemm as a whole process, within 3 times a process that imports what it is built on."""

from __future__ import annotations

import compileall
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("models", "solver", "simulator", "planner", "cli")
LIMIT = 3
ROUNDS = 7
IMPORTS = "import networkx, ortools.sat.python.cp_model, pydantic; pydantic.BaseModel"
PLAN = "from cli.app import main; main()"


def process(code: str, *arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - begin


def test_plan_of_gemm_against_its_imports(benchmark, tmp_path):
    for room in ROOMS:  # as `make` and an installer do, for the libraries too
        compileall.compile_dir(ROOT / room, quiet=1)
    arguments = (PLAN, "plan", "examples/gemm.yaml", "-o", str(tmp_path / "gemm.plan.json"), "-f", "--quiet")
    process(*arguments)
    imports = []

    def imported() -> None:
        imports.append(process(IMPORTS))  # in turns, so that both see the same machine

    benchmark.pedantic(process, args=arguments, setup=imported, rounds=ROUNDS)
    ratio = min(benchmark.stats.stats.data) / min(imports)
    benchmark.extra_info["ratio_to_imports"] = round(ratio, 2)
    assert ratio <= LIMIT
