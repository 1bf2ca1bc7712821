"""A tensor's levels as linear forms: which digits of its positions make up the total of every axis.

The cost is in the number of digits, never in cells. Digits add up as positions (domain: section 1), so all levels
of one side are read together. What cannot be told by digits is `Undecided`, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from models.kernel import Tile
from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Padding, Pair, Resize, Stride, axis_names, height
from models.tidy import as_digit, tidy

Form = dict["Var", int]
Cuts = dict[str, set[int]]


class Undecided(Exception):  # noqa: N818 - an answer, not a failure
    """Digits of the two sides cut an axis at borders of which neither divides the other."""


class Need(Exception):  # noqa: N818 - a request for another round
    """A digit must be cut in two: at position `weight` of `level` on the side that was read."""

    def __init__(self, var: Var, inner: int) -> None:
        super().__init__(var.level)
        self.level, self.weight = var.level, var.weight * inner


@dataclass(frozen=True, slots=True)
class Var:
    """A digit of a level's position: it runs over `size` values, each `weight` positions apart.

    `walked`: it is one of the walked side, not of the other.
    """

    level: str
    weight: int
    size: int
    walked: bool = True


@dataclass(frozen=True, slots=True)
class Limit:
    """Live positions have a weighted sum of digits below `below`."""

    form: Form
    below: int


@dataclass(slots=True)
class Side:
    """All digits of a tensor's levels, the total of each leaf (an axis, or a padding both sides share), the limits."""

    vars: list[Var] = field(default_factory=list)
    leaves: dict[Mapping, Form] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    pads: set[Mapping] = field(default_factory=set)


def reach(form: Form) -> int:
    """The highest value of a form."""
    return sum(coef * (var.size - 1) for var, coef in form.items())


def read_side(
    levels: dict[str, Mapping], cuts: Cuts, opaque: frozenset[Mapping], tile: Tiling | None, walked: bool
) -> Side:
    """Reads the levels of one tensor (name to mapping) with the digits cut at the given weights.

    Raises:
        Need: a digit straddles a border of the tensor's own mapping.
        Undecided: it cannot be cut there.

    """
    reader = _Reader(opaque, walked)
    for level, expr in levels.items():
        reader.walk(expr, reader.level(level, expr.size, cuts.get(level, set())))
    reader.resolve()
    if tile is not None:
        reader.side.limits.append(_tile_limit(reader.side, tile))
    return reader.side


@dataclass(frozen=True, slots=True)
class Tiling:
    """A part of a tensor: the first `length` values of a digit (stride, size) of an axis, counted from its start."""

    axis: Axis
    stride: int
    size: int
    length: int


def tiling(tile: Tile, expr: Mapping) -> Tiling | None:
    """The tile, its digit parsed, as a digit of an axis; None when it is no such digit."""
    base, stride, size = as_digit(tidy(expr))
    while isinstance(base, Pad):
        base = base.inner
    return Tiling(base, stride, size, tile.length) if isinstance(base, Axis) else None


class _Reader:
    def __init__(self, opaque: frozenset[Mapping], walked: bool) -> None:
        self.opaque, self.walked, self.side = opaque, walked, Side()
        self.todo: dict[tuple[Mapping, int], Form] = {}

    def level(self, name: str, size: int, cuts: Iterable[int]) -> Form:
        weights = sorted({1} | {c for c in cuts if c < size})
        form: Form = {}
        for low, high in zip(weights, [*weights[1:], 0], strict=True):
            if high % low:
                raise Undecided(f"{name} would be cut at {low} and at {high}")
            form[Var(name, low, high // low if high else -(-size // low), self.walked)] = low
        self.side.vars += form
        self.bound(form, size)
        return form

    def bound(self, form: Form, below: int) -> None:
        if reach(form) >= below:
            self.side.limits.append(Limit(dict(form), below))

    def add(self, base: Mapping, form: Form) -> None:
        key = (base, 0) if axis_names(base) else (base, len(self.todo) + 1)
        total = self.todo.setdefault(key, {})
        for var, coef in form.items():
            total[var] = total.get(var, 0) + coef

    def walk(self, expr: Mapping, at: Form) -> None:
        if isinstance(expr, Broadcast) or not at:
            return
        if isinstance(expr, Pair):
            high, low = divided(at, expr.right.size)
            self.walk(expr.left, high)
            self.walk(expr.right, low)
            return
        scale = 1
        while isinstance(expr, Stride | Modulo):
            scale *= expr.n if isinstance(expr, Stride) else 1
            expr = expr.inner
        if not isinstance(expr, Broadcast):
            self.add(expr, {var: coef * scale for var, coef in at.items()})

    def resolve(self) -> None:
        while self.todo:
            key = max(self.todo, key=lambda k: height(k[0]))
            form, base = self.todo.pop(key), key[0]
            if isinstance(base, Pad) and base.kind is not Padding.BOTTOM and axis_names(base):
                self.side.pads.add(base)
            if isinstance(base, Axis) or base in self.opaque:
                self.side.leaves[base] = form
                self.bound(form, base.size)
                continue
            inner = base if isinstance(base, Pair) else base.inner if isinstance(base, Pad | Resize) else base
            self.bound(form, base.n if isinstance(base, Resize) else inner.size)
            self.walk(inner, form)


def divided(at: Form, border: int) -> tuple[Form, Form]:
    """The form's digits of weight `border` and more, in units of it, and those below.

    Raises:
        Need: a digit lies on both sides. Undecided: the lower ones carry over the border.

    """
    high: Form = {}
    low: Form = {}
    for var, coef in at.items():
        if coef % border == 0:
            high[var] = coef // border
        elif coef * (var.size - 1) < border:
            low[var] = coef
        elif border % coef == 0:
            raise Need(var, border // coef)
        else:
            raise Undecided(f"a digit of weight {coef} and size {var.size} straddles {border}")
    if reach(low) >= border:
        raise Undecided(f"digits below {border} add up to {reach(low)}")
    return high, low


def _tile_limit(side: Side, tile: Tiling) -> Limit:
    for leaf, form in side.leaves.items():
        if axis_names(leaf) == {tile.axis.name}:
            part, _ = divided(form, tile.stride)
            if tile.stride * tile.size < tile.axis.size:
                part = divided(part, tile.size)[1]
            return Limit(part, tile.length)
    return Limit({}, 1)
