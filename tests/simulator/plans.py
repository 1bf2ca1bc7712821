"""Plans made by hand, so that the simulator is tested without a planner."""

from __future__ import annotations

from typing import Any

from models.kernel import Kernel
from models.plan import Decision, MemoryEntry, Plan, PlannedOp, SolverInfo, Stage
from models.presets.load import load_hardware

HARDWARE = load_hardware()
GRID = "I / 32, J / 32"
SYNC = HARDWARE.kernel.final_sync_cycles
SOLVER = SolverInfo(name="hand", version="0", seed=0, workers=1, deterministic_time=0.0, branches=0, conflicts=0)


def stage(step: str, dtype: str, time: str, packet: str, steps: int = 0, slice: str = GRID, **settings: Any) -> Stage:
    return Stage(
        step=step,
        dtype=dtype,
        chip="1",
        cluster="1 # 2",
        slice=slice,
        time=time,
        packet=packet,
        steps_cycles=steps,
        settings=settings,
    )


def entry(
    tensor: str, file: str, dtype: str, slice: str, element: str, size: int, life: tuple[int, int], **more: Any
) -> MemoryEntry:
    return MemoryEntry(
        tensor=tensor,
        file=file,
        dtype=dtype,
        chip="1",
        cluster="1 # 2",
        slice=slice,
        element=element,
        bytes=size,
        start=life[0],
        end=life[1],
        **more,
    )


def op(
    name: str, kind: str, contexts: tuple[str, ...], start: int, cycles: int, uses: dict[str, str], **more: Any
) -> PlannedOp:
    base = more.pop("base", name.split("[")[0])
    program = more.pop("program", base)
    return PlannedOp(
        name=name,
        base=base,
        kind=kind,
        contexts=contexts,
        start=start,
        end=start + cycles,
        cycles=cycles,
        program=program,
        uses=uses,
        **more,
    )


def finished(
    kernel: Kernel, ops: list[PlannedOp], memory: list[MemoryEntry], programs: dict[str, tuple[Stage, ...]]
) -> Plan:
    makespan = max(o.end for o in ops) + SYNC
    return Plan(
        kernel=kernel,
        hardware=HARDWARE,
        status="optimal",
        stopped_by="proof",
        makespan_cycles=makespan,
        lower_bound_cycles=makespan,
        gap=0.0,
        ops=tuple(ops),
        memory=tuple(memory),
        programs=programs,
        solver=SOLVER,
    )


def edited(plan: Plan, **changes: Any) -> Plan:
    """A plan with one operation or memory entry changed: `op_NAME={...}` or `memory_NAME={...}`, or plan fields."""
    ops, memory, fields = list(plan.ops), list(plan.memory), {}
    for key, value in changes.items():
        where, _, name = key.partition("_")
        if where == "op":
            ops = [o.model_copy(update=value) if o.name == name else o for o in ops]
        elif where == "memory" and name:
            memory = [e.model_copy(update=value) if e.tensor == name else e for e in memory]
        else:
            fields[key] = value
    return plan.model_copy(update={"ops": tuple(ops), "memory": tuple(memory), **fields})


GEMM = Kernel.model_validate(
    {
        "kernel": "gemm",
        "axes": {"I": 512, "J": 512, "K": 64},
        "tensors": {
            "a": {"dtype": "bf16", "element": "I, K"},
            "b": {"dtype": "bf16", "element": "J, K"},
            "c": {"dtype": "bf16", "element": "I, J", "role": "output"},
        },
        "ops": [
            {"kind": "dma", "name": "load_a", "read": "a", "write": "a_dm", "slice": GRID, "element": "I % 32, K"},
            {"kind": "dma", "name": "load_b", "read": "b", "write": "b_dm", "slice": GRID, "element": "J % 32, K"},
            {
                "kind": "pass",
                "name": "store_b",
                "read": "b_dm",
                "steps": [
                    {"step": "fetch", "time": "J % 8, J / 8 % 4", "packet": "K"},
                    {"step": "collect"},
                    {"step": "to_trf", "write": "b_trf", "lane": "J % 8", "element": "J / 8 % 4, K"},
                ],
            },
            {
                "kind": "pass",
                "name": "matmul",
                "read": "a_dm",
                "steps": [
                    {"step": "fetch", "time": "I % 32, J / 8 % 4", "packet": "K"},
                    {"step": "collect"},
                    {
                        "step": "contract_outer",
                        "with": "b_trf",
                        "time": "I % 32, J / 8 % 4, K / 32",
                        "packet": "K % 32",
                    },
                    {"step": "contract_packet", "packet": "1"},
                    {"step": "contract_time", "time": "I % 32, J / 8 % 4"},
                    {"step": "contract_lane"},
                    {"step": "cast", "dtype": "bf16"},
                    {"step": "commit", "write": "c_dm", "element": "I % 32, J % 32"},
                ],
            },
            {"kind": "dma", "name": "store_c", "read": "c_dm", "write": "c"},
        ],
    }
)


FETCH = {"interleave": None, "base": None, "reads_per_packet": 4}
ROWS = "I % 32, J / 8 % 4"


