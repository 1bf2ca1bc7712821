"""Engines that only move: every output position against the input position that holds its cell."""

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from simulator.bench import Report
from simulator.engines.collect import collect
from simulator.engines.snoop import custom, expand, regular
from simulator.engines.switch import heard, switch
from simulator.engines.transpose import transpose
from tests.simulator.bench import SPATIAL, Lookup, make_run, make_stage, numbered_flow

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name):
    return [c for c in YAML(typ="safe").load(GOLDEN / name)["cases"] if c["expect"]["ok"]]


def short(axes, keep):
    """Packets are carried whole, so a short one tests as much and costs less."""
    return {a: (min(n, 4) if a in keep else n) for a, n in axes.items()}


def pattern(bits):
    return {"pattern": [np.flatnonzero(row).tolist() for row in bits], "period": len(bits)}


@pytest.mark.parametrize("case", golden("switch.yaml"), ids=lambda c: c["id"])
def test_switch_moves_every_cell_where_it_belongs(case):
    axes = {**case["axes"], "Q": 2}
    run = make_run(axes)
    layouts, config = run.layouts, case["config"]
    slices = layouts.size(case["in_slice"])
    if config["kind"] == "CustomBroadcast":
        bits = custom(layouts, (case["in_slice"], case["in_time"]), (case["out_slice"], case["out_time"]))
    else:
        bits = regular(config, slices)
    for row, sources in case["expect"].get("bitmap", {}).items():
        assert np.flatnonzero(bits[row]).tolist() == sources
    flow = numbered_flow(run, "i32", case["in_slice"], case["in_time"], "Q")
    stage = make_stage(
        "switch",
        "i32",
        case["out_slice"],
        case["out_time"],
        "Q",
        config=config,
        ring_size=case["expect"]["ring_size"],
        bitmap=pattern(bits),
    )
    out = switch(run, stage, flow)
    found = Lookup.of(axes, case["in_slice"], case["in_time"]).sources(axes, case["out_slice"], case["out_time"])
    assert found
    at, origin = (tuple(np.array(side).T) for side in zip(*found, strict=True))
    assert np.array_equal(out.raw[at], flow.raw[origin])
    extra = run.bench.plan.hardware.switch.pass_extra_steps
    ring, steps = case["expect"]["ring_size"], layouts.size(case["in_time"])
    assert out.steps == ring * (steps * 1 + extra)


def test_a_cleared_bit_leaves_poison():
    axes = {"A": 64, "B": 3, "X": 4, "Q": 8}
    run = make_run(axes)
    config = {"kind": "Broadcast1", "slice1": 4, "slice0": 2}
    bits = regular(config, 64)
    bits[10, :] = False
    flow = numbered_flow(run, "i32", "A", "B", "Q")
    stage = make_stage(
        "switch", "i32", "A / 8, X, A % 2", "B, A / 2 % 4", "Q", config=config, ring_size=8, bitmap=pattern(bits)
    )
    out = switch(run, stage, flow)
    assert out.poison[10].all()
    assert not np.delete(out.poison, 10, axis=0).any()


def test_a_router_hears_its_own_block_in_ascending_order():
    hears = np.zeros((8, 8), bool)
    hears[1, [3, 0, 2]] = True
    hears[5, [1, 6]] = True
    assert heard(hears, 4)[1].tolist() == [0, 2, 3]
    assert heard(hears, 4)[5].tolist() == [6, -1, -1]
    assert heard(hears, 8)[5].tolist() == [1, 6, -1]


def test_a_bitmap_repeats_by_its_period():
    bits = expand({"pattern": [[1], [0]], "period": 2}, 6)
    assert [np.flatnonzero(row).tolist() for row in bits] == [[1], [0], [3], [2], [5], [4]]


@pytest.mark.parametrize("case", golden("collect.yaml"), ids=lambda c: c["id"])
def test_collect_pads_and_splits(case):
    axes = {**case["axes"], "S": 64}
    run = make_run(axes)
    flow = numbered_flow(run, case["dtype"], "S", case["time"], case["packet"])
    out = collect(run, make_stage("collect", case["dtype"], "S", case["out_time"], case["out_packet"]), flow)
    source = Lookup.of(axes, "S", case["time"], case["packet"])
    for at, origin in source.sources(axes, "S", case["out_time"], case["out_packet"]):
        assert out.raw[at] == flow.raw[origin]
    padding = run.layouts.identity((*SPATIAL, "S"), (case["out_time"], case["out_packet"])).kind != 0
    assert np.array_equal(
        np.broadcast_to(padding, out.raw.shape), out.poison if out.poison is not None else np.zeros(out.raw.shape, bool)
    )
    assert out.time == run.layouts.size(case["time"]) * case["expect"]["flits_per_packet"]


@pytest.mark.parametrize("case", golden("transpose.yaml"), ids=lambda c: c["id"])
def test_transpose_swaps_time_and_packet(case):
    axes = {**case["axes"], "S": 64}
    run = make_run(axes)
    flow = numbered_flow(run, case["dtype"], "S", case["time"], case["packet"])
    expect = case["expect"]
    valid = expect.get("valid_size", {"i4": 16}.get(case["dtype"], 8))
    derived = {**expect, "valid_size": valid, "packets_per_col": expect["in_cols"] // valid}
    stage = make_stage("transpose", case["dtype"], "S", case["out_time"], case["out_packet"], **derived)
    out = transpose(run, stage, flow)
    source = Lookup.of(axes, "S", case["time"], case["packet"])
    for at, origin in source.sources(axes, "S", case["out_time"], case["out_packet"]):
        assert out.raw[at] == flow.raw[origin]
    assert out.steps == expect["cycles"]
    assert run.bench.report == Report()
