"""Random parts of the outputs: what is drawn, machine and reference agree on it, faults in it show."""

import numpy as np
import pytest

import simulator
from models.kernel import Kernel
from models.plan import Values
from simulator import prepare_bench, simulate
from simulator.sampling import draw, whole_axes
from tests.simulator import edits
from tests.simulator.plans import entry, gemm_plan, stage
from tests.simulator.small_plans import custom_plan, in_sequence, round_trip_plan, scale_plan

PLANS = {"gemm": gemm_plan, "scale": scale_plan, "custom": custom_plan, "round_trip": round_trip_plan}


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("name", PLANS)
def test_samples_of_hand_made_plans_verify(name, random):
    plan = PLANS[name]()
    whole = simulate(plan, random=random)
    for part, seed in ((0.02, 0), (0.3, 1), (50, 2)):
        found = simulate(plan, random=random, sample=part, seed=seed)
        assert found.ok, found
        for output, values in found.values.items():
            assert values.elements == whole.values[output].elements
            assert 1 <= values.sampled <= values.elements


def test_a_sample_of_everything_is_the_whole():
    plan = gemm_plan()
    whole, sampled = simulate(plan, random=True), simulate(plan, random=True, sample=1.0)
    assert sampled.model_copy(update={"values": whole.values}) == whole
    assert sampled.values["c"].model_copy(update={"sampled": None}) == whole.values["c"]
    assert sampled.values["c"].sampled == whole.values["c"].elements == 512 * 512


@pytest.mark.parametrize("part", [0.01, 0.1, 1, 4096, 10**9])
def test_a_sample_is_as_large_as_asked_for(part):
    bench = prepare_bench(gemm_plan())
    indices = draw(bench, part, 0).of_tensor("c")
    assert indices.keys() == {"I", "J"}
    count = int(np.prod([len(i) for i in indices.values()]))
    wanted = min(512 * 512, part if isinstance(part, int) else part * 512 * 512)
    assert wanted <= count <= 1.1 * wanted + 512 / 16
    assert all((np.diff(i) > 0).all() and i.max() < 512 for i in indices.values())


def test_the_seed_draws_the_sample():
    bench = prepare_bench(gemm_plan())
    first, again, other = (draw(bench, 0.1, seed).of_tensor("c")["I"].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_sum_needs_its_whole_axis():
    needed = whole_axes(prepare_bench(gemm_plan()))
    assert needed["c"] == frozenset()
    assert needed["a"] == needed["b"] == {"K"}


def test_only_what_is_sampled_is_computed(monkeypatch):
    """Of a matrix product, rows and columns outside of the sample are left open in the output."""
    plan, kept = gemm_plan(), {}
    monkeypatch.setattr(simulator, "execute", _then(lambda bench: kept.update(bench.memories.hbm)))
    assert simulate(plan, sample=0.01, seed=5).ok
    indices = draw(prepare_bench(plan), 0.01, 5).of_tensor("c")
    not_numbers = (kept["c"].raw.reshape(512, 512) & 0x7FFF) > 0x7F80
    rows, columns = np.ix_(indices["I"], indices["J"])
    assert not not_numbers[rows, columns].any()
    assert not_numbers.mean() > 0.9


@pytest.mark.parametrize("cell", [(0, 0), (17, 300), (511, 511)])
def test_a_wrong_cell_is_found_where_it_is_sampled(cell, monkeypatch):
    plan = gemm_plan()

    def spoil(bench):
        bench.memories.hbm["c"].raw.reshape(512, 512)[cell] ^= 0x4000

    monkeypatch.setattr(simulator, "execute", _then(spoil))
    hits = 0
    for seed in range(6):
        indices = draw(prepare_bench(plan), 0.25, seed).of_tensor("c")
        inside = cell[0] in indices["I"] and cell[1] in indices["J"]
        assert simulate(plan, sample=0.25, seed=seed).values["c"].ok == (not inside)
        hits += inside
    assert not simulate(plan).values["c"].ok
    assert not simulate(plan, sample=1.0).values["c"].ok
    assert hits < 6


def _then(change):
    def executed(bench, execute=simulator.execute):
        counted = execute(bench)
        change(bench)
        return counted

    return executed


@pytest.mark.parametrize("part", [0.001, 1.0])
def test_an_edited_plan_is_found_wrong_by_a_sample(part):
    """The matrix pass takes the first half of K twice: all sums are wrong, and so are those that are sampled."""
    walk = [[32, 0], [4, 64], [2, 0]]
    wrong = edits.settings("matmul", "contract_outer", trf_time_entries=walk)(gemm_plan())
    found = simulate(wrong, sample=part)
    assert not found.values["c"].ok
    assert found.values["c"].sampled >= part * found.values["c"].elements


def test_outputs_without_a_free_axis_are_compared_whole():
    kernel = Kernel.model_validate(
        {
            "kernel": "tiles",
            "axes": {"A": 64, "B": 8},
            "tensors": {
                "x": {"dtype": "i8", "element": "A, B"},
                "y": {"dtype": "i8", "element": "A, B", "role": "output"},
            },
            "ops": [
                {
                    "kind": "dma",
                    "name": "load",
                    "read": {"tensor": "x", "tile": "A / 1", "length": 64, "start": "0"},
                    "write": "d",
                    "slice": "A",
                    "element": "B",
                },
                {
                    "kind": "dma",
                    "name": "store",
                    "read": "d",
                    "write": {"tensor": "y", "tile": "B / 1", "length": 8, "start": "0"},
                },
            ],
        }
    )
    programs = {
        "load": (stage("dma", "i8", "1", "B", slice="A", read="x", write="d", direction="load"),),
        "store": (stage("dma", "i8", "1", "B", slice="A", read="d", write="y", direction="store"),),
    }
    drafts = [(n, "dma", ("dma",), {"d": "d"}, {}) for n in ("load", "store")]
    plan = in_sequence(kernel, drafts, [entry("d", "dm", "i8", "A", "B", 8, (0, 0), address=0)], programs)
    found = simulate(plan, sample=0.01)
    assert found.values == {"y": Values(ok=True, max_abs_error=0.0, elements=512, sampled=512)}
