"""What if: what a changed assumption changes, why, and that an unchanged one changes nothing."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

import planner
from planner import PlanOptions, Request, Row, Sweep
from planner.levers import DOUBLED, OVERHEADS
from planner.whatif_rows import peak
from planner.whatif_variants import described, variants
from tests.infeasible.kernels import chain, scaling

GEMM = "examples/gemm.yaml"
QUICK = PlanOptions(verify=False)


def without_name(row: Row) -> str:
    return row.model_copy(update={"id": 0, "changes": {}}).model_dump_json()


def kernel(folder: Path, text: str) -> Path:
    path = folder / "k.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_changed_register_file_flips_a_decision_and_says_which_and_why():
    answer = planner.whatif(GEMM, Request(settings={"trf.rows_per_bank": 12}))
    (row,) = answer.rows
    assert row.changed == {"store_b.region": ("first_half", "full")}
    (why,) = (s for s in row.sentences if s.startswith("store_b.region"))
    assert "first_half -> full" in why
    assert "first_half is no longer possible (region_out_of_bounds:" in why
    assert row.verified


def test_an_unchanged_lever_changes_nothing_byte_for_byte():
    answer = planner.whatif(GEMM, Request(settings={"trf.rows_per_bank": 128}), options=QUICK)
    (row,) = answer.rows
    assert without_name(row) == without_name(answer.base)
    same = Request(settings={"trf.rows_per_bank": 128})
    options = PlanOptions(alternatives=False, verify=False)
    assert planner.plan(GEMM, same, options).model_dump_json() == planner.plan(GEMM, options=options).model_dump_json()


def test_the_same_question_twice_gives_the_same_bytes(tmp_path):
    path = kernel(tmp_path, scaling("12", 64))
    sweeps = [Sweep("hardware.vrf.bytes_per_slice", ("8192", "1024")), Sweep("L", ("1024", "512"))]
    first, second = (planner.whatif(path, Request(), sweeps, QUICK) for _ in range(2))
    assert json.dumps(first.document()) == json.dumps(second.document())


def test_a_variant_is_what_planning_it_alone_gives(tmp_path):
    """Warm starts change how a plan is found, not how long it takes."""
    path = kernel(tmp_path, scaling("12", 64))
    answer = planner.whatif(path, Request(), [Sweep("hardware.dma.load_base_cycles", ("100", "460", "900"))], QUICK)
    for row in answer.rows:
        request = Request(settings={"dma.load_base_cycles": int(row.changes["hardware.dma.load_base_cycles"])})
        alone = planner.plan(path, request, PlanOptions(alternatives=False, verify=False))
        assert (row.makespan_cycles, row.status) == (alone.makespan_cycles, "optimal")


def test_choices_axes_and_numbers_can_be_varied_together():
    common = Request(axes={"K": 32}, fixed={"store_b.context": "sub"}, forbidden=(("store_b.region", "full"),))
    (variant,) = variants(common)
    assert variant.changes == {"K": "32", "store_b.context": "sub", "not store_b.region": "full"}
    answer = planner.whatif(GEMM, common, options=QUICK)
    assert answer.rows[0].decisions["store_b.context"] == "sub"
    assert answer.rows[0].peak_bytes["trf"] == answer.base.peak_bytes["trf"] // 2


def test_a_grid_runs_its_last_sweep_fastest():
    grid = variants(Request(), [Sweep("A", ("1", "2")), Sweep("hardware.trf.banks", ("3", "4")), Sweep("o.f", ("x",))])
    assert [tuple(v.changes.values()) for v in grid] == [
        ("1", "3", "x"), ("1", "4", "x"), ("2", "3", "x"), ("2", "4", "x"),
    ]  # fmt: skip
    assert [v.id for v in grid] == [1, 2, 3, 4]
    assert grid[1].request == Request(axes={"A": 1}, settings={"trf.banks": 4}, fixed={"o.f": "x"})
    assert described(grid[1].request) == {"hardware.trf.banks": "4", "A": "1", "o.f": "x"}


def test_what_cannot_be_planned_is_a_row_with_its_reason():
    sweeps = [
        Sweep("hardware.trf.rows_per_bank", ("4", "x")),
    ]
    with pytest.raises(planner.FaultError) as caught:
        planner.whatif(GEMM, Request(), sweeps, QUICK)
    assert [f.rule for f in caught.value.faults] == ["bad_variant"]
    sweeps = [Sweep("hardware.trf.rows_per_bank", ("4", "8")), Sweep("hardware.trf.nothing", ("1",))]
    rows = planner.whatif(GEMM, Request(), sweeps[:1], QUICK).rows
    assert rows[0].status == "infeasible"
    assert rows[0].reason.startswith("exceeds_capacity: store_b")
    assert rows[1].planned
    (unknown,) = planner.whatif(GEMM, Request(), sweeps[1:], QUICK).rows
    assert (unknown.status, unknown.reason.partition(":")[0]) == ("wrong", "unknown_hardware_path")


def test_out_of_time_is_a_row_with_its_reason(tmp_path):
    """Twelve tiles through tight registers are not decided in no time at all, or a plan has a gap and says so."""
    path = kernel(tmp_path, chain("12"))
    answer = planner.whatif(
        path, Request(settings={"trf.rows_per_bank": 6}), options=PlanOptions(time_limit_seconds=0.0, verify=False)
    )
    for row in (answer.base, *answer.rows):
        assert row.planned or "limit" in row.reason
        assert row.status != "infeasible"


def test_every_lever_is_moved_up_and_down(tmp_path):
    path = kernel(tmp_path, scaling("12", 64))
    answer = planner.sensitivity(path, options=QUICK)
    moved = [next(iter(r.changes.items())) for r in answer.rows]
    for lever in (*DOUBLED, *OVERHEADS):
        assert sum(name == f"hardware.{lever}" for name, _ in moved) == 2, lever
    assert {name for name, _ in moved if "." not in name} == {"L", "H"}
    by_lever = dict(zip(moved, answer.rows, strict=True))
    assert by_lever["hardware.vrf.bytes_per_slice", "16384"].changed == {}
    # Twice the DMA engines: loads and store are quicker, and the answer says what binds then.
    faster = by_lever["hardware.dma.slices_per_engine", "32"]
    assert faster.makespan_cycles < answer.base.makespan_cycles
    assert faster.binds.endswith("%")


def test_the_front_trades_cycles_for_memory(tmp_path):
    """Staging ahead takes register places; with fewer of them the plan is slower, never quicker."""
    path = kernel(tmp_path, scaling("123", 64))
    answer = planner.pareto(path, options=QUICK)
    points = [(r.makespan_cycles, *(r.peak_bytes[f] for f in ("dm", "vrf", "trf"))) for r in answer.rows]
    assert len(points) >= 2
    assert points == sorted(points)
    for a, b in permutations(points, 2):
        assert any(x < y for x, y in zip(a, b, strict=True))
    assert points[0][0] == answer.base.makespan_cycles
    for row in answer.rows[1:]:
        settings = {p.removeprefix("hardware."): int(v) for p, v in row.changes.items()}
        plan = planner.plan(path, Request(settings=settings), PlanOptions(alternatives=False, verify=False))
        assert plan.makespan_cycles == row.makespan_cycles


def test_the_peak_counts_what_is_alive_at_one_time():
    plan = planner.plan(GEMM, options=PlanOptions(alternatives=False, verify=False))
    most = 0
    for at in range(plan.makespan_cycles):
        if at % 97 == 0 or any(at == m.start for m in plan.memory):
            most = max(most, sum(m.bytes for m in plan.memory if m.file == "dm" and m.start <= at < m.end))
    assert peak(plan.memory, ("dm",)) == most


def test_sweeps_are_read_with_commas_in_brackets():
    sweep = planner.parse_sweep("move.switch=Transpose(slice1=2, slice0=4),Forwarding")
    assert sweep == Sweep("move.switch", ("Transpose(slice1=2, slice0=4)", "Forwarding"))
    for text in ("K", "K=", "=1,2"):
        with pytest.raises(ValueError, match="wanted PATH=V1,V2"):
            planner.parse_sweep(text)


RULE_CASES = {
    "bad_variant.feasible": "64",
    "bad_variant.broken": "many",
    "bad_variant.beside": "63",
}


@pytest.mark.parametrize("name", RULE_CASES)
def test_rule(name):
    found = set()
    try:
        variants(Request(), [Sweep("K", (RULE_CASES[name],))])
    except planner.FaultError as error:
        found = {f.rule for f in error.faults}
    assert found == ({"bad_variant"} if name.endswith("broken") else set())


def test_an_unchanged_lever_changes_nothing_behind_a_neighbour_that_did():
    answer = planner.whatif(GEMM, Request(), [Sweep("hardware.trf.rows_per_bank", ("12", "128", "64"))], QUICK)
    flipped, *same = answer.rows
    assert flipped.changed
    for row in same:
        assert without_name(row) == without_name(answer.base)
