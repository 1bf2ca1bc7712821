"""Figures that a plan only reports: the pattern of TRF reads, layouts of vector ops, limits of the VCG."""

from __future__ import annotations

import random
from dataclasses import asdict

import numpy as np
import pytest

import planner
from models.plan import Plan
from models.presets.load import load_hardware
from planner.engines.bank_contention import reads_of
from simulator import simulate
from simulator.checks_banks import read_pattern
from simulator.memories import walk_offsets
from tests.simulator.planned import holds
from tests.simulator.random_kernels import reduce_kernel
from tests.simulator.test_reduce_inside import edited, expressible
from tests.simulator.test_small_contractions import KERNEL

HARDWARE = load_hardware()
Entries = list[tuple[int, int]]


def entries(rng: random.Random, read: int) -> Entries:
    """A walk of one element in any order, with broadcasts anywhere, neighbours merged."""
    digits, stride = Entries(), read
    for _ in range(rng.randint(0, 3)):
        digits.append((rng.choice([2, 3, 4, 8]), stride))
        stride *= digits[-1][0]
    rng.shuffle(digits)
    for _ in range(rng.randint(0, 2)):
        digits.insert(rng.randint(0, len(digits)), (rng.choice([2, 3]), 0))
    merged = Entries()
    for size, step in digits:
        if merged and merged[-1][1] == size * step:
            merged[-1] = (merged[-1][0] * size, step)
        else:
            merged.append((size, step))
    return merged


@pytest.mark.parametrize("seed", range(300))
def test_reads_by_entries_and_by_enumeration_are_the_same(seed):
    rng = random.Random(seed)
    read = rng.choice([8, 16, 32])
    walk = entries(rng, read)
    own = read_pattern(walk_offsets(tuple(walk)) * 16, read * 16, HARDWARE)
    assert own == asdict(reads_of(walk, read, "bf16", HARDWARE)), walk


def changed(plan: Plan, step: str, key: str, value: object) -> Plan:
    programs = {
        name: tuple(
            s.model_copy(update={"settings": s.settings | {key: value}}) if s.step == step and key in s.settings else s
            for s in program
        )
        for name, program in plan.programs.items()
    }
    assert programs != plan.programs
    return plan.model_copy(update={"programs": programs})


def named(plan: Plan) -> set[str]:
    return {v.rule for v in simulate(plan).violations}


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    text = KERNEL.format(m=3, k=16, r=64, lanes=8, dtype="bf16", out="f32", K="K").replace("R % 8 # 8", "R % 8")
    return holds(text, tmp_path_factory.mktemp("product"))


@pytest.mark.parametrize("figure", ["units", "reuse", "sweeps", "wide", "step", "regular", "run"])
def test_every_figure_of_the_reads_is_named(figure, product):
    (outer,) = [s for p in product.programs.values() for s in p if s.step == "contract_outer"]
    stated = outer.settings["trf_reads"]
    value = not stated[figure] if isinstance(stated[figure], bool) else stated[figure] + 1
    assert "settings_mismatch" in named(changed(product, "contract_outer", "trf_reads", {**stated, figure: value}))


@pytest.mark.parametrize(("key", "value"), [("fits_half", False), ("regions", ["nonsense"]), ("via", "nonsense")])
def test_what_a_store_says_of_the_file_is_named(key, value, product):
    assert "settings_mismatch" in named(changed(product, "to_trf", key, value))


@pytest.mark.parametrize(("key", "value"), [("run_bytes", 7), ("simulated_requests", 7), ("shared", 7)])
def test_what_a_transfer_was_counted_from_is_named(key, value, product):
    assert "settings_mismatch" in named(changed(product, "dma", key, value))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Reads 4 x 256 elements in a row by entries of at most 64 steps."""
    path = tmp_path_factory.mktemp("split") / "kernel.yaml"
    path.write_text("""
kernel: copied
axes: {P: 64, A: 4, B: 256}
tensors:
  x: {dtype: i8, element: "P, A, B"}
  y: {dtype: i8, element: "P, A, B", role: output}
ops:
  - {dma: load, read: x, write: x_dm, slice: P, element: "A, B"}
  - pass: copy
    read: x_dm
    steps:
      - fetch: {time: "A, B / 32", packet: "B % 32"}
      - collect
      - commit: {write: y_dm, element: "A, B"}
  - {dma: store, read: y_dm, write: y}
""")
    request = planner.Request(settings={"sequencer.max_entry_size": 64})
    return planner.plan(path, request, planner.PlanOptions(alternatives=False))


def test_an_entry_that_is_too_large_may_be_split(split):
    assert split.verification.ok, split.verification.violations
    (fetch,) = [s for p in split.programs.values() for s in p if s.step == "fetch"]
    sizes = [int(e.split(":")[0]) for e in fetch.settings["entries"]]
    assert (len(sizes), max(sizes) <= 64, np.prod(sizes)) == (2, True, 1024)
    # any two factors will do
    assert not named(changed(split, "fetch", "entries", ["32:32", "32:1"]))


@pytest.mark.parametrize(
    "value",
    [
        ["1024:1"],
        ["16:64", "64:2"],
        ["16:32", "64:1"],
        ["8:128", "2:64", "64:1"],
        ["8:128", "128:1"],
        ["16:64"],
        ["16:64", "x:1"],
        [],
    ],
)
def test_entries_of_another_walk_are_named(value, split):
    assert "settings_mismatch" in named(changed(split, "fetch", "entries", value))


@pytest.mark.parametrize(("key", "value"), [("time", "A, A"), ("time", "nonsense ["), ("packet", "1 # 8")])
def test_layouts_of_a_vector_op_are_those_of_its_stage(key, value, tmp_path):
    plan = holds(reduce_kernel(np.random.default_rng(4)).text, tmp_path)
    assert "settings_mismatch" in named(changed(plan, "vector", key, value))


def test_a_generator_with_more_than_it_has_is_named(tmp_path):
    plan = expressible(tmp_path)
    (fold,) = [s for p in plan.programs.values() for s in p if s.settings.get("name") == "intra_slice_reduce"]
    vcg = fold.settings["vcg"]
    first, *others = vcg["filters"]
    for other in (
        {**vcg, "filters": [first] * 4},
        {**vcg, "filters": [{**first, "mode": "nonsense"}, *others]},
        {**vcg, "filters": [{**first, "entries": [*["1:0"] * 8, *first["entries"]]}, *others]},
        {**vcg, "clipper": {**vcg["clipper"], "span": 9}},
    ):
        assert "settings_mismatch" in named(edited(plan, vcg=other))
