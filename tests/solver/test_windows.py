"""Windows: shifts, one window against enumeration, and whole runs that stay legal."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest

from benchmarks.decoder import LAYER_OPERATIONS, decoder
from models.graph import Edge
from solver import Options, solve, validate
from solver.bound import bound
from solver.index import Index
from solver.list_schedule import list_schedules
from solver.placing import placed
from solver.windows import improved
from solver.windows.board import board
from solver.windows.frame import Frame, Stretch
from solver.windows.repeat import period, repeated
from solver.windows.sweep import Sweeper
from solver.windows.timing import early, in_time, late
from tests.solver.brute_force import optimum
from tests.solver.problems import RNGD, data, dma, mode, op, problem, random_problem, tiled_matmul

QUICK = Options(time_limit_seconds=1)


def loads_and_passes(rng):
    """Loads, passes that need some of them, and a chain through some of the passes."""
    loads = [dma(f"l{k}", rng.randint(1, 20)) for k in range(3)]
    passes = [op(f"p{k}", mode(rng.randint(1, 20), "main")) for k in range(4)]
    edges = [f"l{rng.randrange(3)}>p{k}" for k in range(4)]
    edges += [f"p{k}>p{k + 1}" for k in range(3) if rng.random() < 0.5]
    return problem([*loads, *passes], data(*edges))


def first_plan(index):
    return next((p for s in list_schedules(index, bound(index)) if (p := placed(index, s, QUICK)) is not None), None)


def timing_of(made, plan):
    starts = [*(plan.starts[n] for n in made.names[: len(plan.starts)]), *(load.start for load in plan.loads)]
    ends = [s + w[0].cycles for s, w in zip(starts, made.ways, strict=True)]
    return early(made, in_time(starts, ends), [0] * len(starts), RNGD.kernel.first_start_cycles)


@pytest.mark.parametrize("seed", range(80))
def test_improved_plans_are_legal_and_never_beat_the_optimum(seed):
    p = random_problem(seed, 5)
    index = Index(p)
    first = first_plan(index)
    if first is None:
        return
    told = []
    found = improved(index, first, 0, QUICK, told.append, None).plan
    assert validate(p, found) == ()
    assert all(validate(p, s) == () for s in told)
    assert optimum(p) <= found.makespan <= first.makespan


@pytest.mark.parametrize("seed", range(40))
def test_one_window_over_everything_is_exact_where_nothing_is_settled(seed):
    p = random_problem(seed, 5)
    plain = tuple(
        replace(o, requires=None, modes=tuple(replace(m, bitmap=None) for m in o.modes)) for o in p.operations
    )
    p = replace(p, operations=plain, buffers=tuple(b for b in p.buffers if b.file != "trf"))
    index = Index(p)
    first = first_plan(index)
    if first is not None:
        assert improved(index, first, 0, QUICK, None, None).plan.makespan == optimum(p)


@pytest.mark.parametrize("kind", ["dma", "balanced"])
def test_shifts_keep_the_makespan_and_the_order(kind):
    p = decoder(2, kind, 0)
    index = Index(p)
    plan = first_plan(index)
    made = board(index, plan)
    timing = timing_of(made, plan)
    latest = late(made.mirrored(), timing)
    assert timing.last + RNGD.kernel.final_sync_cycles <= plan.makespan
    assert early(made, timing.order, timing.chosen, RNGD.kernel.first_start_cycles) == timing
    assert all(a <= b for a, b in zip(timing.starts, latest.starts, strict=True))
    assert latest.last == timing.last


def test_an_order_that_never_gives_back_is_refused():
    p = tiled_matmul(3, load=10, store=10, matmul=10)
    index = Index(p)
    made = board(index, first_plan(index))
    ids = {n: i for i, n in enumerate(made.names)}
    stores = [f"{what}[{i}]" for what in ("load", "to_trf") for i in range(3)]
    rest = [n for n in made.names if n not in stores]
    order = [ids[n] for n in (*stores, *rest)]
    assert early(made, order, [0] * len(order), 0) is None, "three tiles, two halves"


def test_a_decoder_improves_and_stays_legal():
    p = decoder(3, "balanced", 1, operations=320)
    index = Index(p)
    told = []
    first = first_plan(index)
    found = solve(p, QUICK, on_solution=told.append)
    assert validate(p, found) == ()
    assert found.makespan < first.makespan
    assert found.lower_bound == bound(index).makespan
    assert found.stopped_by == "time_limit"
    spans = [s.makespan for s in told]
    assert spans == sorted(spans, reverse=True)
    assert solve(p, QUICK) == found, "same seed, same answer"


def test_a_set_stop_ends_at_once_with_the_first_plan():
    p = decoder(3, "balanced", 1)
    stop = threading.Event()
    stop.set()
    found = solve(p, Options(time_limit_seconds=600), stop=stop)
    assert (found.status, found.stopped_by) == ("feasible", "interrupt")
    assert validate(p, found) == ()


def test_several_workers_agree_with_the_rules():
    p = decoder(3, "dma", 2)
    found = solve(p, Options(time_limit_seconds=1, workers=2))
    assert validate(p, found) == ()
    assert found.lower_bound <= found.makespan


def test_equal_layers_are_found_and_followed():
    p = decoder(7, "balanced", 0, jitter=0.0)
    index = Index(p)
    made = board(index, first_plan(index))
    assert period(made) == LAYER_OPERATIONS
    timing = timing_of(made, first_plan(index))
    few = made.prefix(4 * LAYER_OPERATIONS)
    order = [i for i in timing.order if i < len(few.names)]
    planned = early(few, order, timing.chosen[: len(few.names)], RNGD.kernel.first_start_cycles)
    followed = repeated(made, planned, LAYER_OPERATIONS)
    place = {item: k for k, item in enumerate(followed)}
    assert sorted(followed) == list(range(len(made.names)))
    assert all(place[a] < place[b] for b, links in enumerate(made.before) for a, _ in links)
    stores = [i for i, n in enumerate(made.names) if n.startswith("load_") and i >= LAYER_OPERATIONS]
    fifth = [place[i + LAYER_OPERATIONS * 4] for i in sorted(stores[:20], key=place.__getitem__)]
    assert fifth == sorted(fifth), "a later layer follows the order of the second"


def test_jittered_layers_do_not_repeat():
    p = decoder(7, "balanced", 0)
    index = Index(p)
    assert period(board(index, first_plan(index))) is None


@pytest.mark.parametrize("seed", range(60))
def test_bound_with_many_ancestors_never_exceeds_the_optimum(seed, monkeypatch):
    monkeypatch.setattr("solver.bound.EXACT_UP_TO", 1)
    p = random_problem(seed, 5)
    best = optimum(p)
    if best is not None:
        assert bound(Index(p)).makespan <= best


def test_bound_counts_what_ancestors_of_ancestors_take():
    # Two loads of 10 before the pass, two more behind it: the pass cannot start before 20 nor end after the end - 20.
    ops = [dma("a", 10), dma("b", 10), op("p", mode(5, "main")), dma("c", 10), dma("d", 10)]
    p = problem(ops, data("a>p", "b>p", "p>c", "p>d"))
    assert bound(Index(p)).makespan == 1003 + 20 + 5 + 20 + 600
    lagged = replace(p, edges=(*p.edges[:2], Edge("p", "c", "data", "", 7), Edge("p", "d", "data", "", 7)))
    assert bound(Index(lagged)).makespan == 1003 + 20 + 5 + 7 + 20 + 600


def test_bound_counts_what_is_on_either_side_of_an_operation():
    # Load a, then p and r; load b, then q. Before p, b takes 10 more of DMA; behind it, q takes 8 more of Main.
    ops = [dma("a", 20), op("p", mode(5, "main")), op("r", mode(30, "main")), dma("b", 10), op("q", mode(8, "main"))]
    p = problem(ops, data("a>p", "p>r", "b>q"))
    assert bound(Index(p)).makespan == optimum(p) == 1003 + 20 + 5 + 30 + 8 + 600


@pytest.mark.parametrize("seed", range(150))
def test_bound_of_loads_and_passes_never_exceeds_the_optimum(seed):
    p = loads_and_passes(random.Random(seed))
    index = Index(p)
    assert bound(index).makespan <= optimum(p)


def test_a_window_takes_on_only_what_the_block_behind_can_follow():
    p = decoder(1, "balanced", 0)
    index = Index(p)
    plan = first_plan(index)
    made = board(index, plan)
    timing = timing_of(made, plan)
    at = Stretch(Frame(made, timing, late(made.mirrored(), timing), RNGD.kernel.first_start_cycles), 10)
    assert at.advance(10, 58)
    items, last = at.order[10:58], at.last
    assert at.settle(items, {}, 0), "the order it has"
    assert not at.settle(items, {}, -last), "a shift that nothing gives"
    assert (at.order[10:58], at.won, at.last) == (items, 0, last)


@pytest.mark.parametrize("seed", range(3))
def test_two_workers_never_break_an_edge_between_their_parts(seed, monkeypatch):
    p = decoder(2, "balanced", seed)
    index = Index(p)
    plan = first_plan(index)
    seen = []
    real = Sweeper._taken_on

    def taken_on(self, timing, latest, done):
        found = real(self, timing, latest, done)
        edges = ((a, b, lag) for b, links in enumerate(self.board.before) for a, lag in links)
        seen.append(all(found.ends[a] + lag <= found.starts[b] for a, b, lag in edges))
        return found

    monkeypatch.setattr(Sweeper, "_taken_on", taken_on)
    improved(index, plan, 0, Options(time_limit_seconds=4, workers=2), None, None)
    assert seen
    assert all(seen)
