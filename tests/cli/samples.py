"""A small plan made by hand, and changed in single places."""

from __future__ import annotations

from typing import Any

from models.kernel import DmaOp, Kernel, Tensor
from models.plan import (
    Alternative,
    Cycles,
    Decision,
    MemoryEntry,
    Note,
    Plan,
    PlannedOp,
    SolverInfo,
    Values,
    Verification,
)
from models.presets.load import load_hardware

RIGHT = Verification(
    values={"y": Values(ok=True, max_abs_error=0.0, elements=64)},
    cycles=Cycles(planned=4000, simulated=4000, ok=True),
)


def op(name: str, start: int, end: int, *contexts: str, **decisions: Decision) -> PlannedOp:
    kind = "dma" if contexts == ("dma",) else "pass"
    times = {"start": start, "end": end, "cycles": end - start}
    return PlannedOp(name=name, base=name.partition("[")[0], kind=kind, contexts=contexts, decisions=decisions, **times)


def a_plan(**changes: Any) -> Plan:
    tensors = {"x": Tensor(dtype="i8", element="A"), "y": Tensor(dtype="i8", element="A", role="output")}
    kernel = Kernel(
        kernel="sample", axes={"A": 64}, tensors=tensors, ops=(DmaOp(name="load", read="x", write="x_dm", element="A"),)
    )
    alternatives = (
        Alternative(value="main", makespan_cycles=4500, status="optimal"),
        Alternative(value="vector", makespan_cycles=None, status="illegal", rule="no_such_way", message="it is [not]"),
    )
    plan = Plan(
        kernel=kernel,
        hardware=load_hardware(),
        status="optimal",
        stopped_by="proof",
        makespan_cycles=4000,
        lower_bound_cycles=4000,
        gap=0.0,
        ops=(
            op("load", 1000, 2000, "dma"),
            op("move[0]", 2000, 3000, "sub", context=Decision(chosen="sub", alternatives=alternatives)),
            op("move[1]", 3000, 3400, "sub", context=Decision(chosen="sub", alternatives=alternatives)),
        ),
        memory=(
            MemoryEntry(
                tensor="x_dm",
                file="dm",
                address=0,
                bytes=64,
                start=1000,
                end=3400,
                dtype="i8",
                chip="1",
                cluster="1 # 2",
                slice="1 # 256",
                element="A",
            ),
        ),
        solver=SolverInfo(name="fake", version="1", seed=0, workers=1, deterministic_time=0.1, branches=1, conflicts=0),
        verification=RIGHT,
        notes=(Note(topic="overlap", text="load overlaps nothing"), Note(topic="choice", text="not shown twice")),
    )
    return plan.model_copy(update=changes)
