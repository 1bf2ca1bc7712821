"""What a stage says of its mappings is compared with the cells that really stand there."""

import pytest

from models.plan import Plan
from simulator import simulate
from tests.simulator.plans import gemm_plan


def collect_says(time: str) -> Plan:
    """The gemm plan, where the collect stage of the store into the TRF claims another Time."""
    plan = gemm_plan()
    store = next(op for op in plan.ops if op.base == "store_b").program
    stages = tuple(s.model_copy(update={"time": time}) if s.step == "collect" else s for s in plan.programs[store])
    return plan.model_copy(update={"programs": plan.programs | {store: stages}})


@pytest.mark.parametrize(
    ("time", "broken"),
    [
        ("J % 8, J / 8 % 4, K / 16", set()),
        ("J / 8 % 4, J % 8, K / 16", {"claim_mismatch"}),
        ("[J % 8, J / 8 % 4], 1, K / 16", set()),
    ],
    ids=["feasible", "broken", "beside"],
)
def test_a_time_in_another_order_is_named(time, broken):
    found = {v.rule for v in simulate(collect_says(time)).violations}
    assert found & {"claim_mismatch"} == broken
    assert broken or not found
