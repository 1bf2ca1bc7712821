"""For each check: an edit of a hand-made plan that breaks the rule, and one right beside it that does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.plan import Plan, Stage
from tests.simulator.plans import HARDWARE, edited
from tests.simulator.small_plans import scale_plan

Edit = Callable[[Plan], Plan]


def op(name: str, **changes: Any) -> Edit:
    return lambda plan: edited(plan, **{f"op_{name}": changes})


def moved(name: str, by: int) -> Edit:
    def edit(plan: Plan) -> Plan:
        found = next(o for o in plan.ops if o.name == name)
        return edited(plan, **{f"op_{name}": {"start": found.start + by, "end": found.end + by}})

    return edit


def moved_to(name: str, other: str, by: int, **more: Any) -> Edit:
    """Starts an operation `by` cycles after the end of another one."""

    def edit(plan: Plan) -> Plan:
        found, target = (next(o for o in plan.ops if o.name == n) for n in (name, other))
        start = target.end + by
        return edited(plan, **{f"op_{name}": {"start": start, "end": start + found.cycles, **more}})

    return edit


def memory(name: str, **changes: Any) -> Edit:
    return lambda plan: edited(plan, **{f"memory_{name}": changes})


def plus(where: str, name: str, field: str, by: int) -> Edit:
    def edit(plan: Plan) -> Plan:
        found = next(
            x
            for x in (plan.ops if where == "op" else plan.memory)
            if name in (getattr(x, "name", ""), getattr(x, "tensor", ""))
        )
        return edited(plan, **{f"{where}_{name}": {field: getattr(found, field) + by}})

    return edit


def fields(**changes: Any) -> Edit:
    return lambda plan: plan.model_copy(update=changes)


def makespan(by: int) -> Edit:
    return lambda plan: plan.model_copy(
        update={"makespan_cycles": plan.makespan_cycles + by, "lower_bound_cycles": plan.makespan_cycles + by}
    )


def shifted(by: int) -> Edit:
    def edit(plan: Plan) -> Plan:
        ops = tuple(o.model_copy(update={"start": o.start + by, "end": o.end + by}) for o in plan.ops)
        held = tuple(e.model_copy(update={"start": e.start + by, "end": e.end + by}) for e in plan.memory)
        total = plan.makespan_cycles + by
        return plan.model_copy(
            update={"ops": ops, "memory": held, "makespan_cycles": total, "lower_bound_cycles": total}
        )

    return edit


def stages(program: str, change: Callable[[list[Stage]], list[Stage]]) -> Edit:
    return lambda plan: plan.model_copy(
        update={"programs": {**plan.programs, program: tuple(change(list(plan.programs[program])))}}
    )


def settings(program: str, step: str, **changes: Any) -> Edit:
    def change(found: list[Stage]) -> list[Stage]:
        return [s.model_copy(update={"settings": {**s.settings, **changes}}) if s.step == step else s for s in found]

    return stages(program, change)


def stage_fields(program: str, at: str, **changes: Any) -> Edit:
    return stages(program, lambda found: [s.model_copy(update=changes) if s.step == at else s for s in found])


def without(program: str, step: str) -> Edit:
    return stages(program, lambda found: [s for s in found if s.step != step])


def inserted(program: str, after: str, step: str, dtype: str, **more: Any) -> Edit:
    def change(found: list[Stage]) -> list[Stage]:
        at = next(i for i, s in enumerate(found) if s.step == after)
        new = found[at].model_copy(update={"step": step, "dtype": dtype, "settings": more, "steps_cycles": 0})
        return [*found[: at + 1], new, *found[at + 1 :]]

    return stages(program, change)


def all_of(*edits: Edit) -> Edit:
    def edit(plan: Plan) -> Plan:
        for one in edits:
            plan = one(plan)
        return plan

    return edit


def same(plan: Plan) -> Plan:
    return plan


def _second_trf(region: str, row: int) -> Edit:
    """A second tensor in the TRF beside `b_trf`, which takes the first half."""

    def edit(plan: Plan) -> Plan:
        plan = memory("b_trf", region="first_half")(plan)
        held = next(e for e in plan.memory if e.tensor == "b_trf")
        twin = held.model_copy(update={"tensor": "twin", "row": row, "region": region})
        return plan.model_copy(update={"memory": (*plan.memory, twin)})

    return edit


def _relabelled(**changes: Any) -> Edit:
    """A tensor that relabels `b_dm`, which lies in data memory."""

    def edit(plan: Plan) -> Plan:
        held = next(e for e in plan.memory if e.tensor == "b_dm")
        twin = held.model_copy(update={"tensor": "twin", "shares": "b_dm", **changes})
        return plan.model_copy(update={"memory": (*plan.memory, twin)})

    return edit


def _staged(after: str) -> Edit:
    """A zero point is subtracted, and `after` stands behind the collect."""
    subtracted = inserted("move", "fetch", "fetch_zero_point_sub", "i9", zero_point=1)
    return all_of(subtracted, inserted("move", "collect", after, "i9", **{"with": "w"}))


def _dropped(*names: str) -> Edit:
    return lambda plan: plan.model_copy(update={"ops": tuple(o for o in plan.ops if o.name not in names)})


def _renamed_program(plan: Plan) -> Plan:
    programs = {**plan.programs, "twin": plan.programs["matmul"]}
    return edited(plan.model_copy(update={"programs": programs}), op_matmul={"program": "twin"})


def _counting_banks(plan: Plan) -> Plan:
    trf = plan.hardware.trf.model_copy(update={"contention": 1})
    return plan.model_copy(update={"hardware": plan.hardware.model_copy(update={"trf": trf})})


def _reversed(plan: Plan) -> Plan:
    return plan.model_copy(update={"ops": plan.ops[::-1]})


def _feasible(plan: Plan) -> Plan:
    bound = plan.makespan_cycles - 100
    return plan.model_copy(
        update={"status": "feasible", "lower_bound_cycles": bound, "gap": 100 / plan.makespan_cycles}
    )


def _bitmap(**rows: list[int]) -> Edit:
    def edit(plan: Plan) -> Plan:
        pattern = [list(row) for row in plan.programs["move"][1].settings["bitmap"]["pattern"]]
        for key, value in rows.items():
            pattern[int(key[1:])] = value
        return settings("move", "switch", bitmap={"pattern": pattern, "period": 256})(plan)

    return edit


def _second_vector_user(by: int) -> Edit:
    scale = next(o for o in scale_plan().ops if o.name == "scale[0]")
    return moved_to("scale[1]", "scale[0]", by - scale.cycles if by < 0 else by, contexts=("sub", "vector"))


FENCE = HARDWARE.kernel.fence_cycles
DM, VRF = HARDWARE.dm.bytes_per_slice, HARDWARE.vrf.bytes_per_slice
_NINE = [[2, 3 * 5**k] for k in range(9)]
_EIGHT = _NINE[:7]

EDITS: dict[str, tuple[str, Edit, Edit]] = {
    "unknown_reference": ("gemm", op("matmul", program="nowhere"), _renamed_program),
    "operation_missing": ("gemm", _dropped("load_a"), _reversed),
    "makespan_mismatch": ("gemm", makespan(1), moved("store_c", 50)),
    "bound_exceeds_makespan": ("gemm", fields(lower_bound_cycles=10**6), _feasible),
    "times_disagree": ("gemm", plus("op", "store_c", "end", 1), moved("store_c", 1)),
    "cycles_mismatch": (
        "gemm",
        all_of(plus("op", "store_c", "end", 1), plus("op", "store_c", "cycles", 1)),
        moved("store_c", 1),
    ),
    "starts_too_early": ("scale", shifted(-1), shifted(1)),
    "context_overlap": ("scale", moved("load_w", -1), same),
    "vector_engine_overlap": ("scale", _second_vector_user(-1), _second_vector_user(0)),
    "wrong_contexts": ("gemm", op("store_b", contexts=("sub", "dma")), op("matmul", contexts=("vector", "main"))),
    "vrf_store_holds_main_and_sub": ("scale", op("stage[0]", contexts=("main",)), op("stage[0]", contexts=("sub",))),
    "bitmap_load_missing": ("custom", _dropped("move.bitmap"), moved("move.bitmap", -100)),
    "bitmap_load_contexts": (
        "custom",
        op("move.bitmap", contexts=("dma",)),
        op("move.bitmap", contexts=("dma", "sub")),
    ),
    "data_hazard_raw": ("gemm", moved("matmul", -1), moved("store_b", 5)),
    "data_hazard_war": ("round_trip", moved_to("again", "reload", -1), moved_to("again", "reload", 0)),
    "data_hazard_waw": ("round_trip", moved_to("again", "spill", -1), moved_to("again", "spill", 0)),
    "fence_missing": ("round_trip", moved("reload", -1), moved_to("reload", "spill", FENCE)),
    "region_overlap": ("gemm", _second_trf("full", 64), _second_trf("second_half", 64)),
    "region_out_of_bounds": ("gemm", memory("b_trf", row=121), memory("b_trf", row=120)),
    "vrf_capacity": ("scale", memory("w_vrf[1]", address=VRF - 96), memory("w_vrf[1]", address=VRF - 128)),
    "dm_capacity": ("scale", memory("y_dm", address=DM - 120), memory("y_dm", address=DM - 128)),
    "address_overlap": ("gemm", memory("c_dm", address=2048), memory("c_dm", address=4096)),
    "address_alignment": ("gemm", memory("c_dm", address=8196), memory("c_dm", address=8200)),
    "lifetime_mismatch": ("gemm", plus("memory", "b_trf", "end", 1), moved("store_c", 7)),
    "bank_wait_reserved": (
        "gemm",
        all_of(_counting_banks, moved_to("matmul", "store_b", -700)),
        all_of(
            _counting_banks, moved_to("matmul", "store_b", -700), settings("store_b", "to_trf", bank_reserve_cycles=700)
        ),
    ),
    "size_mismatch": ("gemm", plus("memory", "c_dm", "bytes", 8), memory("c_dm", address=16384)),
    "reshape_size_mismatch": ("gemm", _relabelled(element="J % 32, K % 32"), _relabelled(element="J % 32, K")),
    "reshape_cells_differ": ("gemm", _relabelled(element="K, J % 32"), _relabelled(element="J % 32, K / 2, K % 2")),
    "zero_point_without_contraction": ("custom", _staged("vector"), _staged("contract_outer")),
    "claim_mismatch": (
        "gemm",
        stage_fields("matmul", "commit", time="J / 8 % 4, I % 32"),
        stage_fields("matmul", "commit", time="[I % 32, J / 8 % 4]"),
    ),
    "settings_mismatch": (
        "gemm",
        settings("matmul", "fetch", read_bytes=16),
        settings("matmul", "fetch", note="a free one"),
    ),
    "ring_size_mismatch": (
        "custom",
        settings("move", "switch", ring_size=128),
        settings("move", "switch", config={"kind": "CustomBroadcast"}),
    ),
    "snoop_bitmap_mismatch": ("custom", _bitmap(r17=[]), _bitmap(r17=[17, 17])),
    "illegal_next_step": ("custom", without("move", "collect"), without("move", "switch")),
    "pass_without_store": ("custom", without("move", "commit"), without("move", "switch")),
    "sub_context_step": ("gemm", op("matmul", contexts=("sub", "vector")), op("store_b", contexts=("main",))),
    "sub_commit_cast": (
        "scale",
        all_of(settings("scale", "commit", cast="bf16"), op("scale[0]", contexts=("sub", "vector"))),
        settings("scale", "commit", cast="bf16"),
    ),
    "slice_count": (
        "scale",
        stage_fields("scale", "cast", slice="L / 32"),
        stage_fields("scale", "cast", slice="L / 8"),
    ),
    "cluster_count": (
        "scale",
        stage_fields("scale", "cast", cluster="1 # 4"),
        stage_fields("scale", "cast", cluster="1"),
    ),
    "sequencer_entries": (
        "scale",
        settings("scale", "fetch", time_entries=_NINE),
        settings("scale", "fetch", time_entries=_EIGHT),
    ),
    "innermost_stride": (
        "scale",
        settings("scale", "fetch", packet_entries=[[8, 2]]),
        settings("scale", "fetch", packet_entries=[[8, 0]]),
    ),
    "packet_alignment": (
        "scale",
        stage_fields("scale", "fetch_cast", packet="1"),
        stage_fields("scale", "fetch_cast", packet="H % 2"),
    ),
    "fetch_cast_types": (
        "scale",
        stage_fields("scale", "fetch_cast", dtype="i32"),
        stage_fields("scale", "fetch_cast", dtype="bf16"),
    ),
    "fetch_table_types": (
        "custom",
        inserted("move", "fetch", "fetch_table_lookup", "bf16"),
        all_of(stage_fields("move", "fetch", dtype="f8e4m3"), inserted("move", "fetch", "fetch_table_lookup", "bf16")),
    ),
    "zero_point_types": (
        "custom",
        inserted("move", "fetch", "fetch_zero_point_sub", "i5", zero_point=1),
        inserted("move", "fetch", "fetch_zero_point_sub", "i9", zero_point=1),
    ),
    "zero_point_range": (
        "custom",
        inserted("move", "fetch", "fetch_zero_point_sub", "i9", zero_point=128),
        inserted("move", "fetch", "fetch_zero_point_sub", "i9", zero_point=127),
    ),
    "trf_dtype": (
        "gemm",
        stage_fields("store_b", "to_trf", dtype="f32"),
        stage_fields("store_b", "to_trf", dtype="i8"),
    ),
    "vrf_dtype": ("scale", stage_fields("stage", "to_vrf", dtype="bf16"), stage_fields("stage", "to_vrf", dtype="i32")),
    "multiplier_operands": ("gemm", memory("b_trf", dtype="f8e4m3"), same),
    "contract_packet_flits": (
        "gemm",
        stage_fields("matmul", "contract_outer", packet="K"),
        stage_fields("matmul", "contract_outer", packet="K % 16"),
    ),
    "slot_capacity": (
        "gemm",
        settings("matmul", "contract_time", inner_time=129),
        settings("matmul", "contract_time", inner_time=128),
    ),
    "cast_types": ("gemm", stage_fields("matmul", "cast", dtype="i8"), stage_fields("matmul", "cast", dtype="f8e4m3")),
    "commit_trim_width": (
        "gemm",
        settings("matmul", "commit", trim_bytes=20),
        settings("matmul", "commit", trim_bytes=24),
    ),
    "commit_cast_types": (
        "gemm",
        settings("matmul", "commit", cast="bf16"),
        all_of(without("matmul", "cast"), settings("matmul", "commit", cast="bf16")),
    ),
    "commit_cast_width": (
        "gemm",
        settings("matmul", "commit", cast="bf16", trim_bytes=24),
        settings("matmul", "commit", cast="bf16", trim_bytes=32),
    ),
    "relu_needs_cast": (
        "gemm",
        settings("matmul", "commit", relu=True),
        settings("matmul", "commit", relu=True, cast="bf16"),
    ),
    "commit_stride": (
        "gemm",
        settings("matmul", "commit", time_entries=[[32, 33], [4, 8]]),
        settings("matmul", "commit", time_entries=[[32, 36], [4, 8]]),
    ),
}
