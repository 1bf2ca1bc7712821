"""Settings of the valid count generator, run by an interpreter of their own, against enumeration of the cells."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from models.cells import LIVE, all_cells
from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Stride, nodes, pair, text
from models.parse import parse
from planner.engines.valid_count import derive
from planner.engines.valid_count_proposals import proposal
from tests.planner.pass_cases import HARDWARE

DEFAULT, LONG = 300, 10_000
FEWEST_EXPRESSIBLE = 4


def index(entries: list[str], steps: int) -> np.ndarray:
    """What a sequencer adds up at each time step."""
    t, out = np.arange(steps), np.zeros(steps, dtype=np.int64)
    for entry in reversed(entries):
        size, stride = map(int, entry.split(":"))
        out, t = out + (t % size) * stride, t // size
    return out


def counts(vcg: dict, slices: int, steps: int) -> np.ndarray:
    """Live elements of the flit of every slice and time step, as the settings have it."""
    clipper = vcg["clipper"]
    out = np.clip(clipper["axis_size"] - index(clipper["entries"], steps), 0, clipper["span"])[None, :]
    for f in vcg["filters"]:
        idx = index(f["entries"], steps)[None, :] < f["time_thres"]
        masked = (np.arange(slices) & f["slice_mask"])[:, None]
        at = {"time_only": idx, "slice_major": idx & (masked == f["slice_thres"]), "time_major": idx}[f["mode"]]
        out = out * ((masked < f["slice_thres"]) | at)
    return np.broadcast_to(out, (slices, steps))


def digits(rng: random.Random, axis: Axis, padded: int, packet: int) -> list[Mapping]:
    """An axis padded and cut into digits at powers of two, the innermost of `packet` positions."""
    base: Mapping = Pad(axis, padded) if padded > axis.size else axis
    borders, at = [1], packet
    if packet > 1:
        borders.append(packet)
    while at < padded:
        step = rng.choice([s for s in (2, 3, 4, 8, padded // at) if (padded // at) % s == 0 and s > 1])
        at *= step
        borders.append(at)
    return [Modulo(Stride(base, low), high // low) for low, high in pairwise(borders)]


def placement(rng: random.Random) -> tuple[Mapping, Mapping, Mapping]:
    """Slice, Time and 4-wide Packet of a stream with padded axes, R among them."""
    span = rng.choice([1, 1, 2, 4])
    slices: list[Mapping] = []
    times: list[Mapping] = []
    for name in rng.sample("RAB", rng.choice([1, 2, 2, 3])) or ["R"]:
        inner = span if name == "R" else 1
        padded = max(2, inner * rng.choice([1, 2, 4, 6, 8, 12, 16, 32]))
        axis = Axis(name, max(1, padded - rng.choice([0, 0, 1, 2, 3, inner, padded // 2, padded - 1])))
        parts = digits(rng, axis, padded, inner)
        where = rng.choice(["time", "slice", "mixed", "mixed"])
        outside = parts[1:] if inner > 1 and parts else parts
        for part in outside:
            place = where if where != "mixed" else rng.choice(["time", "slice"])
            (slices if place == "slice" else times).append(part)
        if name == "R" and inner > 1:
            packet = parts[0]
    if rng.random() < 0.4:
        times.append(Axis("T", rng.choice([2, 3])))
    if rng.random() < 0.4:
        slices.append(Axis("X", rng.choice([2, 4, 8])))
    if rng.random() < 0.5:
        rng.shuffle(slices)
    rng.shuffle(times)
    lanes: Mapping = Pad(Broadcast(1), 4)
    if span > 1 and "packet" in locals():
        lanes = Pad(packet, 4) if packet.size < 4 else packet
    return pair(*slices), pair(*times), lanes


def check(rng: random.Random) -> bool | None:
    """Whether settings, where there are any, count as the cells do; None where there are none."""
    slice_, time, packet = placement(rng)
    if prod((slice_.size, time.size)) > 1 << 16:
        return None
    verdict = derive(HARDWARE, slice_, time, packet, "R")
    kind = all_cells(slice_, time, packet).kind
    live = np.broadcast_to(kind, (slice_.size, time.size, packet.size)) == LIVE
    if verdict.settings is None:
        if not verdict.reason:
            lanes = live[:, :, : 1 if "R" not in text(packet) else 4]
            assert lanes.all(), f"{slice_} | {time} | {packet} has padding, no settings and no reason"
        return None
    # a clipper at rest says 8, of which a packet has 4
    counted = np.minimum(counts(verdict.settings, slice_.size, time.size), packet.size)
    wanted = live.sum(axis=2)
    if "R" not in text(packet):
        # nothing is clipped: what matters is whether the flit takes part
        counted, wanted = counted > 0, live[:, :, 0]
    else:
        assert (live == (np.arange(4) < wanted[:, :, None])).all()
    return bool((counted == wanted).all()) or pytest.fail(f"{slice_} | {time} | {packet}: {verdict.settings}")


def run(count: int, seed: int) -> None:
    rng = random.Random(seed)
    decided = [check(rng) for _ in range(count)]
    assert all(d for d in decided if d is not None)
    assert sum(d is not None for d in decided) * FEWEST_EXPRESSIBLE > count


def test_settings_count_what_the_cells_say():
    run(DEFAULT, 1)


@pytest.mark.long
def test_ten_thousand_placements():
    run(LONG, 2)


AXES = {"A": 3, "H": 5, "C": 5, "W": 19, "X": 64, "Y": 16}
BOOK = {
    "time": ("X", "R # 16", "1 # 4", 12, [["16:1"], 0, 0, 12, "time_only"]),
    "time in any order": (
        "X",
        "R # 12 / 4, A, R # 12 % 4",
        "1 # 4",
        10,
        [["3:4", "3:0", "4:1"], 0, 0, 10, "time_only"],
    ),
    "slice major": (
        "R # 16 / 8, X, R # 16 / 4 % 2",
        "R # 16 % 2, R # 16 / 2 % 2",
        "1 # 4",
        11,
        [["2:1", "2:2"], 0b10000001, 128, 3, "slice_major"],
    ),
    "time major": (
        "R # 16 / 2 % 2, X, R # 16 % 2",
        "R # 16 / 4 % 2, R # 16 / 8",
        "1 # 4",
        13,
        [["2:1", "2:2"], 0b10000001, 1, 3, "time_major"],
    ),
}


@pytest.mark.parametrize("name", BOOK)
def test_published_filters(name: str):
    *texts, size, wanted = BOOK[name]
    found = derive(HARDWARE, *(parse(t, AXES | {"R": size}) for t in texts), "R")
    assert found.settings is not None
    keys = ("entries", "slice_mask", "slice_thres", "time_thres", "mode")
    assert found.settings["filters"] == [dict(zip(keys, wanted, strict=True))]


def test_three_axes_take_a_clipper_and_two_filters():
    texts = ("Y, H # 8 / 2, C # 8 / 2", "H # 8 % 2, C # 8 % 2, W # 24 / 8", "W # 24 % 8")
    found = derive(HARDWARE, *(parse(t, AXES) for t in texts), "W").settings
    assert found is not None
    assert found["clipper"] == {"entries": ["4:0", "3:8"], "axis_size": 19, "span": 8}
    assert [(f["slice_mask"], f["slice_thres"], f["time_thres"]) for f in found["filters"]] == [(3, 2, 1), (12, 8, 1)]


INEXPRESSIBLE = {
    "slice digits out of order": ("X, R # 16 / 2 % 4, R # 16 / 8", "R # 16 % 2", "1 # 4", 13),
    "a slice digit between time digits": ("X, R # 16 / 2 % 4", "R # 16 / 8, R # 16 % 2", "1 # 4", 13),
    "padded too far": ("X, R # 20 % 4", "A, R # 20 / 4", "1 # 4", 14),
    "a major digit in the packet": ("X", "R # 24 % 8", "R # 24 / 8 # 4", 19),
    "two axes in the packet": ("X", "R # 24 / 2", "R # 24 % 2, Y / 8", 19),
    "slice and packet": ("R # 1024 / 4", "1", "R # 1024 % 4", 1021),
    "a slice digit of three": ("R # 24 / 8, X", "R # 24 % 8", "1 # 4", 19),
    "five axes": (
        "H # 8, C # 8",
        "A # 4, Y # 17, R # 8",
        "1 # 4",
        7,
    ),
}


@pytest.mark.parametrize("name", INEXPRESSIBLE)
def test_placements_without_settings(name: str):
    *texts, size = INEXPRESSIBLE[name]
    found = derive(HARDWARE, *(parse(t, AXES | {"R": size}) for t in texts), "R")
    assert found.padded
    assert found.settings is None
    assert found.reason


@pytest.mark.parametrize("name", INEXPRESSIBLE)
def test_another_placement_is_proposed_where_the_reduced_axis_is_in_the_way(name: str):
    *texts, size = INEXPRESSIBLE[name]
    axes = AXES | {"R": size}
    said = proposal(HARDWARE, *(parse(t, axes) for t in texts), "R")
    if name == "five axes":
        assert said == ""
        return
    placed = [parse(t, axes) for t in re.findall(r"`([^`]*)`", said)]
    found = derive(HARDWARE, *placed, "R")
    assert found.settings is not None
    assert placed[0].size == parse(texts[0], axes).size
    kind = np.broadcast_to(all_cells(*placed).kind, tuple(e.size for e in placed))
    given = np.broadcast_to(all_cells(*(parse(t, axes) for t in texts)).kind, [parse(t, axes).size for t in texts])
    assert (kind == LIVE).sum() == (given == LIVE).sum(), "as many cells as before"


def test_random_proposals_can_be_set_and_hold_the_axis():
    rng, told = random.Random(7), 0
    for _ in range(300):
        stream = placement(rng)
        verdict = derive(HARDWARE, *stream, "R")
        said = proposal(HARDWARE, *stream, "R") if verdict.reason and verdict.padded else ""
        if not said:
            continue
        told += 1
        axes = {n.name: n.size for e in stream for n in nodes(e) if isinstance(n, Axis)}
        placed = [parse(t, axes) for t in re.findall(r"`([^`]*)`", said)]
        found = derive(HARDWARE, *placed, "R")
        assert found.settings is not None or not found.padded
        assert placed[0].size == stream[0].size
    assert told > 20


def test_slice_and_packet_where_every_flit_is_full_or_empty():
    found = derive(HARDWARE, *(parse(t, {"R": 1020}) for t in ("R # 1024 / 4", "1", "R # 1024 % 4")), "R")
    assert found.settings is not None
    assert found.settings["filters"][0]["slice_thres"] == 255
