"""The passes of the example kernels: modes, cycles, what is illegal and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.kernel import Kernel, LoopOp, PassOp
from models.layout import TensorLayout
from models.parse import parse
from models.presets.load import load_hardware
from planner import passes
from planner.engines.base import Ground
from planner.passes import PassResult
from planner.readers.yaml_kernel import read_kernel
from tests.planner.pass_cases import COLLECT, TO_TRF, commit, evaluated, fetch, layout, tensors

EXAMPLES = Path(__file__).parents[2] / "examples"


def results(name: str, fixed: dict[str, str] | None = None) -> dict[str, PassResult]:
    """Every pass of an example kernel, in order, each seeing what the earlier ones wrote."""
    kernel = read_kernel(EXAMPLES / f"{name}.yaml").kernel
    held: dict[str, TensorLayout] = {}
    out: dict[str, PassResult] = {}
    for op in _flat(kernel.ops):
        if isinstance(op, PassOp):
            out[op.name] = passes.evaluate(op, held, Ground(load_hardware(), kernel.axes), fixed or {}, ())
            written = out[op.name].writes
            if written is not None:
                held[written.name] = written
        elif op.kind == "dma" and op.element is not None:
            held[str(op.write)] = _loaded(kernel, op)
    return out


def _flat(ops):
    for op in ops:
        yield from _flat(op.ops) if isinstance(op, LoopOp) else [op]


def _loaded(kernel: Kernel, op) -> TensorLayout:
    def at(text: str):
        return parse(text, kernel.axes)

    dtype = kernel.tensors[op.read].dtype
    return TensorLayout(op.write, "dm", dtype, at(op.element), cluster=at("1 # 2"), slice=at(op.slice))


def cycles(result: PassResult, context: str) -> set[int]:
    return {m.cycles for m in result.modes if m.decisions["context"] == context}


def test_gemm():
    found = results("gemm")
    assert cycles(found["store_b"], "sub") == {775}
    assert found["store_b"].trf_rows == 8
    assert found["store_b"].regions == ("full", "first_half", "second_half")
    matmul = found["matmul"]
    here = {"context": "main", "lane_mode": "interleaved"}
    assert [(m.decisions, m.cycles, m.holds) for m in (*matmul.modes, *matmul.dominated)] == [
        (here | {"cast": "commit"}, 777, {"main"}),
        (here | {"cast": "engine"}, 777, {"main", "vector"}),
    ]
    illegal = {(i.decision, i.value): i for i in matmul.illegal}
    assert illegal["lane_mode", "sequential"].rule == "commit_stride"
    assert "2 bytes" in illegal["lane_mode", "sequential"].message
    assert illegal["context", "sub"].rule == "sub_context_step"
    assert matmul.writes is not None
    assert matmul.writes.dtype == "bf16"


def test_gemm_stages_are_those_of_the_kernel():
    matmul = results("gemm")["matmul"]
    as_stated = next(m for m in (*matmul.modes, *matmul.dominated) if m.decisions["cast"] == "engine")
    stages = matmul.programs[as_stated.program]
    assert [(s.step, s.dtype, s.steps_cycles) for s in stages] == [
        ("fetch", "bf16", 512),
        ("collect", "bf16", 512),
        ("contract_outer", "bf16", 256),
        ("contract_packet", "f32", 256),
        ("contract_time", "f32", 256),
        ("contract_lane", "f32", 128),
        ("cast", "bf16", 128),
        ("commit", "bf16", 128),
    ]
    assert (stages[-1].time, stages[-1].packet) == ("I % 32, J / 8 % 4", "J % 8")


def test_a_fixed_illegal_value_gives_its_faults():
    found = results("gemm", {"lane_mode": "sequential"})["matmul"]
    assert not found.modes
    assert {f.rule for _, f in found.findings} >= {"commit_stride"}
    assert {index for index, _ in found.findings} == {7}


def test_tiled_scale():
    found = results("tiled_scale")
    assert cycles(found["stage"], "sub") == {327}
    assert {m.holds for m in found["stage"].modes} == {frozenset({"sub"}), frozenset({"main", "sub"})}
    assert cycles(found["scale"], "main") == {345}
    scale = found["scale"]
    assert scale.programs[scale.modes[0].program][0].settings["base"] == {"start": "4 * i", "stride": 64}


def test_relayout_by_one_transpose():
    found = results("relayout")["move"]
    best = min(found.modes, key=lambda m: m.cycles)
    assert best.decisions["switch"] == "Transpose(slice1=32, slice0=2)"
    assert best.cycles == 264 + 64 * (64 * 2 + 2)
    assert {i.value for i in found.illegal if i.decision == "switch"} >= {"Forwarding", "Broadcast1", "InterTranspose"}


def test_a_switch_is_fixed_by_its_kind():
    found = results("relayout", {"switch": "CustomBroadcast"})["move"]
    assert {m.decisions["switch"].partition("(")[0] for m in found.modes} == {"CustomBroadcast"}
    assert all(m.bitmap for m in found.modes)


def test_all_faults_of_a_pass_are_reported():
    found = evaluated([fetch(time="M % 2"), COLLECT | {"time": "B"}, commit(element="Q, B")])
    by_step = {index: {f.rule for i, f in found.findings if i == index} for index, _ in found.findings}
    assert by_step[0] == {"live_cell_unread"}
    assert by_step[1] == {"collect_time_mismatch"}
    assert by_step[2] >= {"live_cell_unwritten"}


def test_the_short_form_is_taken_on_a_tie():
    found = evaluated([fetch(), COLLECT, TO_TRF])
    assert {m.decisions["via"] for m in found.modes} == {"short"}
    assert {m.decisions["via"] for m in found.dominated} == {"pipeline"}


def test_a_starved_bank_holds_dma():
    # one row of 128 bytes has all 16 banks: steps of 128 bytes stay in the same four; 8-byte reads go round them
    steps = [fetch(time="A", packet="B"), COLLECT, commit(element="A, B")]
    wide = tensors(x=layout("x", "dm", "bf16", "A, B # 64", slice="1 # 256"))
    close = tensors(x=layout("x", "dm", "bf16", "A, B", slice="1 # 256"))
    starved = {m.decisions["context"]: "dma" in m.holds for m in evaluated(steps, wide).modes}
    assert starved == {"main": True, "sub": False}
    assert not any("dma" in m.holds for m in evaluated(steps, close).modes)


@pytest.mark.parametrize("context", ["main", "sub"])
def test_a_vrf_store_holds_what_the_context_needs(context: str):
    steps = [fetch(time="M, B / 8", packet="B % 8"), {"step": "fetch_cast", "dtype": "f32"}, COLLECT]
    found = evaluated([*steps, {"step": "to_vrf", "write": "out", "element": "M, B"}], context=context)
    assert {m.holds for m in found.modes} == {frozenset({"main", "sub"} if context == "main" else {"sub"})}
