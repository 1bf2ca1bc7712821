"""Mapping expressions: tree, sizes and printing (domain: section 1).

A mapping turns a position in a buffer into a cell. The tree is plain data; `models.parse` reads it from
text, `models.cells` enumerates it, `models.factors` does algebra on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache


class Padding(IntEnum):
    """Kinds of padding, in order of strictness: bottom < zero < top."""

    BOTTOM = 0
    ZERO = 1
    TOP = 2


PADDING_TEXT = {Padding.TOP: "#", Padding.ZERO: "#{0}", Padding.BOTTOM: "#{!}"}


class MappingError(ValueError):
    """A mapping that cannot be built: `rule` names the broken rule, `column` counts from 1 in the text."""

    def __init__(self, rule: str, message: str, column: int = 0, found: str = "", wanted: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.column = rule, message, column
        self.found, self.wanted = found, wanted


@dataclass(frozen=True)
class Axis:
    """A declared axis with its size."""

    name: str
    size: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Broadcast:
    """An anonymous broadcast of `size` positions, all live, carrying no index; size 1 is the identity."""

    size: int

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True)
class Stride:
    """`inner / n`: position i reads `inner` at i * n; n divides the inner size."""

    inner: Mapping
    n: int

    def __post_init__(self) -> None:
        _must_divide("stride_must_divide", "/", self.inner, self.n)

    @cached_property
    def size(self) -> int:
        """Positions: the inner size over n."""
        return self.inner.size // self.n

    def __str__(self) -> str:
        return f"{_operand(self.inner)} / {self.n}"


@dataclass(frozen=True)
class Modulo:
    """`inner % n`: position i reads `inner` at i; n divides the inner size."""

    inner: Mapping
    n: int

    def __post_init__(self) -> None:
        _must_divide("modulo_must_divide", "%", self.inner, self.n)

    @property
    def size(self) -> int:
        """Positions: n."""
        return self.n

    def __str__(self) -> str:
        return f"{_operand(self.inner)} % {self.n}"


@dataclass(frozen=True)
class Resize:
    """`inner = n`: the first n positions."""

    inner: Mapping
    n: int

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.inner.size:
            raise MappingError(
                "resize_must_shrink",
                f"`{self.inner} = {self.n}` keeps {self.n} of {self.inner.size} positions",
                found=str(self.n),
                wanted=f"1 to {self.inner.size}",
            )

    @property
    def size(self) -> int:
        """Positions: n."""
        return self.n

    def __str__(self) -> str:
        return f"{_operand(self.inner)} = {self.n}"


@dataclass(frozen=True)
class Pad:
    """`inner # n`: padded up to n positions; the extra ones are padding of `kind`."""

    inner: Mapping
    n: int
    kind: Padding = Padding.TOP

    def __post_init__(self) -> None:
        if self.n < self.inner.size:
            raise MappingError(
                "padding_must_grow",
                f"`{self.inner} {PADDING_TEXT[self.kind]} {self.n}` pads {self.inner.size} positions to fewer",
                found=str(self.n),
                wanted=f"{self.inner.size} or more",
            )

    @property
    def size(self) -> int:
        """Positions: n."""
        return self.n

    def __str__(self) -> str:
        return f"{_operand(self.inner)} {PADDING_TEXT[self.kind]} {self.n}"


@dataclass(frozen=True)
class Pair:
    """`left, right`: position p is left at p / size(right) combined with right at p % size(right)."""

    left: Mapping
    right: Mapping

    @cached_property
    def size(self) -> int:
        """Positions: the product of both sizes."""
        return self.left.size * self.right.size

    def __str__(self) -> str:
        return text(self)


Mapping = Axis | Broadcast | Stride | Modulo | Resize | Pad | Pair
ONE = Broadcast(1)


def _operand(e: Mapping) -> str:
    return f"[{e}]" if isinstance(e, Pair) else str(e)


def _must_divide(rule: str, sign: str, inner: Mapping, n: int) -> None:
    if n < 1 or inner.size % n:
        raise MappingError(
            rule,
            f"`{inner} {sign} {n}`: {n} does not divide {inner.size}",
            found=str(n),
            wanted=f"a divisor of {inner.size}",
        )


def terms(e: Mapping) -> tuple[Mapping, ...]:
    """The comma-separated terms of a mapping, outermost first; nested pairs are flattened."""
    out: list[Mapping] = []
    stack = [e]
    while stack:
        top = stack.pop()
        if isinstance(top, Pair):
            stack += [top.right, top.left]
        else:
            out.append(top)
    return tuple(out)


def pair(*parts: Mapping) -> Mapping:
    """Joins parts, outermost first, dropping identities; no part at all is `1`."""
    flat = [t for p in parts for t in terms(p) if t != ONE]
    if not flat:
        return ONE
    out = flat[-1]
    for t in reversed(flat[:-1]):
        out = Pair(t, out)
    return out


def text(e: Mapping) -> str:
    """Prints a mapping so that parsing it gives the same cells; pairs are printed without brackets."""
    return ", ".join(str(t) for t in terms(e))


def nodes(e: Mapping) -> Iterator[Mapping]:
    """Every node of the tree, parents before children."""
    stack = [e]
    while stack:
        top = stack.pop()
        yield top
        if isinstance(top, Pair):
            stack += [top.right, top.left]
        elif not isinstance(top, Axis | Broadcast):
            stack.append(top.inner)


@lru_cache(maxsize=4096)
def height(e: Mapping) -> int:
    """How many levels of operators and pairs stand above the axes; what encloses is higher."""
    if isinstance(e, Axis | Broadcast):
        return 0
    if isinstance(e, Pair):
        return 1 + max(height(t) for t in terms(e))
    return 1 + height(e.inner)


def axis_names(e: Mapping) -> frozenset[str]:
    """The names of all axes that stand in a mapping."""
    return frozenset(n.name for n in nodes(e) if isinstance(n, Axis))
