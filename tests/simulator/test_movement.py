"""Engines that only move: every output position against the input position that holds its cell."""

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from simulator.bench import Report
from simulator.engines.collect import collect
from simulator.engines.transpose import transpose
from tests.simulator.bench import SPATIAL, Lookup, make_run, make_stage, numbered_flow

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name):
    return [c for c in YAML(typ="safe").load(GOLDEN / name)["cases"] if c["expect"]["ok"]]


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
