"""The switch: packets on the ring, the snoop bitmaps that say who copies them, and what room a router has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ruamel.yaml import YAML

from simulator.engines.ring import NOTHING, copied, most_held, turn_of
from simulator.engines.snoop import Wanted, custom, expand, regular
from simulator.engines.switch import order_fault, switch
from tests.simulator.bench import SPATIAL, Lookup, make_run, make_stage, numbered_flow

GOLDEN = Path(__file__).parents[1] / "golden" / "switch.yaml"
ACCEPTED = [c for c in YAML(typ="safe").load(GOLDEN)["cases"] if c["expect"]["ok"]]
CONFIGS = [c["config"] for c in ACCEPTED]
Bits = NDArray[np.bool_]


def pattern(bits: Bits) -> dict[str, Any]:
    return {"pattern": [np.flatnonzero(row).tolist() for row in bits], "period": len(bits)}


def bits_of(wanted: Wanted) -> Bits:
    out = np.zeros((len(wanted.held),) * 2, dtype=np.bool_)
    for router in np.flatnonzero(wanted.live):
        out[router, wanted.sources(int(router))] = True
    return out


def wanted_of(axes: dict[str, int], before: tuple[str, str], after: tuple[str, str]) -> Wanted:
    return custom(make_run(axes).layouts, before, after)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda c: c["id"])
def test_every_cell_arrives_and_every_slot_takes_its_flits(case: dict[str, Any]) -> None:
    axes = {**case["axes"], "Q": 16}
    run, config, expect = make_run(axes), case["config"], case["expect"]
    slices, steps = run.layouts.size(case["in_slice"]), run.layouts.size(case["in_time"])
    if config["kind"] == "CustomBroadcast":
        wanted = custom(run.layouts, (case["in_slice"], case["in_time"]), (case["out_slice"], case["out_time"]))
        bits, ring = bits_of(wanted), wanted.ring()
    else:
        bits, ring = regular(config, slices), expect["ring_size"]
    assert ring == expect["ring_size"]
    for row, sources in expect.get("bitmap", {}).items():
        assert np.flatnonzero(bits[row]).tolist() == sources
    settings = {"config": config, "ring_size": ring, "bitmap": pattern(bits)}
    flow = numbered_flow(run, "i32", case["in_slice"], case["in_time"], "Q")
    out = switch(run, make_stage("switch", "i32", case["out_slice"], case["out_time"], "Q", **settings), flow)
    levels = [case["out_slice"], case["out_time"]]
    found = Lookup.of(axes, case["in_slice"], case["in_time"]).sources(axes, *levels)
    assert found
    at, origin = (tuple(np.array(side).T) for side in zip(*found, strict=True))
    assert np.array_equal(out.raw[at], flow.raw[origin])
    flits, extra = 2, run.bench.plan.hardware.switch.pass_extra_steps
    assert out.steps == ring * (steps * flits + extra)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c["kind"])
def test_as_many_slots_pass_as_the_formula_counts(config: dict[str, Any]) -> None:
    ring = config.get("ring_size") or config["slice1"] * config["slice0"]
    turn = turn_of(config, ring)
    assert turn.slots == ring * turn.steps
    seen = {(int(s), int(t)) for s, t in zip(turn.source, turn.step, strict=True)}
    assert seen == {(s, t) for s in range(ring) for t in range(turn.steps)}


def test_broadcast01_alone_sends_several_steps_in_one_turn() -> None:
    turn = turn_of({"kind": "Broadcast01", "slice1": 2, "slice0": 2, "time0": 3}, 4)
    assert turn.source.tolist() == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]
    assert turn.step.tolist() == [0, 0, 1, 1, 2, 2] * 2


def test_a_router_hears_its_own_block_in_ascending_order() -> None:
    hears = np.zeros((8, 8), bool)
    hears[1, [3, 0, 2]] = True
    hears[5, [1, 6]] = True
    kind = {"kind": "CustomBroadcast"}
    in_fours, in_one = (copied(turn_of(kind, ring), hears, ring).source for ring in (4, 8))
    assert in_fours[1].tolist() == [0, 2, 3]
    assert in_fours[5].tolist() == [6, NOTHING, NOTHING]
    assert in_one[5].tolist() == [1, 6, NOTHING]


def test_a_dead_router_sends_and_copies_nothing() -> None:
    turn = turn_of({"kind": "Broadcast1"}, 4)
    copies = copied(turn, np.ones((8, 8), bool), 4, frozenset({1})).source
    assert copies[0].tolist() == [0, 2, 3, NOTHING]
    assert (copies[1] == NOTHING).all()
    assert copies[4].tolist() == [4, 5, 6, 7]


def test_a_bitmap_repeats_by_its_period() -> None:
    bits = expand({"pattern": [[1], [0]], "period": 2}, 6)
    assert [np.flatnonzero(row).tolist() for row in bits] == [[1], [0], [3], [2], [5], [4]]


def test_a_cleared_bit_leaves_poison() -> None:
    axes = {"A": 64, "B": 3, "X": 4, "Q": 8}
    run = make_run(axes)
    config = {"kind": "Broadcast1", "slice1": 4, "slice0": 2}
    bits = regular(config, 64)
    bits[10, :] = False
    flow = numbered_flow(run, "i32", "A", "B", "Q")
    settings = {"config": config, "ring_size": 8, "bitmap": pattern(bits)}
    out = switch(run, make_stage("switch", "i32", "A / 8, X, A % 2", "B, A / 2 % 4", "Q", **settings), flow)
    assert out.poison is not None
    assert out.poison[10].all()
    assert not np.delete(out.poison, 10, axis=0).any()


@pytest.mark.parametrize(
    ("kind", "slice1", "slice0", "time0"),
    [
        ("Broadcast01", 1, 4, 2),
        ("Broadcast01", 4, 1, 2),
        ("Broadcast1", 1, 8, None),
        ("TransposedBroadcast1", 8, 1, None),
        ("Transpose", 1, 1, None),
        ("InterTranspose", 1, 4, 3),
    ],
)
def test_parts_of_size_one_are_parts_like_others(kind: str, slice1: int, slice0: int, time0: int | None) -> None:
    config = {"kind": kind, "slice1": slice1, "slice0": slice0, "time0": time0}
    kept = {"Broadcast01": slice1 * slice0, "Broadcast1": slice1, "InterTranspose": slice1}
    per_row = {**kept, "TransposedBroadcast1": slice0, "Transpose": 1}[kind]
    assert (regular(config, 64).sum(axis=1) == per_row).all()


# Room for one packet ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "held"),
    [([0, 1, 2, 3], 1), ([1, 0, 2, 3], 2), ([3, 0, 1, 2], 4), ([1, 2, 3, 0], 2), ([0, 2, 1, 3], 2), ([5, 7], 1)],
)
def test_only_the_order_of_arrival_needs_one_place(order: list[int], held: int) -> None:
    assert most_held(np.array(order)) == held


@pytest.mark.parametrize(
    ("after", "rule"),
    [
        (("A, B / 4, 4", "C, B / 2 % 2, B % 2"), None),
        (("A, B / 4, 4", "C, B % 2, B / 2 % 2"), "moved_order_not_preserved"),
        (("A, B / 4, 4", "B / 2 % 2, B % 2, C"), "moved_not_innermost"),
        (("A, B / 4, 4", "B / 2 % 2, C, B % 2"), "moved_not_innermost"),
    ],
)
def test_another_order_needs_a_second_held_packet(after: tuple[str, str], rule: str | None) -> None:
    """The ring gives one order; what claims another one would have to hold packets back."""
    axes = {"A": 16, "B": 16, "C": 8, "Q": 8}
    run = make_run(axes)
    bits = bits_of(wanted_of(axes, ("A, B", "C"), ("A, B / 4, 4", "C, B % 4")))
    settings = {"config": {"kind": "CustomBroadcast", "ring_size": 4}, "ring_size": 4, "bitmap": pattern(bits)}
    out = switch(run, make_stage("switch", "i32", *after, "Q", **settings), numbered_flow(run, "i32", "A, B", "C", "Q"))
    claimed = run.layouts.identity((*SPATIAL, after[0]), (after[1], "Q")).only(out.cells.index)
    found = order_fault(run, out.cells, claimed, 0, 4)
    assert (found and found[0]) == rule
    assert found is None or "it has room for 1" in found[1]


# What a custom bitmap is to bring about -----------------------------------------------------------------------


def test_padding_that_moves_whole_is_heard() -> None:
    axes = {"A": 16, "C": 3, "D": 8, "X": 4}
    cut = wanted_of(axes, ("A, C # 4", "D"), ("A, X", "D, C"))
    whole = wanted_of(axes, ("A, C # 4", "D"), ("A, X", "D, C # 4"))
    assert [w.sources(5) for w in (cut, whole)] == [[4, 5, 6], [4, 5, 6, 7]]
    assert [w.ring() for w in (cut, whole)] == [4, 4]
    assert whole.flaw(bits_of(cut)) == 0
    assert cut.flaw(bits_of(whole)) == 0


def test_any_copy_will_do_but_only_one() -> None:
    wanted = wanted_of({"A": 64, "B": 2}, ("4, A", "B"), ("A, 4", "B"))
    first = np.zeros((256, 256), bool)
    first[np.arange(256), np.arange(256) // 4] = True
    own = np.zeros((256, 256), bool)
    own[np.arange(256), np.arange(256) // 64 * 64 + np.arange(256) // 4] = True
    assert wanted.flaw(first) is None
    assert wanted.flaw(own) is None
    assert wanted.flaw(first | own) == 64
    assert wanted.ring() == 64
    missing = own.copy()
    missing[17] = False
    assert wanted.flaw(missing) == 17


def test_copies_that_move_come_from_as_many_slices() -> None:
    wanted = wanted_of({"A": 64, "B": 2}, ("A, 4", "B"), ("A, 4", "B, 4"))
    assert wanted.needed.shape == (256, 4)
    assert wanted.ring() == 4
    block = np.arange(256)[:, None] // 4 == np.arange(256)[None, :] // 4
    assert wanted.flaw(block) is None
