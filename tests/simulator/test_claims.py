"""What a stage says of its mappings is compared with the cells that really stand there."""

import pytest

from simulator import simulate
from tests.simulator.small_plans import scale_plan


def narrow_says(time: str):
    """The scale plan, where the vector stages of the narrow half claim another Time."""
    plan = scale_plan()
    stages = tuple(
        s.model_copy(update={"time": time}) if s.step == "vector" and "H / 4" in s.time else s
        for s in plan.programs["scale"]
    )
    return plan.model_copy(update={"programs": plan.programs | {"scale": stages}})


@pytest.mark.parametrize(
    ("time", "broken"),
    [
        ("L % 4 = 2, H / 4", set()),
        ("H / 4, L % 4 = 2", {"claim_mismatch"}),
        ("[L % 4 = 2, 1], H / 4", set()),
    ],
    ids=["feasible", "broken", "beside"],
)
def test_claim_mismatch(time, broken):
    found = {v.rule for v in simulate(narrow_says(time)).violations}
    assert found & {"claim_mismatch"} == broken
    assert broken or not found
