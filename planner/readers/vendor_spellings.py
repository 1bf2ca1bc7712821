"""Names of vISA that a kernel file may spell as vISA does where ours differ: enum paths, ALUs of a product, modes.

Source: the vendor's book, chapter on the intra-slice chain. All other names are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from models.kernel import SourcePath
from planner.readers.context import Context, Converted
from planner.readers.nodes import Node
from planner.readers.scalars import Kind

ENUMS = (
    *("RngdAlu", "FpMulAlu", "TagMode", "Cmp", "BinaryArgMode", "TernaryArgMode"),
    *("LogicBinaryOpI32", "LogicBinaryOpF32", "FxpBinaryOp", "FpUnaryOp", "FpBinaryOp", "FpTernaryOp"),
    *("FpDivBinaryOp", "ClipBinaryOpI32", "ClipBinaryOpF32"),
    *("IntraSliceReduceOpI32", "IntraSliceReduceOpF32", "InterSliceReduceOpI32", "InterSliceReduceOpF32"),
)
"""Enums whose path may stand before a name: `FpBinaryOp::AddF`."""

ALUS = {"Mul0": "FpMul0", "Mul1": "FpMul1", "Fma": "FpFma"}
"""The choices of `FpMulAlu`."""

PRODUCTS = {f"MulF({path}{alu})": f"MulF({own})" for alu, own in ALUS.items() for path in ("", "FpMulAlu::")}
"""A product with its ALU, as vISA writes it; the reader takes the ALU apart."""


def modes(names: tuple[str, ...]) -> dict[str, str]:
    """`Mode01` for `01`."""
    return {f"Mode{name}": name for name in names}


def spelled(kind: Kind, table: Mapping[str, str]) -> Kind:
    """A kind that also takes the names of a table, without case, and any name behind its enum's path."""
    known = {vendor.lower(): own for vendor, own in table.items()}
    paths = {enum.lower() for enum in ENUMS}

    def convert(ctx: Context, node: Node, path: SourcePath) -> Converted:
        enum, colons, name = node.text.partition("::")
        text = name if colons and enum.lower() in paths else node.text
        text = known.get(text.lower(), text)
        return kind.convert(ctx, node if text == node.text else replace(node, text=text), path)

    listed = {key: [*kind.schema[key], *table] for key in ("enum", "examples") if key in kind.schema}
    return Kind(convert, kind.schema | listed)
