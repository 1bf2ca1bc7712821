"""Transfers that differ in the names of their tensors alone are judged once; each keeps its own names and faults."""

import pytest

import planner
from models.faults import FaultError
from planner import build
from planner.engines import dma

RULE = "dma_cells_unwritten"
TEXT = """kernel: copies
axes: {{P: 64, A: 32}}
tensors:
  x: {{dtype: bf16, element: "P, A"}}
  u: {{dtype: bf16, element: "P, A"}}
  w: {{dtype: i8, element: "P, A"}}
  y: {{dtype: bf16, element: "P, A", role: output}}
  v: {{dtype: bf16, element: "P, A", role: output}}
ops:
  - {{dma: load_x, read: x, write: x_dm, slice: P, element: "{element}"}}
  - {{dma: load_u, read: u, write: u_dm, slice: P, element: "{element}"}}
  - {{dma: load_w, read: w, write: w_dm, slice: P, element: "{element}"}}
  - {{dma: store_y, read: x_dm, write: y}}
  - {{dma: store_v, read: u_dm, write: v}}
"""


@pytest.fixture
def asked(monkeypatch):
    seen = []
    law = dma.law
    monkeypatch.setattr(build.dma, "law", lambda *a, **k: seen.append((a[1].name, a[2].name)) or law(*a, **k))
    return seen


def written(tmp_path, element):
    path = tmp_path / "kernel.yaml"
    path.write_text(TEXT.format(element=element))
    return path


def test_alike_ones_are_asked_once_and_keep_their_names(tmp_path, asked):
    plan = planner.plan(written(tmp_path, "A"), options=planner.PlanOptions(alternatives=False))
    assert plan.verification.ok
    # w is of another type
    assert asked == [("x", "x_dm"), ("w", "w_dm"), ("x_dm", "y")]
    ends = {name: (s.settings["read"], s.settings["write"]) for name, (s,) in plan.programs.items()}
    assert ends == {
        "load_x": ("x", "x_dm"),
        "load_u": ("u", "u_dm"),
        "load_w": ("w", "w_dm"),
        "store_y": ("x_dm", "y"),
        "store_v": ("u_dm", "v"),
    }


def test_each_has_a_fault_of_its_own(tmp_path, asked):
    with pytest.raises(FaultError) as error:
        planner.plan(written(tmp_path, "A % 16"))
    assert [(f.rule, f.op) for f in error.value.faults] == [(RULE, "store_y"), (RULE, "store_v")]
    assert asked[-2:] == [("x_dm", "y"), ("u_dm", "v")]
