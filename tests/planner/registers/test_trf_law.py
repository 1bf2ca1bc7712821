"""The TRF's law against a placement of every cell, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from models.layout import Stream
from models.mapping import ONE
from models.parse import parse
from models.presets.load import load_hardware
from planner import trf_calculator
from planner.engines import register_files, trf_placement
from planner.engines.base import Ground
from planner.engines.register_files import TrfConfig

HARDWARE = load_hardware()
STORED = {"i4": 5, "i8": 9, "f8e4m3": 8, "f8e5m2": 8, "bf16": 16}
PER_ROW = {"i4": 64, "i8": 32, "f8e4m3": 32, "f8e5m2": 32, "bf16": 16}
"""Bits and elements of a 320-bit row: seed 000, domain section 2."""


def one_by_one(dtype: str, lanes: int, elements: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """(lane, element) to (bank, row, bit), filling rows the way a store does: flit after flit, banks in turn."""
    out = {}
    for lane in range(lanes):
        bank = row = k = 0
        for element in range(elements):
            out[lane, element] = (bank, row, k * STORED[dtype])
            k += 1
            if k == PER_ROW[dtype]:
                k, bank = 0, bank + 1
            if bank == 2:
                bank, row = 0, row + 1
    return out


@pytest.mark.parametrize(("dtype", "lanes", "flits"), list(product(STORED, (1, 2, 4, 8), (1, 2, 3, 7, 64))))
def test_every_cell_has_the_place_of_a_store(dtype, lanes, flits):
    elements = flits * PER_ROW[dtype]
    wanted = one_by_one(dtype, lanes, elements)
    lane, element = np.meshgrid(np.arange(lanes), np.arange(elements), indexing="ij")
    found = trf_placement.place(HARDWARE, dtype, lane, element, start_row=5)
    for (at_lane, at), (bank, row, bit) in wanted.items():
        cell = (found.lane[at_lane, at], found.bank[at_lane, at], found.row[at_lane, at], found.bit[at_lane, at])
        assert cell == (at_lane, bank, 5 + row, bit)
    assert max(bit + STORED[dtype] for _, _, bit in wanted.values()) <= 320
    rows = {(lane, bank, row) for (lane, _), (bank, row, _) in wanted.items()}
    assert len(rows) == lanes * flits, "a row holds one flit"


@pytest.mark.parametrize(
    ("dtype", "lanes", "flits"), list(product(STORED, (1, 2, 4, 8), (1, 2, 3, 64, 127, 128, 129, 256, 257, 1024, 2048)))
)
def test_capacity_is_that_of_the_counted_rows(dtype, lanes, flits):
    """A lane of L has 128 x 8 / L rows per bank, half of them in a half; what the store's law says is counted here."""
    axes = {"N": lanes, "F": flits, "E": PER_ROW[dtype]}
    stream = Stream(dtype, ONE, ONE, ONE, parse("N, F", axes), parse("E", axes))
    config = TrfConfig("w", parse("N", axes), parse("F, E", axes))
    outcome = register_files.to_trf(Ground(HARDWARE, axes), stream, config)
    rows_seen = max(row for _, row, _ in one_by_one(dtype, 1, flits * PER_ROW[dtype]).values()) + 1
    there = 128 * 8 // lanes
    assert outcome.settings["rows_per_bank"] == rows_seen
    assert outcome.settings["flits_per_lane"] == flits
    assert (outcome.findings == ()) == (rows_seen <= there)
    assert outcome.settings["fits_half"] == (rows_seen <= there // 2)
    halves = {"first_half", "second_half"} & set(outcome.settings["regions"])
    assert (len(halves) == 2) == (rows_seen <= there // 2)
    assert ("full" in outcome.settings["regions"]) == (rows_seen <= there)
    assert trf_placement.logical_rows(HARDWARE, lanes) == there


def test_the_worked_example_takes_one_row_of_one_bank():
    # seed 000 says that 32 bytes fill the file; known contradictions: one row of one bank
    answer = trf_calculator.calculate({"B": 32}, "B", dtype="i8", lane="1")
    (option,) = answer["options"]
    assert (option["rows_per_bank"], option["banks"], option["flits_per_lane"], option["rows"]) == (1, 1, 1, 1)


def test_the_calculator_lists_every_type_and_number_of_lanes():
    answer = trf_calculator.calculate({"N": 8, "K": 4096}, "N, K")
    found = {(o["dtype"], o["lanes"]): o for o in answer["options"]}
    assert set(found) == set(product(STORED, (1, 2, 4, 8)))
    # golden trf_exactly_full: bf16 N = 8, K = 4096 takes 256 flits a lane and all rows
    full = found["bf16", 8]
    assert (full["flits_per_lane"], full["rows"], full["fits_half"], full["regions"]) == (256, 128, False, ["full"])
    assert found["i4", 8]["rows"] == 32
    assert found["i4", 1]["rows_per_bank"] == 256
    assert answer["options"][answer["chosen"]]["dtype"] == "i4"


def test_the_calculator_says_why_a_layout_is_out():
    answer = trf_calculator.calculate({"N": 8, "K": 8192}, "N, K", dtype="bf16")
    assert answer["options"] == []
    assert answer["chosen"] is None
    assert {r["rule"] for r in answer["reasons"].values()} == {"exceeds_capacity"}
    odd = trf_calculator.calculate({"N": 6, "K": 48}, "N, K", dtype="bf16")
    assert {name: r["rule"] for name, r in odd["reasons"].items()} == {
        "bf16 x 8": "output_not_one_flit",
        "bf16 x 4": "output_not_one_flit",
    }
    assert [o["lanes"] for o in odd["options"]] == [2, 1]
