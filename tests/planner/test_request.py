"""Rules of what is handed over beside a kernel: each with a legal example, a broken one, and a legal one beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from safetensors.numpy import save_file

import models.presets.load
import planner
from models.faults import FaultError
from models.graph import Illegal, Mode, Operation
from models.presets.load import load_hardware
from planner.buffers import Buffers
from planner.cases import run_cases
from planner.choices import Choices
from planner.files import read_plan
from planner.inputs import read_inputs
from planner.options import PlanOptions, Request
from tests.cli.samples import a_plan

Action = Callable[[Path], object]


def preset(text: str) -> Action:
    def act(folder: Path) -> object:
        file = folder / "chip.yaml"
        file.write_text(text, encoding="utf-8")
        return load_hardware(str(file))

    return act


def planned(dm_bytes: int) -> Action:
    """Plans gemm, where `a_dm` of 4096 and `c_dm` of 2048 bytes are alive together; no one rule may explain it."""

    def act(_folder: Path) -> object:
        request = Request(settings={"dm.bytes_per_slice": dm_bytes})
        with patch("planner.infeasible.explain", return_value=None):
            return planner.plan(GEMM, request, PlanOptions(alternatives=False, verify=False))

    return act


GEMM = Path(__file__).parent.parent.parent / "examples" / "gemm.yaml"
RNGD = Path(models.presets.load.__file__).with_name("rngd.yaml").read_text(encoding="utf-8")


def tiled(**changes: tuple[str, str]) -> Action:
    """Prepares tiled_scale with words of its text replaced."""

    def act(folder: Path) -> object:
        text = GEMM.with_name("tiled_scale.yaml").read_text(encoding="utf-8")
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        file = folder / "k.yaml"
        file.write_text(text, encoding="utf-8")
        return planner.prepare(file)

    return act


def setting(path: str, value: int) -> Action:
    return lambda _folder: load_hardware("rngd", {path: value})


def plan(**changes: object) -> Action:
    def act(folder: Path) -> object:
        file = folder / "p.json"
        file.write_text(json.dumps(json.loads(a_plan().model_dump_json(by_alias=True)) | changes), encoding="utf-8")
        return read_plan(file)

    return act


def case(text: str) -> Action:
    def act(folder: Path) -> object:
        file = folder / "c.yaml"
        file.write_text(f"cases:\n- {{id: c, {text}, axes: {{A: 8}}, expr: A}}\n", encoding="utf-8")
        return run_cases([file])

    return act


def inputs(name: str, **arrays: np.ndarray) -> Action:
    def act(folder: Path) -> object:
        file = folder / name
        if file.suffix == ".npz":
            np.savez(file, **arrays)
        elif file.suffix == ".safetensors":
            save_file(arrays, file)
        else:
            file.write_bytes(b"neither")
        return read_inputs(file, a_plan())

    return act


def choice(path: str) -> Action:
    modes = (Mode("m", {"context": "main"}, frozenset({"main"}), 10),)
    operation = Operation("o", "o", "pass", modes, illegal=(Illegal("lane_mode", "main", "a_rule", "why"),))

    def act(_folder: Path) -> object:
        faults = list(Choices(fixed={path: "main"}).unknown([operation], Buffers(load_hardware())))
        if faults:
            raise FaultError(faults)
        return path

    return act


X = np.arange(64, dtype=np.int8)
OK, NOT_OK = "expect: {ok: true}", "expect: {ok: false}"
RULE_CASES: dict[str, Action] = {
    "unreadable_preset.feasible": preset(RNGD),
    "unreadable_preset.broken": preset("- " + RNGD),
    "unreadable_preset.beside": preset("# a remark\n" + RNGD),
    "unknown_hardware_path.feasible": setting("trf.rows_per_bank", 64),
    "unknown_hardware_path.broken": setting("trf.rows_per_banks", 64),
    "unknown_hardware_path.beside": setting("trf.banks", 64),
    "hardware_out_of_range.feasible": setting("trf.banks", 2),
    "hardware_out_of_range.broken": setting("trf.banks", 0),
    "hardware_out_of_range.beside": setting("trf.banks", 1),
    "unknown_choice.feasible": choice("o.context"),
    "unknown_choice.broken": choice("o.contexts"),
    "unknown_choice.beside": choice("o.lane_mode"),
    "infeasible.feasible": planned(524288),
    "infeasible.broken": planned(6143),
    "infeasible.beside": planned(6144),
    "tile_not_covered.feasible": tiled(),
    "tile_not_covered.broken": tiled(count=("count: 15", "count: 14")),
    "tile_not_covered.beside": tiled(
        count=("count: 15", "count: 30"),
        length=("length: 4", "length: 2"),
        start=("4 * i", "2 * i"),
        size=("= 4", "= 2"),
    ),
    "plan_form.feasible": plan(),
    "plan_form.broken": plan(makespan_cycles="many"),
    "plan_form.beside": plan(makespan_cycles=None),
    "case_form.feasible": case(f"engine: mapping, {OK}"),
    "case_form.broken": case("engine: mapping, expect: {}"),
    "case_form.beside": case(f"engine: mapping, {NOT_OK}"),
    "unknown_engine.feasible": case(f"engine: mapping, {OK}"),
    "unknown_engine.broken": case(f"engine: mappings, {OK}"),
    "unknown_engine.beside": case(f"engine: mapping, x_engine: mappings, {OK}"),
    "unreadable_inputs.feasible": inputs("i.npz", x=X),
    "unreadable_inputs.broken": inputs("i.npy", x=X),
    "unreadable_inputs.beside": inputs("i.safetensors", x=X),
    "inputs_mismatch.feasible": inputs("i.npz", x=X),
    "inputs_mismatch.broken": inputs("i.npz", x=X, y=X),
    "inputs_mismatch.beside": inputs("i.npz", x=X + 1),
}


@pytest.mark.parametrize("name", RULE_CASES)
def test_rule(name, tmp_path):
    rule, _, part = name.rpartition(".")
    found = set()
    try:
        RULE_CASES[name](tmp_path)
    except FaultError as error:
        found = {f.rule for f in error.faults}
    assert found == ({rule} if part == "broken" else set())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"\x93NUMPY"])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_broken_inputs_are_a_fault(tmp_path, content, suffix):
    file = tmp_path / f"i{suffix}"
    file.write_bytes(content)
    with pytest.raises(FaultError) as caught:
        read_inputs(file, a_plan())
    assert [f.rule for f in caught.value.faults] == ["unreadable_inputs"]


def test_pickled_inputs_are_not_executed(tmp_path):
    file = tmp_path / "i.npz"
    np.savez(file, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FaultError):
        read_inputs(file, a_plan())


def test_narrow_floats_of_safetensors_keep_their_type(tmp_path):
    # 1.0 is 0x3f80 in bf16 and 0x38 in fp8 e4m3
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    file = tmp_path / "i.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + b"\x80\x3f\x00\x40")
    found = read_inputs(file, a_plan())["x"]
    assert found.dtype.name == "bfloat16"
    assert found.astype(np.float32).tolist() == [1.0, 2.0]


def test_missing_inputs_are_named(tmp_path):
    np.savez(tmp_path / "i.npz", z=X)
    with pytest.raises(FaultError) as caught:
        read_inputs(tmp_path / "i.npz", a_plan())
    assert [(f.rule, f.found) for f in caught.value.faults] == [("inputs_mismatch", "z"), ("inputs_mismatch", "x")]
