"""A reduced axis seen as positions alone: which factors of a mapping are its own, whatever of them is padding.

A digit that holds nothing but padding (`R # 20 / 4` with R = 3) and an axis of one element (`R # 4` with R = 1) have no
index; the algebra makes anonymous padding of them. For the shape of a reduction they are factors of the axis.
"""

from __future__ import annotations

from models.digits import Digit, Factor, Padded, as_terms
from models.factors import normal
from models.mapping import Axis, Mapping, Modulo, Pad, Pair, Resize, Stride, axis_names, pair, terms
from planner.engines.shapes import cut


def set_apart(e: Mapping, axis: str) -> Mapping:
    """The mapping with whatever reads the axis alone as a full axis of that many positions."""
    if axis not in axis_names(e):
        return e
    if isinstance(e, Pair):
        return Pair(set_apart(e.left, axis), set_apart(e.right, axis))
    if isinstance(e, Stride):
        return Stride(set_apart(e.inner, axis), e.n)
    if isinstance(e, Modulo):
        return Modulo(set_apart(e.inner, axis), e.n)
    if axis_names(e) == {axis}:
        return Axis(f"{axis}:{e.size}", e.size)
    assert isinstance(e, Pad | Resize)
    inner = set_apart(e.inner, axis)
    return Pad(inner, e.n, e.kind) if isinstance(e, Pad) else Resize(inner, e.n)


def reads_only(factor: Factor, axis: str) -> bool:
    """Whether a factor of a mapping that was `set_apart` is one of the axis."""
    if isinstance(factor, Digit):
        return isinstance(factor.base, Axis) and factor.base.name.startswith(f"{axis}:")
    return isinstance(factor, Padded) and bool(factor.inner) and all(reads_only(f, axis) for f in factor.inner)


def without(time: Mapping, axis: str) -> Mapping:
    """The mapping without every factor that reads the axis alone."""
    factors = normal(set_apart(time, axis))
    return pair(*(t for t, f in zip(as_terms(factors), factors, strict=True) if not reads_only(f, axis)))


def written_cut(e: Mapping, inner_size: int) -> tuple[Mapping, Mapping]:
    """Outer and inner part of a mapping at a border of its terms, with digits of padding as they are written."""
    outer, inner, left = list(terms(e)), list[Mapping](), inner_size
    while left > 1 and outer:
        last = outer.pop()
        taken = min(last.size, left)
        if last.size % taken or left % taken:
            return cut(e, inner_size)
        inner.insert(0, last if last.size == taken else Modulo(last, taken))
        if last.size > taken:
            outer.append(Stride(last, taken))
        left //= taken
    return pair(*outer), pair(*inner)
