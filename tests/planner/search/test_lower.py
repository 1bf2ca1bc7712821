"""Steps that a kernel file leaves to the planner: the passes before a store, and the operand in the TRF."""

from pathlib import Path

import pytest

import planner
from models.faults import FaultError
from planner import PlanOptions

EXAMPLES = Path(__file__).parents[3] / "examples"
QUICK = PlanOptions(time_limit_seconds=10, alternatives=False)


def changed(tmp_path, example, *edits):
    text = (EXAMPLES / f"{example}.yaml").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / f"{example}.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("example", "store", "times"),
    [
        ("row_sum_scattered", "{dma: store, read: s_dm, write: s}", 12),
        ("matrix_vector_scattered", "{dma: store_y, read: y_dm, write: y}", 7),
    ],
)
def test_passes_before_a_store_are_inserted(tmp_path, example, store, times):
    as_stated = planner.plan(EXAMPLES / f"{example}.yaml", options=QUICK)
    path = changed(tmp_path, example, (store, store.replace("}", ", passes: auto}")))
    plan = planner.plan(path, options=QUICK)
    assert plan.verification.ok
    assert plan.makespan_cycles * times <= as_stated.makespan_cycles
    steps = [s.step for s in plan.kernel.ops[-2].steps]
    assert steps == ["fetch", "switch", "collect", "transpose", "commit"]


def test_a_store_that_is_best_as_it_lies_keeps_no_pass(tmp_path):
    path = changed(
        tmp_path,
        "matrix_vector",
        ("{dma: store_y, read: y_dm, write: y}", "{dma: store_y, read: y_dm, write: y, passes: auto}"),
    )
    plan = planner.plan(path, options=QUICK)
    assert plan.makespan_cycles <= planner.plan(EXAMPLES / "matrix_vector.yaml", options=QUICK).makespan_cycles


def test_the_operand_in_the_trf_is_chosen(tmp_path):
    path = changed(tmp_path, "gemm", ("with: b_trf", "with: auto, operands: [b_trf]"))
    plan = planner.plan(path, options=QUICK)
    assert plan.makespan_cycles == planner.plan(EXAMPLES / "gemm.yaml", options=QUICK).makespan_cycles
    outer = next(s for s in plan.kernel.ops[3].steps if s.step == "contract_outer")
    assert outer.with_ == "b_trf"


def test_a_store_of_a_tile_keeps_its_passes_to_the_author(tmp_path):
    store = "{dma: store_c, read: c_dm, write: c}"
    tile = '{tensor: c_dm, tile: "I % 32", length: 32}'
    path = changed(tmp_path, "gemm", (store, store.replace("c_dm", tile).replace("c}", "c, passes: auto}")))
    with pytest.raises(FaultError) as error:
        planner.plan(path, options=QUICK)
    fault = error.value.faults[0]
    assert (fault.rule, fault.op, fault.line) == ("passes_auto", "store_c", 31)
