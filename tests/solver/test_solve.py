"""The solver against optima by hand, by enumeration, and against the validator."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from solver import Options, solve, validate
from solver.bound import bound, preemptive
from solver.index import Index
from solver.list_schedule import list_schedules
from solver.shift import left_shift
from tests.solver.brute_force import optimum
from tests.solver.problems import (
    GEMM_OPTIMUM,
    buffer,
    data,
    dma,
    gemm,
    mode,
    op,
    problem,
    random_problem,
    tiled_matmul,
    tiled_scale,
    tiled_scale_optimum,
)


def check_against_enumeration(seed: int, size: int) -> None:
    p = random_problem(seed, size)
    best = optimum(p)
    found = solve(p)
    assert found.makespan == best
    assert found.stopped_by == "proof"
    if best is None:
        assert found.status == "infeasible"
        assert found.infeasible
    else:
        assert found.status == "optimal"
        assert found.lower_bound == best
        assert validate(p, found) == ()


@pytest.mark.parametrize("seed", range(120))
def test_optimum_equals_enumeration(seed):
    check_against_enumeration(seed, 5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_optimum_equals_enumeration_long(seed):
    check_against_enumeration(seed, 5 + seed % 2)


def test_gemm():
    found = solve(gemm())
    assert (found.status, found.makespan, found.lower_bound) == ("optimal", GEMM_OPTIMUM, GEMM_OPTIMUM)
    assert found.starts["load_b"] < found.starts["load_a"], "the store of b runs under the second load"
    assert validate(gemm(), found) == ()


@pytest.mark.parametrize("count", [1, 2, 15])
def test_tiled_scale(count):
    p = tiled_scale(count)
    found = solve(p)
    assert (found.status, found.makespan) == ("optimal", tiled_scale_optimum(count))
    assert validate(p, found) == ()


def test_one_vrf_buffer_cannot_stage_ahead():
    p = tiled_scale(3, vrf={"bytes_per_slice": 1024})
    found = solve(p)
    assert validate(p, found) == ()
    # The first tile is staged under the load of x, the others between the scales.
    assert (found.status, found.makespan) == ("optimal", tiled_scale_optimum(3) + 2 * 300)


@pytest.mark.parametrize("out", [0, 100])
def test_a_loop_of_64_tiles_is_proved(out):
    p = tiled_matmul(64, load=500, store=300, matmul=450, out=out)
    found = solve(p, Options(time_limit_seconds=10))
    assert found.status == "optimal"
    assert validate(p, found) == ()


def test_halves_beat_full():
    halves = solve(tiled_matmul(6, load=400, store=300, matmul=450))
    full = solve(tiled_matmul(6, load=400, store=300, matmul=450, regions=("full",)))
    # Full lets no store run ahead: the first is under the load of x, then multiply and store take turns.
    assert full.makespan == 1003 + 400 + 2000 + 6 * 450 + 5 * 300 + 600
    # With halves the second tile is loaded and stored under the first product; from then on Main never waits.
    assert halves.makespan == 1003 + 400 + 2000 + (400 + 300) + 5 * 450 + 600


def test_bitmap_is_loaded_once_for_passes_in_sequence():
    ops = [op(f"p{k}", mode(10, "main", bitmap="x")) for k in range(3)] + [op("q", mode(10, "main", bitmap="y"))]
    p = problem(ops, switch={"bitmap_load_cycles": 100})
    found = solve(p)
    assert validate(p, found) == ()
    assert found.makespan == 1003 + 2 * 100 + 4 * 10 + 600
    assert len(found.loads) == 2


def test_optional_operations_come_with_their_mode():
    ways = [mode(100, "dma", id="plain"), mode(20, "dma", id="relaid")]
    p = problem(
        [
            op("pass", mode(30, "main"), requires=("store", frozenset({"relaid"}))),
            op("store", *ways),
        ],
        data("pass>store"),
    )
    found = solve(p)
    assert found.modes == {"pass": "context=main", "store": "relaid"}
    assert found.makespan == 1003 + 30 + 20 + 600
    long_pass = replace(p, operations=(replace(p.operations[0], modes=(mode(90, "main"),)), p.operations[1]))
    plain = solve(long_pass)
    assert (plain.modes, plain.makespan) == ({"store": "plain"}, 1003 + 100 + 600)


def test_fixed_and_forbidden():
    p = gemm()
    fixed = solve(p, fixed={("store_b", "context"): "sub", ("store_b", "region"): "full"})
    assert fixed.modes["store_b"] == "context=sub"
    assert fixed.regions["b_trf"] == ("full", 0)
    other = solve(p, forbidden={("store_b", "context", "main")})
    assert other.modes["store_b"] == "context=sub"
    with pytest.raises(ValueError, match=r"store_b\.colour"):
        solve(p, fixed={("store_b", "colour"): "red"})


def test_same_inputs_same_answer():
    p = tiled_scale(6)
    assert solve(p, Options(seed=3)) == solve(p, Options(seed=3))


def test_stop_and_limit_are_told_apart_from_proof():
    p = tiled_matmul(12, load=450, store=430, matmul=440, out=430)
    stop = threading.Event()
    stop.set()
    told = []
    found = solve(p, Options(time_limit_seconds=60), stop=stop, on_solution=told.append)
    assert found.makespan is not None
    assert told, "the first plan is told at once"
    assert found.lower_bound <= found.makespan
    if found.status != "optimal":
        assert (found.status, found.stopped_by) == ("feasible", "interrupt")
    assert validate(p, found) == ()


def test_addresses_are_fed_back_as_cuts():
    # Capacity holds at any time, yet given addresses in the middle leave no hole for the large one.
    ops = [op("a", mode(10, "main")), op("b", mode(10, "sub")), op("c", mode(10, "dma")), op("end", mode(1, "main"))]
    buffers = [
        buffer("mid", "vrf", 32, "a", "end", fixed_address=64),
        buffer("big", "vrf", 96, "b"),
        buffer("tail", "vrf", 32, "c"),
    ]
    p = problem(ops, data("a>end"), buffers, vrf={"bytes_per_slice": 128})
    found = solve(p)
    assert validate(p, found) == ()
    assert found.status == "optimal"
    # The hole of 96 bytes opens once `mid` is given back.
    assert found.makespan == 1003 + 10 + 1 + 10 + 600


def test_relabelled_tensor_lives_where_its_origin_lives():
    ops = [op("w", mode(10, "main")), op("r", mode(10, "main")), op("x", mode(10, "main"))]
    buffers = [
        buffer("t", "vrf", 96, "w"),
        replace(buffer("u", "vrf", 96, "", "r"), shares="t"),
        buffer("v", "vrf", 96, "x"),
    ]
    p = problem(ops, data("w>r"), buffers, vrf={"bytes_per_slice": 128})
    found = solve(p)
    assert validate(p, found) == ()
    assert set(found.addresses) == {"t", "v"}
    assert not found.starts["w"] < found.starts["x"] < found.starts["r"]


def test_left_shift_keeps_makespan_and_closes_gaps():
    p = gemm()
    found = solve(p)
    late = replace(found, starts={n: s + 50 for n, s in found.starts.items()}, makespan=found.makespan + 50)
    assert left_shift(Index(p), late).starts == found.starts


@pytest.mark.parametrize("seed", range(60))
def test_bound_never_exceeds_the_optimum_and_first_plans_are_legal(seed):
    p = random_problem(seed)
    best = optimum(p)
    index = Index(p)
    if best is not None:
        assert bound(index).makespan <= best
    for plan in list_schedules(index, bound(index)):
        broken = [v for v in validate(p, plan) if not v.rule.startswith("address")]
        assert broken == []


def test_one_machine_bound():
    # Heads 0, 2, work 4, 3, tails 1, 10: the second interrupts the first and ends at 5, 15 with its tail.
    assert preemptive([(0, 4, 1), (2, 3, 10)]) == 15
    assert preemptive([]) == 0


def test_dma_chain_without_choices():
    p = problem([dma("a", 5), dma("b", 7)])
    assert solve(p).makespan == 1003 + 12 + 600
