"""A loop is planned as well as its iterations written out, where nothing tells the solver that they are alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import planner
from planner.options import PlanOptions, Request

TILED_SCALE = Path(__file__).parent.parent.parent / "examples" / "tiled_scale.yaml"
QUICK = PlanOptions(time_limit_seconds=30, alternatives=False, verify=False)


def shortened(count: int) -> dict:
    """tiled_scale with fewer iterations of the same size."""
    text = json.dumps(YAML(typ="safe").load(TILED_SCALE.read_text(encoding="utf-8")))
    rows = 4 * count
    for old, new in (("% 60", f"% {rows}"), ("/ 60", f"/ {rows}"), ("15360", str(256 * rows))):
        text = text.replace(old, new)
    return json.loads(text.replace('"count": 15', f'"count": {count}'))


def written_out(kernel: dict) -> dict:
    """The same kernel without a loop: every pass and every register tensor has a name of its own."""
    ops = []
    for op in kernel["ops"]:
        for i in range(op.get("count", 1)):
            for inner in op.get("ops", [op]):
                text = json.dumps(inner).replace('"4 * i"', f'"{4 * i}"').replace('"w_vrf"', f'"w_vrf_{i}"')
                one = json.loads(text)
                if "pass" in one:
                    one["pass"] = f"{one['pass']}_{i}"
                ops.append(one)
    return kernel | {"ops": ops}


def makespan(kernel: dict, folder: Path, vrf_bytes: int) -> tuple[str, int | None]:
    file = folder / "kernel.yaml"
    file.write_text(json.dumps(kernel), encoding="utf-8")
    found = planner.plan(file, Request(settings={"vrf.bytes_per_slice": vrf_bytes}), QUICK)
    return found.status, found.makespan_cycles


@pytest.mark.parametrize(("count", "vrf_bytes"), [(3, 4096), (5, 4096), (5, 2048), (6, 8192)])
def test_a_loop_reaches_the_optimum_of_its_iterations_written_out(count, vrf_bytes, tmp_path):
    kernel = shortened(count)
    free = makespan(written_out(kernel), tmp_path, vrf_bytes)
    assert free[0] == "optimal"
    assert makespan(kernel, tmp_path, vrf_bytes) == free


@pytest.mark.long
def test_the_whole_loop_is_proven_and_no_plan_without_it_is_shorter(tmp_path):
    kernel = shortened(15)
    status, cycles = makespan(kernel, tmp_path, 8192)
    assert status == "optimal"
    assert cycles is not None
    assert cycles <= (makespan(written_out(kernel), tmp_path, 8192)[1] or 0)
