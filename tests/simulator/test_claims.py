"""What a stage says of its mappings is compared with the cells that really stand there."""

import pytest

from models.plan import Plan
from simulator import simulate
from tests.simulator.edits import stages
from tests.simulator.plans import gemm_plan
from tests.simulator.small_plans import scale_plan


def says(plan: Plan, program: str, step: str, **fields: str) -> Plan:
    """A plan in which one stage claims another mapping."""
    return stages(program, lambda found: [s.model_copy(update=fields) if s.step == step else s for s in found])(plan)


def rules_of(plan: Plan) -> set[str]:
    return {v.rule for v in simulate(plan).violations}


def concat_says(time: str) -> Plan:
    plan = scale_plan()
    at = next(i for i, s in enumerate(plan.programs["scale"]) if s.settings.get("name") == "widen_concat")
    return stages("scale", lambda found: [*found[:at], found[at].model_copy(update={"time": time}), *found[at + 1 :]])(
        plan
    )


@pytest.mark.parametrize(
    ("time", "broken"),
    [
        ("L % 4 = 2, H / 8", set()),
        ("H / 8, L % 4 = 2", {"claim_mismatch"}),
        ("[L % 4 = 2], 1, [H / 8]", set()),
    ],
    ids=["feasible", "broken", "beside"],
)
def test_a_time_in_another_order_is_named(time, broken):
    found = rules_of(concat_says(time))
    assert found & {"claim_mismatch"} == broken
    assert broken or not found


@pytest.mark.parametrize(
    ("program", "step", "fields", "rule"),
    [
        ("store_b", "fetch", {"time": "J / 8 % 4, J % 8"}, "fetch_not_addressable"),
        ("store_b", "collect", {"time": "J / 8 % 4, J % 8, K / 16"}, "collect_packet_mismatch"),
        ("store_b", "collect", {"time": "J % 8, J / 8 % 4"}, "collect_time_mismatch"),
        ("store_b", "collect", {"packet": "K % 32"}, "output_not_one_flit"),
        ("matmul", "contract_outer", {"time": "J / 8 % 4, I % 32, K / 32"}, "contract_time_out"),
        ("matmul", "contract_time", {"time": "J / 8 % 4, I % 32"}, "contract_time_mismatch"),
        ("matmul", "contract_lane", {"packet": "J / 8 % 8"}, "contract_lane_time"),
        ("matmul", "cast", {"packet": "I % 8 # 16"}, "cast_packet_mismatch"),
    ],
)
def test_a_wrong_claim_breaks_the_engines_own_rule(program, step, fields, rule):
    assert rule in rules_of(says(gemm_plan(), program, step, **fields))


def test_lanes_hold_what_the_tensor_says():
    plan = gemm_plan()
    memory = tuple(e.model_copy(update={"lane": "J / 4 % 8"}) if e.tensor == "b_trf" else e for e in plan.memory)
    assert "lane_mismatch" in rules_of(plan.model_copy(update={"memory": memory}))
