"""Reductions inside a slice: the order of the fold, slots and delays, the valid count generator, poison in padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.plan import Plan
from simulator import simulate
from simulator.engines.intra_slice_reduce import FOLDS, Partial, in_order, result_cycles, slots, tree
from simulator.engines.valid_count import on_four_ways
from tests.simulator.planned import holds, vector_stage, verdict
from tests.simulator.random_kernels import Reduced, reduce_kernel

# The order of the fold --------------------------------------------------------------------------------------


def partial(values: np.ndarray, taken: np.ndarray | None = None) -> Partial:
    none = np.zeros(values.shape, dtype=bool)
    return Partial(values, ~none if taken is None else taken, none)


def test_a_tree_adds_pairs_and_then_their_sums():
    lanes = np.array([[1e8, 1.0, -1e8, 1.0]], dtype=np.float32)
    fold, _ = FOLDS["f32", "add"]
    a, b, c, d = lanes[0]
    assert tree(fold, partial(lanes)).values[0, 0] == np.float32(np.float32(a + b) + np.float32(c + d))
    assert tree(fold, partial(lanes)).values[0, 0] != np.float32(((a + b) + c) + d)


def test_the_accumulator_adds_one_step_after_the_other():
    steps = np.array([[1e8], [1.0], [1.0], [-1e8]], dtype=np.float32)
    fold, _ = FOLDS["f32", "add"]
    assert in_order(fold, partial(steps), 0).values[0] == 0.0
    assert in_order(fold, partial(steps[[0, 3, 1, 2]]), 0).values[0] == 2.0


def test_sums_of_integers_stop_at_both_ends():
    fold, _ = FOLDS["i32", "addsat"]
    top = np.array([[2**31 - 1], [5], [-7]], dtype=np.int32)
    assert in_order(fold, partial(top), 0).values[0] == 2**31 - 8
    assert in_order(fold, partial(-top - 1), 0).values[0] == -(2**31) + 6


def test_what_is_not_taken_changes_nothing_not_even_a_sign():
    fold, _ = FOLDS["f32", "add"]
    lanes = np.array([[-0.0, 7.0, 9.0, 9.0]], dtype=np.float32)
    out = tree(fold, partial(lanes, np.array([[True, False, False, False]])))
    assert np.signbit(out.values[0, 0])
    assert out.taken.all()


# Slots and delays -------------------------------------------------------------------------------------------


def members(time: list[tuple[str, int]]) -> np.ndarray:
    """Groups of a Time of `R` and other factors, outermost first, by plain loops."""
    sizes = [n for _, n in time]
    kept: dict[tuple[int, ...], list[int]] = {}
    for step, at in enumerate(np.ndindex(*sizes)):
        kept.setdefault(tuple(i for (name, _), i in zip(time, at, strict=True) if name != "R"), []).append(step)
    return np.array(list(kept.values()))


@pytest.mark.parametrize(
    ("time", "used", "steps"),
    [
        ([("R", 16)], 1, 16),
        ([("A", 5), ("R", 4)], 1, 4),
        ([("R", 6), ("A", 5)], 5, 6),
        ([("R", 3), ("A", 3), ("R", 4)], 3, 12),
        ([("A", 2), ("R", 3), ("B", 2), ("R", 2), ("A", 3)], 6, 6),
        ([("A", 7)], 1, 1),
    ],
)
def test_the_first_result_waits_as_long_as_the_document_says(time, used, steps):
    """On the timeline the stall is (n - 1) x InnerTime + 1 flits (domain section 8)."""
    groups = members(time)
    assert slots(groups) == used
    leaves = result_cycles(groups, used)
    assert leaves[0] == (steps - 1) * used + 1
    assert (leaves > groups.max(axis=1)).all(), "no result leaves before its last flit is in"
    assert leaves[-1] == groups.size, "throughput stays a flit a cycle"


# Random placements ------------------------------------------------------------------------------------------


def check_random_reduction(seed: int, folder: Path, *, sparse: bool = False) -> Plan:
    drawn = reduce_kernel(np.random.default_rng(seed), sparse=sparse)
    plan = holds(drawn.text, folder)
    settings = vector_stage(plan, "intra_slice_reduce")
    if settings.get("vcg") is not None:
        assert np.array_equal(counted(settings, drawn), live(drawn)), drawn.text
    return plan


def counted(settings: dict[str, Any], drawn: Reduced) -> np.ndarray:
    """Elements counted by the generator for every slice, as if A stood at 0 (its stride is 0 in every entry)."""
    flits = 3 * int(np.prod([n for level, _, n in drawn.digits if level == "time"], initial=1))
    halves = 2 if "narrow_split" in drawn.text else 1
    lanes = max([n for level, _, n in drawn.digits if level == "packet"], default=0)
    counts = on_four_ways(settings["vcg"], settings["vcg_ways"], 64, flits * halves, 4)
    taken = counts.sum(axis=1) if lanes > 1 else (counts > 0).sum(axis=1) // halves
    return taken // 3


def live(drawn: Reduced) -> np.ndarray:
    """The same by adding up digits: an element is live where its index is below the size."""
    inside = [(stride, n) for level, stride, n in drawn.digits if level != "slice"]
    outside = [(stride, n) for level, stride, n in drawn.digits if level == "slice"]
    index = np.zeros(1, dtype=np.int64)
    for stride, n in inside:
        index = (index[:, None] + np.arange(n) * stride).reshape(-1)
    first = np.zeros(1, dtype=np.int64)
    for stride, n in outside:
        first = (first[:, None] + np.arange(n) * stride).reshape(-1)
    found = ((first[:, None] + index) < drawn.size).sum(axis=1)
    others = np.arange(64 // len(first)) < 3  # P, which has 3 of them
    return (found[:, None] * np.where(others, 1, 0 if len(others) > 1 else 1)).reshape(-1)


@pytest.mark.parametrize("seed", range(40))
def test_poison_in_every_padded_cell_leaves_no_trace(seed, tmp_path):
    check_random_reduction(seed, tmp_path)


@pytest.mark.parametrize("seed", range(24))
def test_digits_that_hold_nothing_but_padding_are_folded_away(seed, tmp_path):
    check_random_reduction(seed, tmp_path, sparse=True)


@pytest.mark.parametrize("seed", range(12))
def test_padding_that_holds_the_identity_is_folded_as_it_is(seed, tmp_path):
    drawn = reduce_kernel(np.random.default_rng(seed), identity=True)
    plan = holds(drawn.text, tmp_path, fold__mask="identity")
    assert vector_stage(plan, "intra_slice_reduce")["mask"] == "identity"


@pytest.mark.long
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_placements(block, tmp_path):
    for seed in range(10_000 + 100 * block, 10_100 + 100 * block):
        check_random_reduction(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_two_thousand_sparse_placements(block, tmp_path):
    for seed in range(50_000 + 100 * block, 50_100 + 100 * block):
        check_random_reduction(seed, tmp_path, sparse=True)


# Wrong settings ---------------------------------------------------------------------------------------------


def expressible(folder: Path) -> Plan:
    """R in Time alone, so that its filter has the threshold R's size."""
    drawn = (reduce_kernel(np.random.default_rng(seed)) for seed in range(200))
    text = next(d.text for d in drawn if d.size < d.padded and {level for level, _, _ in d.digits} == {"time"})
    plan = holds(text, folder)
    assert vector_stage(plan, "intra_slice_reduce")["vcg"]["filters"][0]["mode"] == "time_only"
    return plan


