"""Why there is no plan: minimal, confirmed sets with places and numbers."""

from __future__ import annotations

from dataclasses import replace

from models.graph import Edge
from solver import Options, core, explain, solve
from tests.solver.problems import buffer, data, gemm, mode, op, problem, random_problem


def three_at_once(size: int):
    """One operation reads three tensors at once."""
    ops = [op(f"w{k}", mode(5, "sub")) for k in range(3)] + [op("use", mode(5, "main"))]
    buffers = [buffer(f"t{k}", "vrf", size, f"w{k}", "use") for k in range(3)]
    return problem(ops, data("w0>use", "w1>use", "w2>use"), buffers, vrf={"bytes_per_slice": 256})


def test_capacity_together_with_lifetimes():
    found = explain(three_at_once(96), Options())
    assert found is not None
    assert found.minimal
    assert found.confirmed
    assert {g.rule for g in found.guards} == {"vrf_capacity"}
    assert {b for g in found.guards for b in g.buffers} == {"t0", "t1", "t2"}
    assert {(g.need, g.have) for g in found.guards} == {(96, 256)}
    assert core(three_at_once(64)) == ()


def test_a_cycle_names_its_edges():
    p = gemm()
    round_ = replace(p, edges=(*p.edges, Edge("store_c", "load_a", "war", "a")))
    found = solve(round_)
    assert found.status == "infeasible"
    assert {(g.rule, g.ops) for g in found.infeasible} == {
        ("data_hazard_raw", ("load_a", "matmul")),
        ("data_hazard_raw", ("matmul", "store_c")),
        ("data_hazard_war", ("store_c", "load_a")),
    }


def test_rows_that_no_address_mode_has():
    p = gemm()
    large = replace(p, buffers=tuple(replace(b, rows=129) if b.name == "b_trf" else b for b in p.buffers))
    found = solve(large)
    assert found.status == "infeasible"
    assert {g.rule for g in found.infeasible} == {"region_out_of_bounds"}
    assert all(g.need == 129 and g.ops == ("store_b",) for g in found.infeasible)


def test_a_fixed_value_is_blamed_with_what_it_breaks():
    ops = [op("w1", mode(5, "sub")), op("w2", mode(5, "sub")), op("use", mode(5, "main"))]
    buffers = [buffer("t1", "trf", 50, "w1", "use"), buffer("t2", "trf", 50, "w2", "use")]
    p = problem(ops, data("w1>use", "w2>use"), buffers)
    assert solve(p).status == "optimal"
    found = solve(p, fixed={("w1", "region"): "full"})
    assert found.status == "infeasible"
    assert {g.rule for g in found.infeasible} == {"choice_fixed", "region_overlap", "data_hazard_raw"} or {
        g.rule for g in found.infeasible
    } == {"choice_fixed", "region_overlap"}


def test_leaving_out_any_guard_allows_a_plan():
    confirmed = 0
    for seed in range(80):
        p = random_problem(seed)
        found = explain(p, Options())
        assert (found is None) == (solve(p).makespan is not None)
        if found is not None:
            assert found.minimal
            assert found.confirmed
            assert found.guards
            confirmed += 1
    assert confirmed >= 10
