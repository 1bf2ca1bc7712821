"""A fault of one operation hides no fault of another, and makes no other one up."""

import re
from pathlib import Path

import pytest

from models.faults import FaultError
from planner.facade import prepare

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
HEAD = re.compile(r"(\s*- \{?)(pass|dma|reshape|loop): ")
LOOP = """\
kernel: looped
axes: {T: 4, A: 256, B: 64}
tensors:
  x: {dtype: i8, element: "T, A, B"}
  y: {dtype: i8, element: "T, A, B", role: output}
ops:
  - {dma: nothing, read: x, write: x_all, slice: "A", element: "T, B", NONSENSE}
  - loop: t
    count: 4
    ops:
      - {dma: load, read: {tensor: x, tile: "T", start: t, length: 1}, write: x_dm, slice: "A", element: "B", MORE}
      - pass: move
        read: x_dm
        steps:
          - fetch: {time: "B / 32", packet: "B % 16"}
          - collect
          - commit: {write: y_dm, element: "B"}
      - {dma: store, read: y_dm, write: {tensor: y, tile: "T", start: t, length: 1}}
"""


def faults(tmp_path, lines):
    file = tmp_path / "kernel.yaml"
    file.write_text(lines if isinstance(lines, str) else "\n".join(lines), encoding="utf-8")
    with pytest.raises(FaultError) as caught:
        prepare(file)
    return caught.value.faults


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_operation_that_cannot_be_read_is_the_only_fault(path, tmp_path):
    lines = path.read_text(encoding="utf-8").split("\n")
    found = {i: m for i, line in enumerate(lines) if (m := HEAD.match(line))}
    assert found
    for i, match in found.items():
        head, rest = match[1], lines[i][len(match[1]) :]
        joint = ", " if "{" in head else "\n" + " " * len(head)
        broken = [*lines[:i], f"{head}nonsense: 1{joint}{rest}", *lines[i + 1 :]]
        assert [(f.rule, f.line) for f in faults(tmp_path, broken)] == [("unknown_field", i + 1)]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("role: output", "rule: output"), "unknown_field"),
        (("read: a, write: a_dm", "read: aa, write: a_dm"), "unknown_tensor"),
        (("read: a_dm", "read: a"), "wrong_memory"),
        (("kernel: gemm", "kernel: 3 gemms"), "bad_name"),
        (("dma: store_c", "dma: load_a"), "duplicate_operation"),
    ],
)
def test_a_law_broken_elsewhere_is_told_beside_a_fault_of_the_reader(tmp_path, change, rule):
    text = (ROOT / "examples" / "gemm.yaml").read_text(encoding="utf-8").replace('lane: "J % 8"', 'lane: "J % 4"')
    both = text.replace(*change)
    assert both != text
    assert {rule, "lane_mismatch"} <= {f.rule for f in faults(tmp_path, both)}


def test_places_stay_those_of_the_file_where_operations_are_left_out(tmp_path):
    text = LOOP.replace("NONSENSE", "nonsense: 1").replace(", MORE", "")
    assert [(f.rule, f.line) for f in faults(tmp_path, text)] == [
        ("unknown_field", 7),
        ("live_cell_unread", 15),
        ("live_cell_unwritten", 17),
    ]


def test_what_reads_an_operation_that_is_left_out_is_left_out_too(tmp_path):
    text = LOOP.replace("NONSENSE", "nonsense: 1").replace("MORE", "nonsense: 1")
    assert [(f.rule, f.line) for f in faults(tmp_path, text)] == [("unknown_field", 7), ("unknown_field", 11)]
