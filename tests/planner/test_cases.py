from __future__ import annotations

from pathlib import Path

import pytest

import planner.cases
from models.faults import FaultError
from models.presets.load import load_hardware
from planner.case_file import read_cases
from planner.cases import run_case, run_cases

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Runs one case of an engine that answers with a given result; gives the mismatches."""

    def judge(expect: str, result: dict) -> list[str]:
        monkeypatch.setattr(planner.cases, "case_functions", lambda: {"fake": lambda _case, _hardware: result})
        file = tmp_path / "c.yaml"
        file.write_text(f"cases:\n- {{id: c, engine: fake, expect: {expect}}}\n", encoding="utf-8")
        return list(run_case(read_cases(file)[0], load_hardware()).mismatches)

    return judge


FINE = {"ok": True, "rules": [], "warnings": []}
BROKEN = {"ok": False, "rules": ["a_rule", "b_rule"], "warnings": []}


@pytest.mark.parametrize(
    ("expect", "result"),
    [
        ("{ok: true}", FINE),
        ("{ok: false, rule: b_rule}", BROKEN),
        ("{ok: false, rules: [a_rule, b_rule]}", BROKEN),
        (
            "{ok: true, cells: {3: {A: 1}, 4: padding_top}}",
            FINE | {"cells": {3: {"A": 1, "B": 0}, 4: "padding_top", 5: {}}},
        ),
        ("{ok: true, cells: {0: {}}}", FINE | {"cells": {0: {"A": 0}}}),
        ("{ok: true, bitmap: {1: [0, 1]}}", FINE | {"bitmap": [(5,), (0, 1)]}),
        ("{ok: true, live: {2: 0}}", FINE | {"live": {2: 0, 3: 4}}),
        ('{ok: true, entries: ["4:192", "16:1"]}', FINE | {"entries": ("4:192", "16:1")}),
        ("{ok: true, vcg: null}", FINE | {"vcg": None}),
        ("{ok: true, x_note: whatever}", FINE),
    ],
)
def test_what_is_as_expected_passes(judged, expect, result):
    assert judged(expect, result) == []


@pytest.mark.parametrize(
    ("expect", "result", "mismatch"),
    [
        ("{ok: true}", BROKEN, "ok: wanted True, found False"),
        ("{ok: false, rule: c_rule}", BROKEN, "rule: wanted c_rule, found a_rule, b_rule"),
        ("{ok: false, rule: c_rule}", BROKEN | {"rules": []}, "rule: wanted c_rule, found none broken"),
        ("{ok: true, size: 1}", FINE | {"size": True}, "size: wanted 1, found True"),
        ("{ok: true, size: 1}", FINE, "size: wanted 1, the result has no such field"),
        ("{ok: true, cells: {3: {A: 1}}}", FINE | {"cells": {3: {"A": 1, "B": 2}}}, "cells[3]: wanted {'A': 1}"),
        ("{ok: true, cells: {3: {A: 1}}}", FINE | {"cells": {}}, "cells[3]: wanted {'A': 1}, not in the result"),
        ("{ok: true, bitmap: {0: [1]}}", FINE | {"bitmap": {0: [1, 2]}}, "bitmap[0]: wanted [1], found [1, 2]"),
    ],
)
def test_what_differs_is_said_with_both_values(judged, expect, result, mismatch):
    found = judged(expect, result)
    assert len(found) == 1
    assert found[0].startswith(mismatch)


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("cases: 3\n", "case_form", 1),
        ("- a\n", "case_form", 1),
        ("", "case_form", 1),
        ("cases: [\n", "yaml_syntax", 2),
        ("cases: []\nwrong: 1\n", "case_form", 2),
        ("cases:\n- 7\n", "case_form", 2),
        ("cases:\n- {id: a, engine: mapping, expect: {}}\n", "case_form", 2),
        ("cases:\n- {id: a, engine: mapping, expect: {ok: maybe}}\n", "case_form", 2),
        ("cases:\n\n- {id: a, engine: mapping, axes: {A: 0}, expect: {ok: true}}\n", "case_form", 3),
        ("cases:\n- {id: a, engine: mapping, expr: [1], expect: {ok: true}}\n", "case_form", 2),
        ("cases:\n- {id: a, engine: mapping, expr: A, expect: {ok: true, cells: {x: {}}}}\n", "case_form", 2),
        ("cases:\n- {id: a, engine: cast, dtype: i7, expect: {ok: true}}\n", "case_form", 2),
        ("cases:\n- {id: a, engine: warp, expect: {ok: true}}\n", "unknown_engine", 2),
        ("cases:\n- {id: a, engine: fetch, expect: {ok: true}}\n", "case_form", 2),
        ("cases:\n- {id: a, id: b, engine: mapping, expect: {ok: true}}\n", "duplicate_key", 2),
        ("cases:\n- id: a\n  engine: mapping\n  expr: A # 8\n  expect: {ok: true}\n", "unquoted_padding", 4),
    ],
)
def test_a_malformed_file_is_a_fault_with_its_line(tmp_path, text, rule, line):
    file = tmp_path / "c.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FaultError) as caught:
        run_cases([file])
    assert [(f.rule, f.file, f.line) for f in caught.value.faults] == [(rule, str(file), line)]


def test_all_faults_of_all_files_come_at_once(tmp_path):
    files = [tmp_path / name for name in ("a.yaml", "b.yaml")]
    for file in files:
        file.write_text("cases:\n- {id: 1}\n- {id: 2}\n", encoding="utf-8")
    with pytest.raises(FaultError) as caught:
        run_cases(files)
    places = {(f.file, f.line) for f in caught.value.faults}
    assert places == {(str(file), line) for file in files for line in (2, 3)}


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.yaml")), ids=lambda f: f.stem)
def test_the_golden_tables_pass_as_far_as_their_engines_go(file):
    cases = [c for c in read_cases(file) if c.case.engine in planner.cases.case_functions()]
    failed = {c.case.id: r.mismatches for c in cases if not (r := run_case(c, load_hardware())).passed}
    assert failed == {}


@pytest.mark.parametrize(("file", "engine"), [("mapping", "mapping"), ("collect", "collect"), ("registers", "to_trf")])
def test_engines_of_the_finished_tables_exist(file, engine):
    assert engine in planner.cases.case_functions()
    assert engine in {c.case.engine for c in read_cases(GOLDEN / f"{file}.yaml")}


def test_numbers_of_the_hardware_can_be_changed(tmp_path):
    table = GOLDEN / "registers.yaml"
    report = run_cases([table], {"trf.rows_per_bank": 256})
    failed = {c.id for c in report.cases if not c.passed}
    assert failed == {"trf_over_capacity", "trf_exactly_full"}, "twice the rows: 512 flits a lane fit, 256 are a half"
