"""The vendor's compiled passes as kernel passes: reads tests/data/vendor_cycles.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from models.kernel import PassOp
from models.layout import TensorLayout
from models.parse import parse

DATA = Path(__file__).parents[1] / "data" / "vendor_cycles.yaml"
RESOURCE = {"MainContext": "main", "SubContext": "sub", "VectorEngine": "vector", "DmaEngine": "dma"}
NOT_OURS = ("dtype", "slice")


@dataclass(frozen=True)
class VendorPass:
    name: str
    axes: dict[str, int]
    op: PassOp
    tensors: dict[str, TensorLayout]
    context: str
    holds: frozenset[str]
    cycles: int


def vendor_passes() -> list[VendorPass]:
    kernels = YAML(typ="safe").load(DATA.read_text())["kernels"]
    return [
        _pass(name, kernel, instruction)
        for name, kernel in kernels.items()
        for instruction in kernel["instructions"]
        if "chain" in instruction
    ]


def _pass(name: str, kernel: dict[str, Any], instruction: dict[str, Any]) -> VendorPass:
    begin, *rest = instruction["chain"]
    read = begin["begin"]["read"]
    op = PassOp.model_validate(
        {
            "name": f"{name}_{instruction['id']}",
            "read": read[0] if len(read) == 1 else tuple(read),
            "interleave": begin["begin"].get("interleave"),
            "steps": [_step(next(iter(s.items()))) for s in rest],
        }
    )
    return VendorPass(
        op.name,
        kernel["axes"],
        op,
        {n: _tensor(n, t, kernel["axes"]) for n, t in kernel["tensors"].items() if "element" in t},
        instruction["kind"],
        frozenset(RESOURCE[c] for c in instruction["contexts"]),
        instruction["cycles"],
    )


def _tensor(name: str, t: dict[str, Any], axes: dict[str, int]) -> TensorLayout:
    levels = {k: parse(t[k], axes) for k in ("element", "chip", "cluster", "slice", "lane") if k in t}
    return TensorLayout(name, t["memory"], t["dtype"], **levels)


def _step(item: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    step, fields = item
    if step == "vector":
        return {"step": step, "ops": [_vector_op(o) for o in fields["ops"]]}
    keeps_dtype = step in ("fetch_cast", "cast")
    kept = {k: v for k, v in fields.items() if k not in NOT_OURS or (k == "dtype" and keeps_dtype)}
    if step == "cast":
        kept.pop("packet")
    return {"step": step, **kept}


def _vector_op(op: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(op, str):
        return {"name": op}
    name, argument = next(iter(op.items()))
    return {"name": name, **(argument if isinstance(argument, dict) else {"value": argument})}
