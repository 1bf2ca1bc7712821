"""`tuplan switch` on the published cases; what it and its neighbours say of numbers that make no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from cli.app import app
from tests.planner.switch_kernels import switch_kernel

GOLDEN = Path(__file__).parents[1] / "golden" / "switch.yaml"
CASES = YAML(typ="safe").load(GOLDEN)["cases"]
ACCEPTED = [c for c in CASES if c["expect"]["ok"]]
REFUSED = [c for c in CASES if not c["expect"]["ok"]]
BASE = next(c for c in CASES if c["id"] == "transpose") | {"axes": {"A": 256, "B": 4, "C": 64}}
RINGS = next(c for c in CASES if c["id"] == "custom_multi_axis_broadcast")


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def question(case: dict[str, Any], *more: str) -> list[str]:
    axes = ",".join(f"{name}={size}" for name, size in case["axes"].items())
    out = ["switch", "--axes", axes, "--dtype", case["dtype"], "--packet", case["packet"]]
    for name in ("in_slice", "in_time", "out_slice", "out_time"):
        out += [f"--{name.replace('_', '-')}", case[name]]
    return [*out, *more]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda c: c["id"])
def test_a_published_configuration_is_listed_in_its_place(case: dict[str, Any]) -> None:
    found = run(*question(case, "--json"))
    assert found.exit_code == 0
    document = json.loads(found.stdout)
    options, parameters = document["options"], ("slice1", "slice0", "time0")
    asked = {name: case["config"].get(name) for name in ("kind", *parameters)}
    mine = [o for o in options if {name: o[name] for name in asked} == asked]
    assert [(o["ring_size"], o["cycles"]) for o in mine] == [(case["expect"]["ring_size"], case["expect"]["cycles"])]
    ranks = [(o["pass_cycles"], 1 + len(o["occupies"]) if o["kind"] != "Dma" else 1) for o in options]
    assert [cycles for cycles, _ in ranks] == sorted(cycles for cycles, _ in ranks)
    assert ranks == sorted(ranks)
    assert document["chosen"] == 0
    assert all(o["reason"] for o in options[1:])
    assert set(document["reasons"]) | {o["kind"] for o in options} >= {"Transpose", "CustomBroadcast", "Forwarding"}


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c["id"])
def test_a_refused_configuration_is_not_listed(case: dict[str, Any]) -> None:
    found = run(*question(case, "--json"))
    document = json.loads(found.stdout)
    assert found.exit_code == (0 if document["options"] else 1)
    asked = {name: case["config"].get(name) for name in ("kind", "slice1", "slice0", "time0", "ring_size")}
    assert asked not in [{name: o[name] for name in asked} for o in document["options"]]
    rule = case["expect"].get("rule", "")
    if rule and not rule.startswith("ring_size"):
        why = document["reasons"][case["config"]["kind"]]
        assert why["rule"] == rule
        assert why["message"]


def test_the_readable_answer_has_everything_to_go_on_with() -> None:
    shown = run(*question(RINGS)).stdout
    assert (
        ".switch::<m![A / 2, X, B / 2, Y], m![C, A % 2, B % 2]>(SwitchConfig::CustomBroadcast { ring_size: 32 })"
        in (shown)
    )
    assert "8 sub-rings of 32 slices: 0-31, 32-63, ..., 224-255" in shown
    assert "slice 0 listens to 0, 1, 16, 17" in shown
    for text in ("in Slice", "out Slice", "book's cycles", "nearest legal", "switch_slice_shape"):
        assert text in shown


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"out_slice": "A / 2"}, "slice_size_mismatch"),
        ({"in_slice": "A % 32", "out_slice": "A / 8"}, "switch_slice_count"),
        ({"out_time": "B, C"}, "output_not_held"),
    ],
)
def test_with_nothing_legal_every_kind_says_why(changes: dict[str, str], rule: str) -> None:
    found = run(*question(BASE | changes, "--json"))
    document = json.loads(found.stdout)
    assert (found.exit_code, document["options"], document["chosen"]) == (1, [], None)
    assert len(document["reasons"]) == 7
    assert rule in {why["rule"] for why in document["reasons"].values()}
    assert all(why["message"] and why["wanted"] for why in document["reasons"].values())
    assert "no legal way" in run(*question(BASE | changes)).stdout


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"out_slice": "Q, A / 2"}, "unknown_axis"),
        ({"in_time": "B / 3"}, "stride_must_divide"),
        ({"in_time": "B #"}, ""),
    ],
)
def test_a_mapping_that_makes_no_sense_is_named(changes: dict[str, str], rule: str) -> None:
    found = run(*question(BASE | changes, "--json"))
    assert found.exit_code in (1, 2)
    assert rule in found.stdout + found.stderr
    assert "Traceback" not in found.stdout + found.stderr


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("zero", {"kind": "Transpose", "slice1": 0, "slice0": 2}, "switch_parameter_not_power_of_two"),
    ("three", {"kind": "Transpose", "slice1": 3, "slice0": 2}, "switch_parameter_not_power_of_two"),
    ("too_many", {"kind": "Transpose", "slice1": 512, "slice0": 1}, "switch_groups_exceed_slice"),
    ("time0", {"kind": "Broadcast01", "slice1": 2, "slice0": 2, "time0": 3}, "switch_time_split"),
    ("no_time0", {"kind": "Broadcast01", "slice1": 2, "slice0": 2, "time0": 0}, "switch_time_split"),
    ("ring_48", {"kind": "CustomBroadcast", "ring_size": 48}, "ring_size_not_power_of_two"),
    ("ring_0", {"kind": "CustomBroadcast", "ring_size": 0}, "ring_size_not_power_of_two"),
    ("ring_512", {"kind": "CustomBroadcast", "ring_size": 512}, "ring_size_mismatch"),
    ("surplus", {"kind": "Transpose", "slice1": 2, "slice0": 2, "ring_size": 4}, "switch_parameters"),
]


@pytest.mark.parametrize(("name", "config", "rule"), BAD, ids=[b[0] for b in BAD])
def test_bad_parameters_of_a_case_get_their_rule(tmp_path: Path, name: str, config: dict[str, Any], rule: str) -> None:
    case = BASE | {"id": name, "config": config, "expect": {"ok": False, "rule": rule}}
    path = tmp_path / "cases.yaml"
    path.write_text(json.dumps({"cases": [case]}))
    found = run("cases", path, "--json")
    assert (found.exit_code, json.loads(found.stdout)["passed"]) == (0, 1), found.stdout


@pytest.mark.parametrize(("name", "config", "rule"), BAD, ids=[b[0] for b in BAD])
def test_bad_parameters_of_a_kernel_get_their_rule(
    tmp_path: Path, name: str, config: dict[str, Any], rule: str
) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(switch_kernel(BASE | {"config": config}))
    found = run("check", path, "--json")
    assert found.exit_code == 1
    faults = json.loads(found.stdout)["kernels"][0]["faults"]
    assert rule in {f["rule"] for f in faults}
    assert {f["op"] for f in faults} == {"move"}
