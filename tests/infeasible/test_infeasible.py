"""Every kernel without a plan gets the right rules, in a minimal set that was confirmed, and a way out that works."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner import InfeasibleError, PlanOptions
from planner.readers.yaml_kernel import read_kernel
from planner.writers.kernel_yaml import kernel_text
from tests.infeasible.kernels import Case, cases

ALL = cases()
QUICK = PlanOptions(alternatives=False, verify=False, corrections=False)
SOUGHT = PlanOptions(alternatives=False, verify=False)
SOME = {
    *("vrf_at_once_4x264", "vrf_small_1221", "trf_full_12321", "trf_more_than_half_64_30", "fixed_both_full"),
    *("forbidden_half", "dm_in_and_out_1536", "no_main", "contexts_in_the_file", "trf_half_too_small", "four_lanes"),
}
"""Kernels whose ways out are sought in the quick run."""


def refused(case: Case, folder: Path, options: PlanOptions) -> tuple[Path, InfeasibleError]:
    path = folder / f"{case.name}.yaml"
    path.write_text(case.text, encoding="utf-8")
    with pytest.raises(planner.FaultError) as caught:
        planner.plan(path, case.request, options)
    assert isinstance(caught.value, InfeasibleError)
    return path, caught.value


def works(case: Case, path: Path, correction: planner.Correction) -> bool:
    """Applies a correction for good: a file of its own, planned through the front door."""
    source = read_kernel(path, axes=case.request.axes)
    changed = path.with_name("corrected.yaml")
    changed.write_text(kernel_text(correction.kernel(source.kernel)), encoding="utf-8")
    return planner.plan(changed, correction.request(case.request), QUICK).makespan_cycles is not None


def test_there_are_enough_of_them():
    assert len(ALL) >= 50
    assert len({c.name for c in ALL}) == len(ALL)
    assert sum(c.joint for c in ALL) >= 25


@pytest.mark.parametrize("case", ALL, ids=str)
def test_right_rules_in_a_confirmed_minimal_set(case, tmp_path):
    _, error = refused(case, tmp_path, QUICK)
    assert {f.rule for f in error.faults} == case.rules
    assert error.minimal
    assert error.confirmed
    for fault in error.faults:
        assert fault.message
        assert fault.line or fault.rule == "choice_fixed"
        if fault.rule in ("vrf_capacity", "dm_capacity", "region_overlap"):
            need, have = (int(text.split()[-2]) for text in (fault.found, fault.wanted))
            assert need > have > 0
            assert f"{need - have:,} too many" in fault.message


@pytest.mark.parametrize("case", [c for c in ALL if c.name in SOME], ids=str)
def test_what_is_said_to_make_it_fit_does(case, tmp_path):
    path, error = refused(case, tmp_path, SOUGHT)
    assert error.corrections
    assert all(works(case, path, c) for c in error.corrections)


@pytest.mark.long
def test_at_least_40_get_a_correction_that_works(tmp_path):
    corrected = 0
    for case in ALL:
        path, error = refused(case, tmp_path, SOUGHT)
        assert all(works(case, path, c) for c in error.corrections), case.name
        corrected += bool(error.corrections)
    assert corrected >= 40


def test_the_least_capacity_is_the_least(tmp_path):
    """4 rows of 264 numbers of 4 bytes, twice: 8,448 bytes; one flit less is too little."""
    case = next(c for c in ALL if c.name == "vrf_at_once_4x264")
    path, error = refused(case, tmp_path, SOUGHT)
    wider = next(c for c in error.corrections if c.kind == "wider")
    assert wider.settings == {"vrf.bytes_per_slice": 2 * 4 * 264 * 4}
    less = planner.Request(settings={"vrf.bytes_per_slice": 2 * 4 * 264 * 4 - 32})
    with pytest.raises(InfeasibleError):
        planner.plan(path, less, QUICK)


def test_the_numbers_are_need_have_and_gap(tmp_path):
    case = next(c for c in ALL if c.name == "vrf_at_once_4x264")
    (fault,) = refused(case, tmp_path, SOUGHT)[1].faults
    assert (fault.found, fault.wanted) == ("8448 bytes", "at most 8192 bytes")
    assert "256 too many" in fault.message


@pytest.mark.parametrize("name", ["vrf_small_121", "trf_full_121", "fixed_first_full"])
def test_leaving_out_what_is_blamed_allows_a_plan(name, tmp_path):
    """Minimal by its own meaning: without the capacity, or without the choice, there is a plan."""
    case = next(c for c in ALL if c.name == name)
    path, _ = refused(case, tmp_path, QUICK)
    roomy = {"vrf.bytes_per_slice": 8192} if "vrf" in name else {}
    text = case.text.replace("region: full", "region: auto")
    path.write_text(text, encoding="utf-8")
    assert planner.plan(path, planner.Request(settings=roomy), QUICK).status in ("optimal", "feasible")


RULE_CASES = {
    "choice_fixed.feasible": {"store_1.region": "first_half"},
    "choice_fixed.broken": {"store_1.region": "full"},
    "choice_fixed.beside": {"store_1.region": "second_half"},
}


@pytest.mark.parametrize("name", RULE_CASES)
def test_rule(name, tmp_path):
    case = next(c for c in ALL if c.name == "fixed_first_full")
    path = tmp_path / "k.yaml"
    path.write_text(case.text, encoding="utf-8")
    found = set()
    try:
        planner.plan(path, planner.Request(fixed=RULE_CASES[name]), QUICK)
    except InfeasibleError as error:
        found = {f.rule for f in error.faults}
    assert ("choice_fixed" in found) == name.endswith("broken")


def test_half_a_tile_in_twice_the_iterations_fits():
    """A tile of 4 rows of 64 numbers of 4 bytes is 1,024 bytes; 2 rows are 512."""
    request = planner.Request(settings={"vrf.bytes_per_slice": 512})
    with pytest.raises(InfeasibleError) as caught:
        planner.plan("examples/tiled_scale.yaml", request, SOUGHT)
    tile = next(c for c in caught.value.corrections if c.kind == "tile")
    edits = {(e.path[-1], e.old): e.new for e in tile.edits}
    assert edits["length", 4] == 2
    assert edits["start", "4 * i"] == "2 * i"
    assert edits["count", 15] == 30