def gemm_programs() -> dict[str, tuple[Stage, ...]]:
    return {
        "load_a": (stage("dma", "bf16", "1", "I % 32, K", LOAD_A, read="a", write="a_dm", direction="load"),),
        "load_b": (stage("dma", "bf16", "1", "J % 32, K", LOAD_B, read="b", write="b_dm", direction="load"),),
        "store_b": gemm_store_b(),
        "matmul": gemm_matmul(),
        "store_c": (stage("dma", "bf16", "1", "I % 32, J % 32", STORE_C, read="c_dm", write="c", direction="store"),),
    }


def gemm_store_b() -> tuple[Stage, ...]:
    return (
        stage(
            "fetch",
            "bf16",
            "J % 8, J / 8 % 4",
            "K",
            512,
            reads=["b_dm"],
            time_entries=[[8, 64], [4, 512]],
            packet_entries=[[64, 1]],
            entries=["8:64", "4:512", "64:1"],
            read_bytes=8,
            **{**FETCH, "reads_per_packet": 16},
        ),
        stage("collect", "bf16", "J % 8, J / 8 % 4, K / 16", "K % 16", 128, flits_per_packet=4),
        stage(
            "to_trf",
            "bf16",
            "J % 8, J / 8 % 4, K / 16",
            "K % 16",
            128,
            write="b_trf",
            lane="J % 8",
            element="J / 8 % 4, K",
            lanes=8,
            flits_per_lane=16,
            rows_per_bank=8,
            via="pipeline",
        ),
    )


def gemm_matmul() -> tuple[Stage, ...]:
    return (
        stage(
            "fetch",
            "bf16",
            ROWS,
            "K",
            512,
            reads=["a_dm"],
            time_entries=[[32, 64], [4, 0]],
            packet_entries=[[64, 1]],
            entries=["32:64", "4:0", "64:1"],
            read_bytes=32,
            **FETCH,
        ),
        stage("collect", "bf16", f"{ROWS}, K / 16", "K % 16", 512, flits_per_packet=4),
        stage(
            "contract_outer",
            "bf16",
            f"{ROWS}, K / 32",
            "K % 32",
            256,
            **{"with": "b_trf"},
            pack_size=2,
            trf_time_entries=[[32, 0], [4, 64], [2, 32]],
            trf_packet_entries=[[32, 1]],
            read_elements=32,
        ),
        stage("contract_packet", "f32", f"{ROWS}, K / 32", "1", 256, tree_depth=5),
        stage("contract_time", "f32", ROWS, "1", 256, inner_time=1),
        stage("contract_lane", "f32", ROWS, "J % 8", 128, mode="interleaved"),
        stage("cast", "bf16", ROWS, "J % 8 # 16", 128),
        stage(
            "commit",
            "bf16",
            ROWS,
            "J % 8",
            128,
            write="c_dm",
            time_entries=[[32, 32], [4, 8]],
            packet_entries=[[8, 1]],
            entries=["1024:1"],
            base=None,
            trim_bytes=16,
            write_bytes=16,
            writes_per_packet=1,
            cast=None,
            relu=False,
        ),
    )


LOAD_A, LOAD_B, STORE_C = (
    2953,
    2993,
    71031,
)  # held against ticks and arithmetic in test_dma; the vendor's: 3020, 3118, 72731
STORE_B, MATMUL = 775, 777


def gemm_plan() -> Plan:
    """load_b, then the Sub store beside load_a, matmul, store_c."""
    t1 = HARDWARE.kernel.first_start_cycles
    t2 = t1 + LOAD_B
    t3 = t2 + max(STORE_B, LOAD_A)
    t4, t5 = t3 + MATMUL, t3 + MATMUL + STORE_C
    ops = [
        op("load_a", "dma", ("dma",), t2, LOAD_A, {"a": "a", "a_dm": "a_dm"}),
        op("load_b", "dma", ("dma",), t1, LOAD_B, {"b": "b", "b_dm": "b_dm"}),
        op(
            "store_b",
            "pass",
            ("sub",),
            t2,
            STORE_B,
            {"b_dm": "b_dm", "b_trf": "b_trf"},
            decisions={"region": Decision(chosen="full")},
        ),
        op("matmul", "pass", ("main", "vector"), t3, MATMUL, {"a_dm": "a_dm", "b_trf": "b_trf", "c_dm": "c_dm"}),
        op("store_c", "dma", ("dma",), t4, STORE_C, {"c_dm": "c_dm", "c": "c"}),
    ]
    memory = [
        entry("a_dm", "dm", "bf16", GRID, "I % 32, K", 4096, (t2, t4), address=0),
        entry("b_dm", "dm", "bf16", GRID, "J % 32, K", 4096, (t1, t2 + STORE_B), address=4096),
        entry("c_dm", "dm", "bf16", GRID, "I % 32, J % 32", 2048, (t3, t5), address=8192),
        entry("b_trf", "trf", "bf16", GRID, "J / 8 % 4, K", 512, (t2, t4), region="full", row=0, rows=8, lane="J % 8"),
    ]
    return finished(GEMM, ops, memory, gemm_programs())
