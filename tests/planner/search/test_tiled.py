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
QUICKER = PlanOptions(time_limit_seconds=2, alternatives=False)
DTYPE = "bf16"


def written(tmp_path, axes, tensors, *statements):
    *inputs, out = tensors.items()
    listed = {n: {"dtype": DTYPE, "element": e} for n, e in inputs} | {
        out[0]: {"dtype": DTYPE, "element": out[1], "role": "output"}
    }
    path = tmp_path / "program.yaml"
    path.write_text(yaml.safe_dump({"kernel": "k", "axes": axes, "tensors": listed, "program": list(statements)}))
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
    assert fault.nearest == "axis K in 64 tiles of 16,384"


CHAIN = ("p = exp(x)", "q = sqrt(p)", "r = tanh(q)", "m = max(r -> [R])")
"""p, q and r take 256 bytes of a slice each at 8,192 rows of 8; while r is made of q, p stays, to be streamed later."""
ROOMY = Request(settings={"dm.bytes_per_slice": 704, "vrf.bytes_per_slice": 64})


def test_a_program_whose_values_do_not_fit_beside_each_other_runs_in_tiles(tmp_path):
    path = written(tmp_path, {"R": 8192, "C": 8}, {"x": "R, C", "v": "R, C"}, *CHAIN, "v = mul(p, m)")
    plan = planner.plan(path, ROOMY, QUICKER)
    assert plan.verification.ok
    loop = plan.kernel.ops[-1]
    stored = next(op for op in loop.ops if op.kind == "dma" and isinstance(op.write, Tile))
    assert (stored.write.tensor, loop.count) == ("v", 8192 // int(stored.write.tile.removeprefix("R / ")))


def test_what_does_not_depend_on_the_tiles_stands_before_the_loop(tmp_path):
    tensors = {"x": "K", "w": "J, K", "c": "J"}
    path = written(tmp_path, {"J": 8192, "K": 64}, tensors, "y = exp(x[K])", "c = einsum(y, w -> [J])")
    plan = planner.plan(path, LITTLE, QUICKER)
    assert plan.verification.ok
    loop = plan.kernel.ops[-1]
    before = {op.read for op in plan.kernel.ops[:-1] if op.kind == "dma"}
    assert "x" in before
    assert any(op.kind == "dma" and isinstance(op.read, Tile) and op.read.tensor == "w" for op in loop.ops)


def test_what_stays_for_later_counts_and_the_fewest_tiles_are_told(tmp_path):
    """R is summed at the end, so that no loop over its tiles can be made."""
    statements = (*CHAIN, "v = max(mul(p, m) -> [R])", "w = sum(v -> [])", "t = cast(w, bf16)")
    path = written(tmp_path, {"R": 8192, "C": 8}, {"x": "R, C", "t": "1 # 4"}, *statements)
    with pytest.raises(FaultError) as error:
        planner.plan(path, ROOMY, QUICK)
    (fault,) = error.value.faults
    # p, and what r reads and is
    assert (fault.rule, fault.op, fault.line, fault.found) == ("program_does_not_fit", "r", 8, "768 bytes")
    assert fault.message.endswith("DM, 64 more than it has, what is made before and read behind it included (p)")
    assert fault.nearest == "axis R in 2 tiles of 4,096"


def test_two_axes_are_cut_where_one_is_not_enough(tmp_path):
    tensors = {"a": "I, K", "b": "J, K", "c": "I, J"}
    path = written(tmp_path, {"I": 512, "J": 512, "K": 512}, tensors, "c = einsum(a, b -> [I, J])")
    with pytest.raises(FaultError) as error:
        planner.plan(path, LITTLE, QUICK)
    fault = error.value.faults[0]
    assert fault.rule == "program_does_not_fit"
    # c alone is 1,024 bytes of a slice, so K is not enough; one of the operands is as much, so neither I nor J is
    axes = fault.nearest.removeprefix("axis ").split(", axis ")
    assert len(axes) == 2, fault.nearest


def test_axes_beyond_all_memory_are_refused_with_numbers(tmp_path):
    sizes = dict.fromkeys("IJK", 1 << 31)
    tensors = {"a": "I, K", "b": "J, K", "c": "I, J"}
    with pytest.raises(FaultError) as error:
        planner.plan(written(tmp_path, sizes, tensors, "c = einsum(a, b -> [I, J])"), options=QUICK)
    rules = {fault.rule for fault in error.value.faults}
    assert rules <= {"program_does_not_fit", "dma_hbm_size"}
    assert rules
