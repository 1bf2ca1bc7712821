"""Data memory: addresses and lifetimes in the plan, capacity over time, and schedules parted where nothing fits."""

from __future__ import annotations

import pytest

from models.faults import FaultError
from models.plan import Plan
from tests.planner.registers.kernels import op, planned

HEAD = """
kernel: chain
axes: {{S: 64, N: {n}}}
tensors:
{tensors}
ops:
"""


def chains(count: int, elements: int) -> str:
    """`count` independent tensors, each loaded, copied by a pass and stored: 2 x `elements` x 4 bytes while copied."""
    tensors = [
        f'  x{i}: {{dtype: f32, element: "S, N"}}\n  y{i}: {{dtype: f32, element: "S, N", role: output}}'
        for i in range(count)
    ]
    ops = [
        f"""  - {{dma: load{i}, read: x{i}, write: x{i}_dm, slice: "S", element: "N"}}
  - pass: copy{i}
    read: x{i}_dm
    steps:
      - fetch: {{time: "N / 8", packet: "N % 8"}}
      - collect
      - commit: {{write: y{i}_dm, element: "N"}}
  - {{dma: store{i}, read: y{i}_dm, write: y{i}}}"""
        for i in range(count)
    ]
    return HEAD.format(n=elements, tensors="\n".join(tensors)) + "\n".join(ops) + "\n"


def placed_apart(plan: Plan) -> None:
    held = [e for e in plan.memory if e.file == "dm"]
    limit = plan.hardware.dm.bytes_per_slice
    for one in held:
        assert one.address is not None
        assert one.address % 8 == 0
        assert one.address + one.bytes <= limit
        for other in held:
            if one is not other and one.start < other.end and other.start < one.end:
                assert other.address is not None
                assert one.address + one.bytes <= other.address or other.address + other.bytes <= one.address


def small(kibibytes: int) -> dict[str, int]:
    """A data memory small enough for the tensors of a quick kernel to fill it."""
    return {"dm.bytes_per_slice": 1024 * kibibytes}


def test_lifetimes_go_from_the_first_writer_to_the_last_reader():
    plan = planned("gemm", lambda _: chains(3, 1024))
    held = {e.tensor: e for e in plan.memory}
    for i in range(3):
        assert (held[f"x{i}_dm"].start, held[f"x{i}_dm"].end) == (op(plan, f"load{i}").start, op(plan, f"copy{i}").end)
        assert (held[f"y{i}_dm"].start, held[f"y{i}_dm"].end) == (op(plan, f"copy{i}").start, op(plan, f"store{i}").end)
    placed_apart(plan)


@pytest.mark.parametrize("room", [16, 12, 8])
def test_a_tight_memory_parts_what_does_not_fit(room):
    """Four tensors of 4 KB; two of them must be there at once."""
    plan = planned("gemm", lambda _: chains(2, 1024), settings=small(room))
    placed_apart(plan)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    free = planned("gemm", lambda _: chains(2, 1024))
    assert (plan.makespan_cycles or 0) >= (free.makespan_cycles or 0)
    alive = max(sum(e.bytes for e in plan.memory if e.start <= at.start < e.end) for at in plan.memory)
    assert alive <= 1024 * room


def test_less_than_one_copy_needs_is_refused():
    with pytest.raises(FaultError) as error:
        planned("gemm", lambda _: chains(1, 1024), settings=small(7))
    assert {f.rule for f in error.value.faults} & {"dm_capacity", "exceeds_capacity"}


def mixed() -> str:
    """Tensors of different sizes whose lives cross, so that capacity alone does not say whether they can be placed."""
    text = chains(4, 1024)
    return (
        text.replace("axes: {S: 64, N: 1024}", "axes: {S: 64, N: 1024, M: 1536}")
        .replace('x1: {dtype: f32, element: "S, N"}', 'x1: {dtype: f32, element: "S, M"}')
        .replace('y1: {dtype: f32, element: "S, N"', 'y1: {dtype: f32, element: "S, M"')
        .replace('write: x1_dm, slice: "S", element: "N"', 'write: x1_dm, slice: "S", element: "M"')
        .replace(
            'read: x1_dm\n    steps:\n      - fetch: {time: "N / 8", packet: "N % 8"}',
            'read: x1_dm\n    steps:\n      - fetch: {time: "M / 8", packet: "M % 8"}',
        )
        .replace('write: y1_dm, element: "N"', 'write: y1_dm, element: "M"')
    )


@pytest.mark.parametrize("room", [20, 18, 16, 14, 12])
def test_crossing_lives_of_different_sizes_are_placed(room):
    plan = planned("gemm", lambda _: mixed(), settings=small(room))
    placed_apart(plan)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
