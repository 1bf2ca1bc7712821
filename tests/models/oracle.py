"""The digit rule once more, position by position on plain integers: the brute force that cells are held against.

Nothing is shared with the package but the tree. It reads bases by their spelling, so it speaks only of mappings
that spell one expression in one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Padding, Pair, Resize, Stride, axis_names

NAMES = {Padding.TOP: "padding_top", Padding.ZERO: "padding_zero", Padding.BOTTOM: "padding_bottom"}
Cell = str | tuple[tuple[str, int], ...]


@dataclass(eq=False)
class Anonymous:
    """An expression without an axis: no two of them are the same one."""

    expr: Mapping


def cell(e: Mapping, at: int) -> Cell:
    return tensor_cell([(e, at)])


def tensor_cell(parts: Sequence[tuple[Mapping, int]]) -> Cell:
    if any(not 0 <= at < e.size for e, at in parts):
        return "out_of_bounds"
    totals: dict[object, int] = {}
    order: list[object] = []
    for e, at in parts:
        for base, offset in contributions(e, at):
            order.append(base)
            totals[base] = totals.get(base, 0) + offset
    return _read(totals, order)


def contributions(e: Mapping, at: int) -> list[tuple[object, int]]:
    """What the digits of a mapping add to which expression, major first."""
    if isinstance(e, Broadcast):
        return []
    if isinstance(e, Pair):
        return [*contributions(e.left, at // e.right.size), *contributions(e.right, at % e.right.size)]
    scale = 1
    while isinstance(e, Stride | Modulo):
        scale *= e.n if isinstance(e, Stride) else 1
        e = e.inner
    if isinstance(e, Broadcast):
        return []
    return [(e if axis_names(e) else Anonymous(e), at * scale)]


def one_spelling(e: Mapping) -> bool:
    """Whether no axis stands in two differently spelled expressions whose digits would have to add up."""
    bases = {base for base, _ in contributions(e, 0)}
    names = [name for base in bases for name in axis_names(_tree(base))]
    if len(names) != len(set(names)) or any(isinstance(b, Pad) and b.n == b.inner.size for b in bases):
        return False
    return all(isinstance(b, Axis) or one_spelling(_content(b)[2]) for b in bases)


def _tree(base: object) -> Mapping:
    return base.expr if isinstance(base, Anonymous) else base  # type: ignore[return-value]


def _read(totals: dict[object, int], order: list[object]) -> Cell:
    """Resolves one enclosing expression at a time; `order` is that in which padding is looked at."""
    paddings: dict[int, str] = {}
    slots: list[object] = list(dict.fromkeys(order))
    while any(not isinstance(b, Axis) and b in totals for b in slots):
        i = max((i for i, b in enumerate(slots) if b in totals), key=lambda i: _height(slots[i]))
        base = slots[i]
        at = totals.pop(base)
        live, kind, inner = _content(base)
        if at >= live:
            paddings.setdefault(i, kind)
            continue
        fresh = contributions(inner, at)
        for new, offset in fresh:
            totals[new] = totals.get(new, 0) + offset
        met = list(dict.fromkeys(new for new, _ in fresh))
        slots[i : i + 1] = [base, *met]
        paddings = {(k if k <= i else k + len(met)): v for k, v in paddings.items()}
        slots, paddings = _first_only(slots, paddings)
    for i, b in enumerate(slots):
        if isinstance(b, Axis) and totals.get(b, 0) >= b.size:
            paddings.setdefault(i, "padding_top")
    if paddings:
        return paddings[min(paddings)]
    return tuple(sorted((b.name, at) for b, at in totals.items() if isinstance(b, Axis) and at))


def _first_only(slots: list[object], paddings: dict[int, str]) -> tuple[list[object], dict[int, str]]:
    kept: list[object] = []
    moved: dict[int, str] = {}
    for i, b in enumerate(slots):
        if b in kept:
            continue
        if i in paddings:
            moved[len(kept)] = paddings[i]
        kept.append(b)
    return kept, moved


def _content(base: object) -> tuple[int, str, Mapping]:
    if isinstance(base, Anonymous):
        return _content(base.expr)
    assert isinstance(base, Pad | Resize | Pair | Broadcast)
    if isinstance(base, Pad):
        return base.inner.size, NAMES[base.kind], base.inner
    if isinstance(base, Resize):
        return base.n, "padding_top", base.inner
    return base.size, "padding_top", base


def _height(e: object) -> int:
    if isinstance(e, Anonymous):
        return _height(e.expr)
    if isinstance(e, Pair):
        return 1 + max(_height(e.left), _height(e.right))
    return 0 if isinstance(e, Axis | Broadcast) else 1 + _height(e.inner)  # type: ignore[attr-defined]
