"""Three tests per rule: feasible, made infeasible by one pin, feasible right beside it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from models.faults import rules
from models.graph import Edge, Problem
from tests.solver.pinned import feasible
from tests.solver.problems import buffer, data, dma, mode, op, problem

FIRST = 1003


@dataclass(frozen=True)
class Case:
    rule: str
    problem: Problem
    broken: dict = field(default_factory=dict)
    beside: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return self.rule


def pair(*edges, **kwargs) -> Problem:
    return problem([op("a", mode(10, "main")), op("b", mode(10, "sub"))], edges, **kwargs)


def starts(**at: int) -> dict:
    return {"starts": {name: FIRST + t for name, t in at.items()}}


def written(file: str, size: int, **groups) -> Problem:
    """Two tensors, each written and read, on contexts of their own."""
    ops = [op("w1", mode(10, "main")), op("r1", mode(10, "main")), op("w2", mode(10, "sub")), op("r2", mode(10, "sub"))]
    buffers = [buffer("t1", file, size, "w1", "r1"), buffer("t2", file, size, "w2", "r2")]
    return problem(ops, data("w1>r1", "w2>r2"), buffers, **groups)


def placed(first: int, second: int) -> Problem:
    p = written("dm", 64)
    at = (replace(p.buffers[0], fixed_address=first), replace(p.buffers[1], fixed_address=second))
    return replace(p, buffers=at)


BITMAPS = problem(
    [op("p", mode(10, "main", bitmap="x")), op("q", mode(10, "main", bitmap="y")), dma("d", 10)],
    switch={"bitmap_load_cycles": 20},
)
APART, TOGETHER = starts(w1=0, r1=10, w2=20, r2=30), starts(w1=0, r1=10, w2=19, r2=30)
MIXED = replace(written("trf", 30), buffers=(buffer("t1", "trf", 40, "w1", "r1"), buffer("t2", "trf", 100, "w2", "r2")))

CASES = [
    Case(
        "context_overlap",
        problem([op("a", mode(10, "main")), op("b", mode(10, "main"))]),
        starts(a=0, b=9),
        starts(a=0, b=10),
    ),
    Case(
        "vector_engine_overlap",
        problem([op("a", mode(10, "main", "vector")), op("b", mode(10, "sub", "vector"))]),
        starts(a=0, b=9),
        starts(a=0, b=10),
    ),
    Case(
        "vrf_store_holds_main_and_sub",
        problem([op("a", mode(10, "main", "sub")), op("b", mode(10, "sub"))]),
        starts(a=0, b=9),
        starts(a=0, b=10),
    ),
    Case(
        "bitmap_load_missing",
        BITMAPS,
        {**starts(p=20, q=49), "loads": {"p": FIRST}},
        {**starts(p=20, q=50), "loads": {"p": FIRST}},
    ),
    Case(
        "bitmap_load_contexts",
        BITMAPS,
        {**starts(p=20, d=19), "loads": {"p": FIRST}},
        {**starts(p=20, d=20), "loads": {"p": FIRST}},
    ),
    Case("data_hazard_raw", pair(Edge("a", "b", "raw")), starts(a=0, b=9), starts(a=0, b=10)),
    Case("data_hazard_war", pair(Edge("a", "b", "war")), starts(a=0, b=9), starts(a=0, b=10)),
    Case("data_hazard_waw", pair(Edge("a", "b", "waw")), starts(a=0, b=9), starts(a=0, b=10)),
    Case(
        "fence_missing",
        pair(Edge("a", "b", "fence", lag_cycles=1600)),
        starts(a=0, b=1609),
        starts(a=0, b=1610),
    ),
    Case("starts_too_early", pair(), starts(a=-1), starts(a=0)),
    Case("region_overlap", written("trf", 65), TOGETHER, APART),
    Case(
        "region_out_of_bounds", MIXED, {"regions": {"t1": ("first_half", 25)}}, {"regions": {"t1": ("first_half", 20)}}
    ),
    Case("vrf_capacity", written("vrf", 4128), TOGETHER, APART),
    Case("dm_capacity", written("dm", 262_152), TOGETHER, APART),
    Case("address_overlap", placed(0, 56), TOGETHER, APART),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_feasible(case):
    assert feasible(case.problem)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_infeasible_by_one_pin(case):
    assert not feasible(case.problem, **case.broken)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_feasible_right_beside(case):
    assert feasible(case.problem, **case.beside)


def test_every_rule_of_the_solver_has_a_case():
    wanted = {r.id for r in rules().values() if r.kind == "schedule" and r.solver}
    assert wanted == {c.rule for c in CASES}


def test_two_halves_live_together():
    p = written("trf", 64)
    unlike = replace(p, buffers=(p.buffers[0], replace(p.buffers[1], rows=60)))
    assert feasible(unlike, **TOGETHER)


def test_full_keeps_the_whole_bank():
    p = written("trf", 10)
    one = replace(p, buffers=(replace(p.buffers[0], regions=("full",)), p.buffers[1]))
    assert not feasible(one, **TOGETHER)
    assert feasible(one, **APART)


def test_tensors_share_a_half_when_their_rows_do_not_meet():
    p = written("trf", 32)
    half = ("first_half",)
    shared = replace(p, buffers=(replace(p.buffers[0], regions=half), replace(p.buffers[1], regions=half)))
    assert feasible(shared, **TOGETHER)
    crowded = replace(shared, buffers=(shared.buffers[0], replace(shared.buffers[1], rows=33)))
    assert not feasible(crowded, **TOGETHER)


def test_addresses_side_by_side_live_together():
    assert feasible(placed(0, 64), **TOGETHER)


def test_passes_in_sequence_share_a_load():
    p = problem([op(f"p{k}", mode(10, "main", bitmap="x")) for k in range(3)], switch={"bitmap_load_cycles": 20})
    assert feasible(p, starts={f"p{k}": FIRST + 20 + 10 * k for k in range(3)}, upper=FIRST + 50 + 600)
    assert not feasible(p, starts={"p0": FIRST + 19})