def edited(plan: Plan, **settings: Any) -> Plan:
    programs = {
        name: tuple(
            s.model_copy(update={"settings": s.settings | settings})
            if s.step == "vector" and s.settings["name"] == "intra_slice_reduce"
            else s
            for s in program
        )
        for name, program in plan.programs.items()
    }
    return plan.model_copy(update={"programs": programs})


@pytest.mark.parametrize("off", [-1, 1])
def test_a_threshold_that_is_one_off_is_noticed(off, tmp_path):
    plan = expressible(tmp_path)
    vcg = vector_stage(plan, "intra_slice_reduce")["vcg"]
    first = vcg["filters"][0]
    shifted = {**vcg, "filters": [{**first, "time_thres": first["time_thres"] + off}, *vcg["filters"][1:]]}
    found = simulate(edited(plan, vcg=shifted))
    assert "settings_mismatch" in {v.rule for v in found.violations}


def test_folding_padding_as_it_is_shows_the_poison(tmp_path):
    found = simulate(edited(expressible(tmp_path), mask="identity"))
    assert not found.values["s"].ok


@pytest.mark.parametrize("key", ["slots", "first_output_delay", "stall_flits", "reduced_steps", "live"])
def test_derived_numbers_are_derived_again(key, tmp_path):
    plan = expressible(tmp_path)
    stated = vector_stage(plan, "intra_slice_reduce")[key]
    other = [n + 1 for n in stated] if key == "live" else stated + 1
    found = simulate(edited(plan, **{key: other}))
    assert verdict(plan).ok
    assert "settings_mismatch" in {v.rule for v in found.violations}
