"""Identity padding: whether the padding of a reduced axis changes nothing (seed 004; domain: section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf, inf, sqrt, tanh

from models.dtypes import DTYPES
from models.faults import Finding
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, Modulo, Pad, Padding, Stride, axis_names, nodes, terms, text
from models.vector_ops import VectorOp

VCG, IDENTITY, NONE = "vcg", "identity", "none"
MASKS = (VCG, IDENTITY)
"""Ways to keep padding out of a reduction; the first is taken on a tie."""

_I32 = (-(2**31), 2**31 - 1)
_SMALLEST: dict[str, float] = {"i32": _I32[0], "f32": -inf}
_GREATEST: dict[str, float] = {"i32": _I32[1], "f32": inf}
_LARGEST = {"f32": (2 - 2**-23) * 2.0**127, "bf16": (2 - 2**-7) * 2.0**127, "f8e4m3": 448.0, "f8e5m2": 57344.0}
_WITHOUT_INFINITY = frozenset({"f8e4m3", "f4e2m1"})
_LAYOUT_ONLY = frozenset({"tag", "stash", "narrow_split", "narrow_trim", "widen_concat", "widen_pad"})

_UNARY: dict[str, Callable[[float], float]] = {"sqrt": sqrt, "tanh": tanh, "erf": erf}
_BINARY: dict[str, Callable[[float, float], float]] = {
    **dict.fromkeys(("addf", "addfxp", "addfxpsat"), lambda a, b: a + b),
    **dict.fromkeys(("subf", "subfxp", "subfxpsat"), lambda a, b: a - b),
    **dict.fromkeys(("mulf", "mulint"), lambda a, b: a * b),
}
"""Operations through which a padding value is followed; there is none for those that no value leads to an identity."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of padding: its value where the tensor was written, which padded expressions hold it there,
    the element type there, and what has happened since: ops of the chain, or a step before it (`broken_by`).
    """

    value: float | None = None
    nodes: frozenset[Mapping] = frozenset()
    ops: tuple[VectorOp, ...] = ()
    broken_by: str = ""


UNKNOWN = Held()


def held_by(source: TensorLayout, broken_by: str = "") -> Held:
    """What the padding of a tensor in DM holds: what the host wrote into that of the HBM tensor it was loaded from."""
    known = frozenset(n for e in (source.element, source.slice) for n in nodes(e) if isinstance(n, Pad))
    return Held(pad_value(source.pad, source.dtype), known, (), broken_by)


def pad_value(pad: str, dtype: str) -> float | None:
    """The number that `pad` stands for in a type; None where it is arbitrary."""
    if pad in ("poison", ""):
        return None
    if pad == "0":
        return 0.0
    sign = -1.0 if pad in ("-inf", "min") else 1.0
    if pad in ("-inf", "+inf") and dtype not in _WITHOUT_INFINITY:
        return sign * inf if DTYPES[dtype].is_float else None
    if DTYPES[dtype].is_float:
        return sign * _LARGEST[dtype] if dtype in _LARGEST else None
    half = 2.0 ** (DTYPES[dtype].bits - 1)
    return -half if sign < 0 else half - 1


def identity(op: str, dtype: str) -> float:
    """The value that changes nothing: 0; for Max the smallest, for Min the greatest of the type."""
    return {"Max": _SMALLEST, "Min": _GREATEST}[op][dtype] if op in ("Max", "Min") else 0.0


def identity_findings(stream: Stream, axis: str, op: str, held: Held) -> Iterator[Finding]:
    """Why the padding of the axis does not hold the identity of the reduction; nothing when it does."""
    wanted = identity(op, stream.dtype)
    blocking = held.broken_by or next((_name(o) for o in held.ops if not _followed(o)), "")
    if blocking:
        yield Finding(
            "identity_behind_transform",
            f"{blocking} stands between the padding of {axis} and the reduction: no padding is known to become the"
            f" identity of {op}, {wanted:g}",
            blocking,
            "a reduction of the values as they were loaded",
            "mask: vcg",
        )
        return
    value, where = _value(stream, axis, held)
    for done in held.ops:
        value = None if value is None else _applied(done, value)
    if value != wanted:
        found = "arbitrary values" if value is None else f"{value:g}"
        yield Finding(
            "identity_padding",
            f"the padding of {axis}{where} holds {found} at the reduction, the identity of {op} is {wanted:g}",
            found,
            f"{wanted:g}",
            f"pad: {_pad_for(wanted)} at the tensor, or mask: vcg",
        )


def _pad_for(wanted: float) -> str:
    if wanted == 0:
        return "0"
    if wanted in (inf, -inf):
        return "+inf" if wanted > 0 else "-inf"
    return "max" if wanted > 0 else "min"


def _value(stream: Stream, axis: str, held: Held) -> tuple[float | None, str]:
    """What all padding of the axis holds, and at which expression it is not known."""
    found: set[float | None] = set()
    for node in _pads(stream, axis):
        value = 0.0 if node.kind is Padding.ZERO else held.value if node in held.nodes else None
        if node.kind is Padding.BOTTOM or value is None:
            return None, f" in `{text(node)}`"
        found.add(value)
    return (found.pop(), "") if len(found) == 1 else (None, "")


def _pads(stream: Stream, axis: str) -> Iterator[Pad]:
    """Paddings of the axis that a live slice would fold; whole slices of padding are nobody's result."""
    for e in (stream.time, stream.packet):
        yield from (n for n in nodes(e) if isinstance(n, Pad) and axis in axis_names(n))
    for term in terms(stream.slice):
        inner = term
        while isinstance(inner, Pad):
            inner = inner.inner
        if isinstance(inner, Stride | Modulo):
            yield from (n for n in nodes(inner) if isinstance(n, Pad) and axis in axis_names(n))


# What happens to a value on its way -------------------------------------------------------------------------


def _name(op: VectorOp) -> str:
    return str(op.op or op.value or op.name)


def _followed(op: VectorOp) -> bool:
    if op.name in _LAYOUT_ONLY or op.name == "fxp_to_fp":
        return True
    if op.name == "fp_unary":
        return _name(op).lower() in _UNARY
    return op.name in ("fxp", "fp_binary") and _name(op).lower() in _BINARY and not op.guards


def _applied(op: VectorOp, value: float) -> float | None:
    """The value behind an op; None where an operand that is not known takes part."""
    if op.name in _LAYOUT_ONLY:
        return value
    if op.name == "fxp_to_fp":
        return value / 2.0 ** (31 - int(op.value or 0))
    if op.name == "fp_unary":
        return _UNARY[_name(op).lower()](value) if value >= 0 or _name(op).lower() != "sqrt" else None
    arguments = [value if place == "0" else op.operand for place in op.mode or "01"]
    if any(isinstance(a, str) or a is None for a in arguments):
        return None
    a, b = (float(x) for x in arguments if x is not None)
    return _BINARY[_name(op).lower()](a, b)
