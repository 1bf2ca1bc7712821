"""Configurations that the vendor publishes as accepted or refused, restated."""

from __future__ import annotations

import pytest

from models.layout import Stream
from models.mapping import ONE
from models.parse import parse
from planner.engines import transpose
from planner.engines.base import Ground
from tests.planner.pass_cases import HARDWARE

BASE = {"A": 4, "B": 2, "C": 8, "D": 4, "E": 8, "F": 8, "S": 16, "P": 2, "H": 4, "U": 1, "V": 32, "Y": 8}

LEGAL = {
    "two axes outside": ("i8", "C, F", "E # 32", "C, E", "F # 32"),
    "trimmed": ("i8", "A", "B # 32", "B", "A # 32"),
    "not trimmed": ("i8", "A", "B # 32", "B # 8", "A # 32"),
    "one row": ("bf16", "1", "C % 8 # 16", "C % 8", "1 # 16"),
    "axis over both": ("i8", "C, D, S / 8", "S % 8 # 32", "C, S", "D # 32"),
    "two packets": ("i8", "C, P", "E # 32", "P, E", "C # 32"),
    "padding packets": ("i8", "C, 1 # 2", "E # 32", "1 # 2, E", "C # 32"),
    "a row of size one": ("i8", "D, U", "A # 32", "D, A", "U # 32"),
    "four bits": ("i4", "A", "D # 64", "D", "A # 64"),
    "32 bits": ("f32", "B", "C # 8", "C", "B # 8"),
    "four packets": ("i8", "C, D, V / 8", "V % 8 # 32", "C, V", "D # 32"),
    "padded pair as rows": ("i8", "[A, B] # 16", "C # 32", "1 # 2, C", "[A, B] # 32"),
    "padded digits": ("i8", "D, A # 16 / 8", "A # 16 % 8 # 32", "1 # 2, A # 8", "D # 32"),
    "padded pair as digits": ("i8", "D, [A, B] # 16 / 8", "[A, B] # 16 % 8 # 32", "1 # 2, [A, B]", "D # 32"),
    "nothing but padding": ("i8", "1 # 4", "1 # 32", "1 # 32", "1 # 32"),
    "padding between": ("i8", "A, 1 # 4", "E # 32", "1 # 4, E", "A # 32"),
    "nothing in the packet": ("bf16", "Y", "1 # 16", "Y / 4", "Y % 4 # 16"),
    "packets dropped": ("i8", "A, B", "E # 32", "E", "A # 32"),
    "elements dropped": ("i8", "A", "E # 32", "E = 4", "A # 32"),
}

REFUSED = {
    "half a flit in": ("packet_not_one_flit", "i8", "C, F", "H # 16", "C, H", "F # 32"),
    "half a flit out": ("packet_not_one_flit", "i8", "C, F", "E # 32", "C, E", "F # 16"),
    "too many rows of 4 bits": ("too_many_rows", "i4", "C, F", "E # 64", "C, E", "V # 64"),
    "too many rows of 8 bits": ("too_many_rows", "i8", "C, F", "E # 32", "C, E", "A, F"),
    "too many rows of 16 bits": ("too_many_rows", "bf16", "C, F", "E # 16", "C, E", "F # 16"),
    "rows that are not in Time": ("transpose_packet_mismatch", "i8", "C, F", "E # 32", "C, E", "A # 32"),
    "64 columns of 4 bits": ("transpose_padding_rows", "i4", "S, B", "E # 64", "B, E", "S # 64"),
    "64 columns of 8 bits": ("transpose_in_cols", "i8", "C, F", "E # 32", "F, E", "C # 32"),
    "another outer axis": ("transpose_time_mismatch", "i8", "P, A, B", "E # 32", "U, B, E", "A # 32"),
    "another axis": ("transpose_time_mismatch", "i8", "A, B", "E # 32", "B, F", "A # 32"),
    "more rows than columns": ("transpose_out_rows", "i8", "A", "B # 32", "B # 16", "A # 32"),
    "elements outside packets": ("transpose_time_mismatch", "i8", "S, C, D", "E # 32", "S, E, D", "C # 32"),
    "trimmed inside": ("transpose_padding_rows", "i8", "C, P", "H # 32", "P, H", "C # 32"),
    "padding swapped": ("transpose_time_mismatch", "i8", "C, 1 # 4", "E # 32", "E, 1 # 4", "C # 32"),
    "padding rows alone": ("transpose_out_rows", "i8", "1 # 4", "1 # 32", "1 # 64", "1 # 32"),
}


def judged(dtype: str, *texts: str):
    time, packet, out_time, out_packet = (parse(t, BASE) for t in texts)
    stream = Stream(dtype, ONE, ONE, ONE, time, packet)
    return transpose.law(Ground(HARDWARE, BASE), stream, out_time, out_packet)


@pytest.mark.parametrize("name", LEGAL)
def test_accepted(name: str):
    assert judged(*LEGAL[name]).findings == ()


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str):
    rule, *config = REFUSED[name]
    findings = judged(*config).findings
    assert rule in {f.rule for f in findings}
    assert all(f.nearest or f.rule == "packet_not_one_flit" for f in findings)


def test_dropped_live_rows_are_told():
    assert {w.rule for w in judged(*LEGAL["elements dropped"]).warnings} == {"transpose_drops_live"}
    assert judged(*LEGAL["trimmed"]).warnings == ()
    assert judged(*LEGAL["padded digits"]).warnings == ()
