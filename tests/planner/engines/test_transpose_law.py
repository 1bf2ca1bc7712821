"""The transpose law: tables, random matrices against the five steps done on cells, and one step outside each limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from models.cells import all_cells
from models.kernel import Transpose
from models.layout import Stream
from models.mapping import ONE, Mapping
from models.parse import parse
from planner.cases import run_cases
from planner.engines import transpose
from planner.engines.base import Ground
from tests.planner.pass_cases import COLLECT, HARDWARE, commit, evaluated, fetch, layout
from tests.strategies import TRANSPOSES, transposes

TESTS = Path(__file__).parents[2]
TABLES = (TESTS / "golden" / "transpose.yaml", TESTS / "rules" / "transpose.yaml")


@pytest.mark.parametrize("table", TABLES, ids=lambda p: p.parent.name)
def test_tables(table: Path):
    assert [(c.id, c.mismatches) for c in run_cases([table]).cases if not c.passed] == []


def judged(axes: dict[str, int], dtype: str, *texts: str):
    time, packet, out_time, out_packet = (parse(t, axes) for t in texts)
    return transpose.law(Ground(HARDWARE, axes), Stream(dtype, ONE, ONE, ONE, time, packet), out_time, out_packet)


def numbered(time: Mapping, packet: Mapping) -> np.ndarray:
    """Every cell of [Time, Packet] as a number, -1 for padding."""
    cells = all_cells(time, packet)
    out = np.zeros(cells.kind.shape, dtype=np.int64)
    for axis in "ORPE":
        out = out * 64 + cells.index.get(axis, np.int64(0))
    return np.where(cells.kind == 0, out, -1)


def turned(cells: np.ndarray, p: dict[str, int], flit: int) -> np.ndarray:
    """Unpack, gather, transpose, trim and align, done on an array."""
    blocks = cells[:, : p["valid_size"]].reshape(p["iterations"], p["in_rows"], p["in_cols"])
    rows = blocks.transpose(0, 2, 1)[:, : p["out_rows"]].reshape(-1, p["in_rows"])
    return np.pad(rows, ((0, 0), (0, flit - p["in_rows"])), constant_values=-1)


@given(transposes())
def test_every_answer_turns_the_matrix(drawn: tuple[dict[str, int], str, list[str]]):
    axes, dtype, texts = drawn
    time, packet, out_time, out_packet = (parse(t, axes) for t in texts)
    step = Transpose(time=texts[2], packet=texts[3])
    stream = Stream(dtype, ONE, ONE, ONE, time, packet)
    found = transpose.candidates(Ground(HARDWARE, axes), stream, step)
    assert found
    cycles = [c.outcome.steps for c in found]
    assert cycles == sorted(cycles)
    for candidate in found:
        assert candidate.outcome.findings == ()
        settings = candidate.outcome.settings
        wanted = turned(numbered(time, packet), settings, packet.size)
        assert (numbered(out_time, out_packet) == wanted).all()
        assert settings["cycles"] == latency(settings)


def latency(p: dict[str, int]) -> int:
    """Flit by flit: with two buffers a matrix fills while the one before drains, with one it waits."""
    filled = drained = started = 0
    for _ in range(p["iterations"]):
        start = max(filled, started) if p["in_cols"] <= 16 else drained
        filled = start + p["in_rows"] * p["packets_per_col"]
        started = max(filled, drained)
        drained = started + p["out_rows"]
    return drained


@given(transposes())
def test_one_buffer_takes_longer_where_there_is_more_than_one_matrix(drawn: tuple[dict[str, int], str, list[str]]):
    axes, dtype, texts = drawn
    single = HARDWARE.model_copy(update={"transpose": HARDWARE.transpose.model_copy(update=NO_SECOND_BUFFER)})
    time, packet, out_time, out_packet = (parse(t, axes) for t in texts)
    stream = Stream(dtype, ONE, ONE, ONE, time, packet)
    two = transpose.law(Ground(HARDWARE, axes), stream, out_time, out_packet)
    one = transpose.law(Ground(single, axes), stream, out_time, out_packet)
    assert one.settings["buffering"] == "single"
    assert one.steps == two.steps if two.settings["iterations"] == 1 else one.steps >= two.steps


NO_SECOND_BUFFER = {"double_buffered_in_cols": 0}


@pytest.mark.parametrize("dtype", TRANSPOSES)
def test_one_step_outside_of_each_limit(dtype: str):
    flit, valid, rows = TRANSPOSES[dtype]
    axes = {"R": rows, "S": rows + 1, "E": valid, "F": valid + 1, "P": 64 // valid, "Q": 32 // valid}

    def rules(*texts: str) -> set[str]:
        return {f.rule for f in judged(axes, dtype, *texts).findings}

    assert rules("R", f"E # {flit}", "E", f"R # {flit}") == set()
    assert "too_many_rows" in rules("S", f"E # {flit}", "E", f"S # {flit}")
    assert rules("R", f"E # {flit}", f"E # {valid + 1}", f"R # {flit}") == {"transpose_out_rows"}
    assert rules("R, Q", f"E # {flit}", "Q, E", f"R # {flit}") == set()
    assert rules("R, P", f"E # {flit}", "P, E", f"R # {flit}") == {"transpose_in_cols"}
    if valid < flit:
        assert "packet_beyond_valid_size" in rules("R", f"F # {flit}", "F", f"R # {flit}")
    assert rules("R", f"E # {flit}", "E", f"R # {flit + 1}") == {"packet_not_one_flit"}


def test_rows_of_one_packet_or_of_more_are_alternatives():
    axes = {"D": 8, "E": 8}
    step = Transpose(time="D, E", packet="1 # 32")
    stream = Stream("i8", ONE, ONE, ONE, parse("D", axes), parse("E # 32", axes))
    found = transpose.candidates(Ground(HARDWARE, axes), stream, step)
    assert [c.outcome.settings["packets_per_col"] for c in found] == [1, 2, 4]
    # 1 + 7 * 8 + 8; 2 + 3 * 16 + 16; 2 * (4 + 32)
    assert [c.outcome.steps for c in found] == [65, 66, 72]


def test_a_long_time_is_judged_by_its_factors():
    axes = {"B": 4096, "C": 8, "D": 2, "E": 8}
    found = judged(axes, "i8", "B, C, D", "E # 32", "B, D, E", "C # 32")
    assert found.ok
    assert found.steps == 16 + 4095 * 16 + 16


def test_a_pass_offers_each_set_as_a_mode():
    x = layout("x", "dm", "f8e4m3", "B, N", slice="A")
    steps = [
        fetch(time="B", packet="N"),
        COLLECT,
        {"step": "transpose", "time": "B, N", "packet": "1 # 32"},
        commit(element="B, N, 1 # 8", packet="1 # 8"),
    ]
    found = evaluated(steps, {"x": x})
    assert found.findings == ()
    every = {m.decisions["transpose"] for m in (*found.modes, *found.dominated)}
    assert len(every) == 3
    assert "Columns8(packets_per_col=1, in_rows=1)" in {m.decisions["transpose"] for m in found.modes}
    one = evaluated(steps, {"x": x}, fixed={"transpose": "columns32"})
    assert {m.decisions["transpose"] for m in one.modes} == {"Columns32(packets_per_col=4, in_rows=1)"}
