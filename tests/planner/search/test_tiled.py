"""Operations that exceed a slice: loops over tiles, and refusals where no tile helps; on a chip with little DM."""

import pytest
import yaml

import planner
from models.faults import FaultError
from models.kernel import Tile
from planner import PlanOptions, Request
from planner.export import write_kernel

LITTLE = Request(settings={"dm.bytes_per_slice": 512})
QUICK = PlanOptions(time_limit_seconds=6, alternatives=False)
DTYPE = "bf16"


def written(tmp_path, axes, tensors, statement):
    *inputs, out = tensors.items()
    listed = {n: {"dtype": DTYPE, "element": e} for n, e in inputs} | {
        out[0]: {"dtype": DTYPE, "element": out[1], "role": "output"}
    }
    path = tmp_path / "program.yaml"
    path.write_text(yaml.safe_dump({"kernel": "k", "axes": axes, "tensors": listed, "program": [statement]}))
    return path


@pytest.mark.parametrize(
    ("axes", "tensors", "statement", "axis"),
    [
        ({"R": 2048, "C": 128}, {"x": "R, C", "s": "R"}, "s = sum(x[R, C] -> [R])", "R"),
        pytest.param(
            {"I": 64, "J": 512, "K": 64},
            {"a": "I, K", "b": "J, K", "c": "I, J"},
            "c = einsum(a[I, K], b[J, K] -> [I, J])",
            "J",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_exceeds_a_slice_runs_in_tiles(tmp_path, axes, tensors, statement, axis):
    plan = planner.plan(written(tmp_path, axes, tensors, statement), LITTLE, QUICK)
    assert plan.verification.ok
    loop = plan.kernel.ops[-1]
    tile = next(op.write for op in loop.ops if op.kind == "dma" and isinstance(op.write, Tile))
    size = int(tile.tile.removeprefix(f"{axis} / "))
    assert loop.count * size == axes[axis]
    emitted = tmp_path / "emitted.yaml"
    write_kernel(emitted, plan)
    assert planner.plan(emitted, LITTLE, QUICK).makespan_cycles == plan.makespan_cycles


def test_a_summed_axis_is_not_tiled_and_what_it_needs_is_told(tmp_path):
    path = written(tmp_path, {"K": 1 << 20}, {"x": "K", "y": "K", "d": "1 # 4"}, "d = einsum(x[K], y[K] -> [])")
    with pytest.raises(FaultError) as error:
        planner.plan(path, LITTLE, QUICK)
    fault = error.value.faults[0]
    # a 256th of both operands, and the result of 2 bytes of one value
    need = 2 * 2 * (1 << 20) // 256 + 2
    assert (fault.rule, fault.op, fault.found) == ("program_does_not_fit", "d", f"{need:,} bytes")
    assert f"{need - 512:,} more" in fault.message
    # 2^14 positions: 64 elements of both operands, 256 bytes, in each slice; 2^15 would leave no room for the result
    assert fault.nearest == "axis K in tiles of 16,384"
