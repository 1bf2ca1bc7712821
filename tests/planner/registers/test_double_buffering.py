"""One full-size buffer against two halves: chosen by price, forced by hand, and between passes as in loops."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.planner.registers.kernels import op, planned


def test_halves_beat_one_full_size_buffer():
    free = planned("tiled_matmul", alternatives=True)
    full = planned("tiled_matmul", fixed={"store_b.region": "full"})
    assert free.verification is not None
    assert full.verification is not None
    assert free.verification.ok
    assert full.verification.ok
    assert free.makespan_cycles is not None
    assert full.makespan_cycles is not None
    assert free.makespan_cycles < full.makespan_cycles
    prices = {a.value: a for a in op(free, "store_b[0]").decisions["region"].alternatives}
    assert (prices["full"].makespan_cycles, prices["full"].status) == (full.makespan_cycles, full.status)


def test_the_report_shows_the_overlap_and_the_gain():
    plan = planned("tiled_matmul", alternatives=True)
    notes = {n.topic: n for n in plan.notes}
    assert notes["staging"].text.startswith("store_b fills the next b_trf while matmul reads the current one")
    overlap = sum(
        max(0, min(s.end, m.end) - max(s.start, m.start))
        for s in plan.ops
        for m in plan.ops
        if s.base == "store_b" and m.base == "matmul" and s.iteration != m.iteration
    )
    assert notes["staging"].cycles == overlap > 0
    gained = (planned("tiled_matmul", fixed={"store_b.region": "full"}).makespan_cycles or 0) - (
        plan.makespan_cycles or 0
    )
    assert notes["halves"].cycles == gained
    assert f"{gained:,} cycles over one full-size buffer" in notes["halves"].text


def test_every_tile_lies_in_its_half_and_meets_no_other():
    plan = planned("tiled_matmul")
    rows = {"first_half": range(64), "second_half": range(64, 128), "full": range(128)}
    held = [e for e in plan.memory if e.file == "trf"]
    assert len(held) == 5
    for one in held:
        assert one.region is not None
        assert one.row is not None
        assert one.rows == 32
        assert {one.row, one.row + 31} <= set(rows[one.region])
        for other in held:
            if one is not other and one.start < other.end and other.start < one.end:
                assert other.row is not None
                assert abs(one.row - other.row) >= 32


@pytest.mark.parametrize("region", ["first_half", "second_half"])
def test_one_half_alone_is_honoured(region):
    plan = planned("tiled_matmul", fixed={"store_b.region": region})
    assert {e.region for e in plan.memory if e.file == "trf"} == {region}
    assert plan.verification is not None
    assert plan.verification.ok


def half_sized(text: str) -> str:
    """Tiles of 32 KB, half of the file each: 256 rows of B at K = 64."""
    return (
        text.replace("J: 640", "J: 1024")
        .replace("count: 5", "count: 4")
        .replace("J / 128", "J / 256")
        .replace("J / 8 % 16", "J / 8 % 32")
        .replace("I: 256", "I: 128")
        .replace("I / 64 #", "I / 64 #")
    )


def test_tiles_of_half_the_file_flip_between_the_halves():
    plan = planned("tiled_matmul", half_sized, verify=False)
    regions = [e.region for e in sorted((e for e in plan.memory if e.file == "trf"), key=lambda e: e.start)]
    assert all(a != b for a, b in pairwise(regions)), regions
    assert set(regions) == {"first_half", "second_half"}


def two_passes(text: str) -> str:
    """Two products after each other, with weights of their own; no loop."""
    head, _, _ = text.partition("ops:\n")
    head = head.replace("J: 640", "J: 128, H: 128").replace("  c: {", '  d: {dtype: bf16, element: "H, K"}\n  c: {')
    head = head.rstrip() + '\n  e: {dtype: bf16, element: "I, H", role: output}\n'
    ops = ['  - {dma: load_a, read: a, write: a_dm, slice: "{Rows}", element: "I % 64, K"}']
    for weights, axis in (("b", "J"), ("d", "H")):
        ops.append(
            f"  - {{dma: load_{weights}, read: {weights}, write: {weights}_dm, "
            f'slice: "{{Rows}}", element: "{axis}, K"}}'
        )
    for weights, axis, out in (("b", "J", "c"), ("d", "H", "e")):
        ops.append(f"""
  - pass: store_{weights}
    read: {weights}_dm
    context: sub
    steps:
      - fetch: {{time: "{axis} % 8, {axis} / 8", packet: "K"}}
      - collect
      - to_trf: {{write: {weights}_trf, lane: "{axis} % 8", element: "{axis} / 8, K"}}
  - pass: matmul_{weights}
    read: a_dm
    steps:
      - fetch: {{time: "I % 64", packet: "K"}}
      - collect
      - contract_outer: {{with: {weights}_trf, time: "I % 64, K / 32, {axis} / 8", packet: "K % 32"}}
      - contract_packet: {{packet: "1"}}
      - contract_time: {{time: "I % 64, {axis} / 8"}}
      - contract_lane: {{mode: auto}}
      - cast: bf16
      - commit: {{write: {out}_dm, element: "I % 64, {axis}"}}
  - {{dma: store_{out}, read: {out}_dm, write: {out}}}""")
    return head + "ops:\n" + "\n".join(ops) + "\n"


def test_between_two_passes_the_second_store_runs_ahead():
    plan = planned("tiled_matmul", two_passes)
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    assert op(plan, "store_d").start < op(plan, "matmul_b").end
    full = planned("tiled_matmul", two_passes, fixed={"store_d.region": "full", "store_b.region": "full"})
    assert op(full, "store_d").start >= op(full, "matmul_b").end
    assert (full.makespan_cycles or 0) >= (plan.makespan_cycles or 0)
