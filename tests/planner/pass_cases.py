"""Small passes for tests: a legal base of keyword arguments, changed in one place each."""

from __future__ import annotations

from typing import Any

from models.kernel import PassOp
from models.layout import TensorLayout
from models.parse import parse
from models.presets.load import load_hardware
from planner import passes
from planner.engines.base import Ground

HARDWARE = load_hardware()
AXES = {"A": 256, "B": 16, "I": 2, "K": 32, "M": 4, "N": 8, "Q": 4}

Fields = dict[str, Any]


def layout(name: str, memory: str, dtype: str, element: str, **levels: str) -> TensorLayout:
    """A tensor split over the slices by A unless it says otherwise."""
    levels = {"cluster": "1 # 2", "slice": "A", **levels}
    return TensorLayout(name, memory, dtype, parse(element, AXES), **{k: parse(v, AXES) for k, v in levels.items()})


def tensors(**changed: TensorLayout) -> dict[str, TensorLayout]:
    base = {
        "x": layout("x", "dm", "bf16", "M, B"),
        "y": layout("y", "dm", "bf16", "M, B"),
        "w": layout("w", "trf", "bf16", "B", lane="N"),
        "v": layout("v", "vrf", "f32", "M, B"),
    }
    return base | changed


def fetch(**changed: str) -> Fields:
    return {"step": "fetch", "time": "M", "packet": "B", **changed}


def commit(**changed: Any) -> Fields:
    return {"step": "commit", "write": "out", "element": "M, B", **changed}


COLLECT: Fields = {"step": "collect"}
CAST_IN: Fields = {"step": "fetch_cast", "dtype": "f32"}
CAST_OUT: Fields = {"step": "cast", "dtype": "bf16"}
TO_TRF: Fields = {"step": "to_trf", "write": "out", "lane": "M", "element": "B"}
CONTRACTION: list[Fields] = [
    {"step": "contract_outer", "with": "w", "time": "M", "packet": "B"},
    {"step": "contract_packet", "packet": "1"},
    {"step": "contract_time", "time": "M"},
    {"step": "contract_lane", "mode": "interleaved"},
]


def evaluated(
    steps: list[Fields],
    held: dict[str, TensorLayout] | None = None,
    fixed: dict[str, str] | None = None,
    **fields: Any,
) -> passes.PassResult:
    """The result of a pass that reads x."""
    op = PassOp.model_validate({"name": "p", "read": "x", "steps": steps, **fields})
    return passes.evaluate(op, held or tensors(), Ground(HARDWARE, AXES), fixed or {}, ())


def rules_of(result: passes.PassResult) -> set[str]:
    """Rules of the faults; empty where some way is legal."""
    return {finding.rule for _, finding in result.findings}
