"""Collect, stores and commit against enumeration: the cells that leave an engine are those that entered."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cells import LIVE, all_cells, tensor_cells
from models.layout import Stream, TensorLayout
from models.mapping import ONE, Axis, Mapping, Pad, pair
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines import collect, commit, register_files, trf_placement
from planner.engines.base import Ground
from planner.engines.fetch import FetchConfig
from planner.engines.fetch import law as fetch_law

HARDWARE = load_hardware()


def stream(dtype: str, time: Mapping, packet: Mapping) -> Stream:
    return Stream(dtype, ONE, ONE, ONE, time, packet)


def flat(*levels: Mapping) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
    found = all_cells(*levels)
    index = {k: np.broadcast_to(v, found.kind.shape).ravel() for k, v in found.index.items()}
    return [
        (int(kind), tuple(sorted((k, int(v[i])) for k, v in index.items())) if kind == LIVE else ())
        for i, kind in enumerate(found.kind.ravel())
    ]


@given(st.integers(1, 4), st.integers(1, 12), st.sampled_from(["i8", "bf16", "f32"]))
def test_collect_keeps_every_cell_in_its_place(steps: int, eights: int, dtype: str):
    bits = {"i8": 8, "bf16": 16, "f32": 32}[dtype]
    size = eights * 64 // bits
    time, packet = Axis("T", steps), Axis("P", size)
    ground = Ground(HARDWARE, {"T": steps, "P": size})
    outcome = collect.law(ground, stream(dtype, time, packet), collect.CollectConfig())
    assert outcome.ok
    assert outcome.stream is not None
    flits = -(-size * bits // 256)
    assert outcome.settings == {"flits_per_packet": flits}
    assert outcome.steps == steps * flits
    assert flat(outcome.stream.time, outcome.stream.packet) == flat(time, Pad(packet, flits * 256 // bits))


@given(st.sampled_from([1, 2, 4, 8]), st.integers(1, 40), st.sampled_from(["i8", "bf16", "f8e4m3"]))
def test_rows_of_a_trf_store(lanes: int, flits: int, dtype: str):
    per_flit = 16 if dtype == "bf16" else 32
    axes = {"N": lanes, "F": flits, "P": per_flit}
    lane, inner, packet = (Axis(n, s) for n, s in axes.items())
    config = register_files.TrfConfig("w", lane, pair(inner, packet))
    outcome = register_files.to_trf(Ground(HARDWARE, axes), stream(dtype, pair(lane, inner), packet), config)
    # flit f lies in bank f % 2, row f // 2; a lane of L sees 8 / L physical rows as one after another
    rows = max(f // 2 for f in range(flits)) + 1
    assert outcome.settings["flits_per_lane"] == flits
    assert outcome.settings["rows_per_bank"] == rows
    assert outcome.settings["rows"] == -(-rows * lanes // 8)
    assert outcome.ok


@given(st.permutations(["A", "B"]), st.permutations(["A", "B"]), st.integers(1, 8))
def test_fetch_reads_what_divides_run_and_packet(held: list[str], order: list[str], size: int):
    axes = {"A": 2, "B": 3, "C": 8 * size}
    element, time = (pair(*(Axis(n, axes[n]) for n in names)) for names in ([*held, "C"], order))
    packet = Axis("C", axes["C"])
    outcome = fetch_law(Ground(HARDWARE, axes), [TensorLayout("x", "dm", "i8", element)], FetchConfig(time, packet))
    assert outcome.ok
    run = axes["C"]
    for name, inside in zip(reversed(order), reversed(held), strict=True):
        if name != inside:
            break
        run *= axes[name]
    wanted = max(n for n in (1, 2, 4, 8, 16, 32) if gcd(axes["C"], run) % n == 0)
    assert outcome.settings["read_bytes"] == wanted
    assert outcome.steps == 6 * axes["C"] // wanted


@pytest.mark.parametrize(
    ("element", "packet", "trimmed"),
    [
        ("M, J % 32", "J % 8 # 16", "J % 8"),
        ("M, 1 # 8", "1 # 16", "1 # 8"),
        ("M, 1 # 4", "1 # 16", "1 # 4"),
        ("M, P # 12", "P # 16", "P # 12"),
        ("M, P # 16", "P # 16", "P # 16"),
    ],
)
def test_the_trim_is_the_longest_that_is_the_innermost_part(element: str, packet: str, trimmed: str):
    axes = {"M": 4, "J": 512, "P": 10}

    def at(text: str) -> Mapping:
        return parse(text, axes)

    chosen = commit.chosen_trim(HARDWARE, stream("bf16", at("M"), at(packet)), at(element), "bf16")
    assert flat(chosen) == flat(at(trimmed))


@given(st.permutations(["A", "B"]), st.sampled_from([2, 4, 6]), st.sampled_from(["main", "sub"]))
def test_a_commit_writes_each_cell_once(order: list[str], size: int, context: str):
    axes = {"A": 3, "B": size, "P": 4}
    element = pair(*(Axis(n, axes[n]) for n in order), Axis("P", 4))
    time, packet = pair(Axis("A", 3), Axis("B", size)), Axis("P", 4)
    config = commit.CommitConfig("y", element, packet=packet)
    outcome = commit.law(Ground(HARDWARE, axes, context), stream("f32", time, packet), config)
    assert outcome.ok
    at = [0]
    for count, stride in (*outcome.settings["time_entries"], *outcome.settings["packet_entries"]):
        at = [a + i * stride for a in at for i in range(count)]
    assert sorted(at) == list(range(element.size))
    found = tensor_cells([(element, np.array(at))])
    streamed = all_cells(pair(time, packet))
    for name in axes:
        assert (np.broadcast_to(found.index[name], len(at)) == streamed.index[name]).all()
    assert outcome.steps == 3 * size * (2 if context == "sub" else 1)


@pytest.mark.parametrize(("dtype", "elements"), [("i4", 64), ("i8", 32), ("f8e4m3", 32), ("f8e5m2", 32), ("bf16", 16)])
def test_elements_of_a_trf_row(dtype: str, elements: int):
    # domain section 2: elements per 320-bit row
    assert trf_placement.elements_per_row(HARDWARE, dtype) == elements


def test_narrower_rows_take_more_of_them():
    narrow = load_hardware(overrides={"trf.row_data_bytes": 16})
    axes = {"N": 8, "K": 64}
    lane, inner, packet = Axis("N", 8), parse("K / 16", axes), parse("K % 16", axes)
    config = register_files.TrfConfig("w", lane, Axis("K", 64))
    rows = [
        register_files.to_trf(Ground(h, axes), stream("bf16", pair(lane, inner), packet), config).settings["rows"]
        for h in (HARDWARE, narrow)
    ]
    assert rows == [2, 4]
