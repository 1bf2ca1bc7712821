"""Rules of transfers: a legal example, the same broken by one change, a legal one right beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.kernel import Tile
from models.presets.load import load_hardware
from models.rules.dma import RULES
from planner.engines.base import Ground
from planner.engines.dma import law
from tests.planner.engines.test_dma_law import place

HARDWARE = load_hardware()
AXES = {"A": 256, "B": 64, "C": 24, "Chips": 2, "Huge": 2**35, "Wide": 2**18 + 1}
HBM = place("hbm", AXES, "A, B")
DM = place("dm", AXES, "B", "A")


def hbm(element, **fields):
    return place("hbm", AXES, element, **fields)


def dm(element, slice="A", **fields):
    return place("dm", AXES, element, slice, **fields)


def tile(text, length, start="0"):
    return Tile(tensor="hbm", tile=text, length=length, start=start)


def cut_at(n):
    return hbm(f"C / {n}, B, C % {n}", dtype="f32")


LOAD = (HBM, DM, {})
RULE_CASES = {
    "dma_memory.feasible": LOAD,
    "dma_memory.broken": (HBM, replace(DM, memory="vrf"), {}),
    "dma_memory.beside": (DM, dm("B", "A % 2, A / 2"), {}),
    "dma_dtype.feasible": LOAD,
    "dma_dtype.broken": (HBM, dm("B", dtype="f32"), {}),
    "dma_dtype.beside": (hbm("A, B", dtype="f32"), dm("B", dtype="f32"), {}),
    "dma_chip.feasible": LOAD,
    "dma_chip.broken": (HBM, dm("B", chip="Chips"), {}),
    "dma_chip.beside": (hbm("A, B", chip="Chips"), dm("B", chip="Chips"), {}),
    "dma_units.feasible": LOAD,
    "dma_units.broken": (hbm("B, A"), dm("A", "B # 96"), {}),
    "dma_units.beside": (hbm("B, A"), dm("A", "B # 128"), {}),
    "dma_hbm_size.feasible": (hbm("Huge / 4"), dm("Huge / 4 = 64", "1 # 64"), {}),
    "dma_hbm_size.broken": (hbm("Huge"), dm("Huge = 64", "1 # 64"), {}),
    "dma_hbm_size.beside": (hbm("Huge", dtype="i8"), dm("Huge = 64", "1 # 64", dtype="i8"), {}),
    "dma_dm_size.feasible": (hbm("Wide"), dm("Wide = 64", "1 # 64"), {}),
    "dma_dm_size.broken": (hbm("Wide"), dm("Wide", "1 # 64"), {}),
    "dma_dm_size.beside": (hbm("Wide"), dm("Wide = 262144", "1 # 64"), {}),
    "dma_tile_digit.feasible": (HBM, dm("B / 16, B % 16 = 4"), {"read_tile": tile("B % 16", 4)}),
    "dma_tile_digit.broken": (HBM, dm("B / 16, B % 16 = 4"), {"read_tile": tile("[A, B] % 128", 4)}),
    "dma_tile_digit.beside": (HBM, dm("B = 16"), {"read_tile": tile("B", 16)}),
    "dma_tile_bounds.feasible": (HBM, dm("B = 48"), {"read_tile": tile("B", 48)}),
    "dma_tile_bounds.broken": (HBM, dm("B = 48"), {"read_tile": tile("B", 48, "17")}),
    "dma_tile_bounds.beside": (HBM, dm("B = 48"), {"read_tile": tile("B", 48, "16")}),
    "dma_cells_missing.feasible": (hbm("A, B = 48"), dm("B = 48"), {}),
    "dma_cells_missing.broken": (hbm("A, B = 48"), dm("B"), {}),
    "dma_cells_missing.beside": (hbm("A, B = 48"), dm("C, B = 48"), {}),
    "dma_cells_unwritten.feasible": (DM, HBM, {}),
    "dma_cells_unwritten.broken": (dm("B = 48"), HBM, {}),
    "dma_cells_unwritten.beside": (dm("B = 48"), HBM, {"write_tile": tile("B", 48)}),
    "dma_axis_dropped.feasible": (dm("B", "A"), hbm("A, B"), {}),
    "dma_axis_dropped.broken": (dm("B", "A"), hbm("B"), {}),
    "dma_axis_dropped.beside": (dm("B", "256"), hbm("B"), {}),
    "dma_whole_bytes.feasible": (hbm("A, B", dtype="i4"), dm("B", dtype="i4"), {}),
    "dma_whole_bytes.broken": (hbm("B, A", dtype="i4"), dm("B", dtype="i4"), {}),
    "dma_whole_bytes.beside": (hbm("B / 16, A, B % 16", dtype="i4"), dm("B", dtype="i4"), {}),
    "dma_dm_alignment.feasible": (HBM, DM, {}),
    "dma_dm_alignment.broken": (hbm("B, A"), dm("B"), {}),
    "dma_dm_alignment.beside": (hbm("B / 4, A, B % 4"), dm("B"), {}),
    "dma_not_decided.feasible": (cut_at(6), dm("B, C % 6", "C / 6 # 64", dtype="f32"), {}),
    "dma_not_decided.broken": (cut_at(6), dm("B, C % 8", "C / 8 # 64", dtype="f32"), {}),
    "dma_not_decided.beside": (cut_at(4), dm("C / 4 % 2, B, C % 4", "C / 8 # 64", dtype="f32"), {}),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case):
    source, destination, tiles = RULE_CASES[case]
    rule, _, part = case.partition(".")
    found = law(Ground(HARDWARE, AXES, "dma"), source, destination, **tiles)
    assert [f.rule for f in found.findings] == ([rule] if part == "broken" else [])
    assert found.ok == (found.steps > 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_every_rule_has_its_cases_and_a_message_with_numbers(rule):
    source, destination, tiles = RULE_CASES[f"{rule.id}.broken"]
    (finding,) = law(Ground(HARDWARE, AXES, "dma"), source, destination, **tiles).findings
    assert finding.message
    assert rule.id == "dma_not_decided" or (finding.found and finding.wanted and finding.nearest)
    assert {f"{rule.id}.{part}" for part in ("feasible", "broken", "beside")} <= RULE_CASES.keys()


def test_several_faults_are_told_at_once():
    found = law(Ground(HARDWARE, AXES, "dma"), HBM, dm("B", "A # 300", dtype="f32"))
    assert {f.rule for f in found.findings} == {"dma_dtype", "dma_units"}
