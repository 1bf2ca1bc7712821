"""Factors of a mapping and how they are read from, cut, merged and written back as an expression.

A factor is one mixed-radix digit of a mapping's position, outermost first in a list of factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod

from models.mapping import Axis, Broadcast, Mapping, Pad, Padding, Resize, nodes, terms
from models.tidy import as_digit, chain, digit, tidy


@dataclass(frozen=True, slots=True)
class Digit:
    """Position i of `size` reads `base` at i * stride, counted in positions of the base.

    `base` is an axis or, where digits cannot be resolved further, a padded, resized or paired expression.
    """

    base: Mapping
    stride: int
    size: int


@dataclass(frozen=True, slots=True)
class Free:
    """An anonymous broadcast: `size` live positions that carry no index."""

    size: int


@dataclass(frozen=True, slots=True)
class Padded:
    """The factors `inner`, outermost first, followed by padding of `kind` up to `size` positions.

    `inner` may be empty: `1 # size`.
    """

    inner: tuple[Factor, ...]
    size: int
    kind: Padding


Factor = Digit | Free | Padded
Factors = tuple[Factor, ...]
Cuttable = list[Digit | Free]


def size_of(factors: Iterable[Factor]) -> int:
    """The number of positions of a list of factors."""
    return prod(f.size for f in factors)


def over(e: Mapping, stride: int, size: int) -> Factors:
    """The factor that reads the tidy mapping `e` at multiples of `stride`; nothing for size 1."""
    if size == 1:
        return ()
    base, own, _ = as_digit(e)
    return (Free(size),) if isinstance(base, Broadcast) else (Digit(base, own * stride, size),)


def open_factors(e: Mapping) -> Factors:
    """The factors as written, valid in every context: no base is resolved, padding stays in the bases."""
    return tuple(f for t in terms(tidy(e)) for f in over(t, 1, t.size))


def cut(factor: Digit | Free, inner_size: int) -> tuple[Cuttable, Cuttable]:
    """Outer and inner part of a factor; `inner_size` divides its size. A part of size 1 is left out."""
    outer_size = factor.size // inner_size
    if isinstance(factor, Free):
        parts: tuple[Digit | Free, Digit | Free] = Free(outer_size), Free(inner_size)
    else:
        outer = Digit(factor.base, factor.stride * inner_size, outer_size)
        parts = outer, Digit(factor.base, factor.stride, inner_size)
    return [p for p in parts[:1] if p.size > 1], [p for p in parts[1:] if p.size > 1]


def cut_any(factor: Factor, inner_size: int) -> tuple[Factors, Factors]:
    """Outer and inner part of any factor, a padded one as digits of its padded expression where it must be."""
    if isinstance(factor, Padded) and inner_size >= size_of(factor.inner):
        outer = Padded((), factor.size // inner_size, factor.kind)
        whole_inner = inner_size == size_of(factor.inner)
        inner = factor.inner if whole_inner else (Padded(factor.inner, inner_size, factor.kind),)
        return (outer,), inner
    high, low = cut(whole(factor) if isinstance(factor, Padded) else factor, inner_size)
    return tuple(high), tuple(low)


def merge(factors: Iterable[Factor]) -> list[Factor]:
    """Joins neighbours that read on where the inner one ends."""
    out: list[Factor] = []
    for factor in factors:
        joined = joint(out[-1], factor) if out else None
        if joined is None:
            out.append(factor)
        else:
            out[-1] = joined
    return out


def joint(outer: Factor, inner: Factor) -> Factor | None:
    """One factor for two neighbours, or None when there is none."""
    if isinstance(outer, Digit) and isinstance(inner, Digit):
        reads_on = outer.base == inner.base and outer.stride == inner.stride * inner.size
        return Digit(outer.base, inner.stride, outer.size * inner.size) if reads_on else None
    if isinstance(outer, Free) and isinstance(inner, Free):
        return Free(outer.size * inner.size)
    if isinstance(outer, Padded) and isinstance(inner, Padded) and not outer.inner and outer.kind == inner.kind:
        return Padded(inner.inner, outer.size * inner.size, inner.kind)
    return None


def peel(padded: Padded) -> Factors:
    """The same positions with the padding on as few inner factors as possible.

    Inner factors whose size divides the padded size stand beside the padding instead of inside it:
    `[A, B] # 12` with B = 4 is `A # 3, B`. It is exact, since the padding's kind wins before B is looked at.
    """
    inner, size, kind = list(padded.inner), padded.size, padded.kind
    beside: list[Factor] = []
    while inner:
        last = inner[-1]
        if isinstance(last, Padded) and len(inner) == 1 and last.kind == kind:
            inner = list(last.inner)
            continue
        common = gcd(last.size, size)
        if common == last.size:
            beside.insert(0, inner.pop())
            size //= common
            continue
        if common > 1 and not isinstance(last, Padded):
            outer, low = cut(last, common)
            inner[-1:] = outer
            beside[:0] = low
            size //= common
        break
    head: Factors = (Padded(tuple(inner), size, kind),) if size > size_of(inner) else tuple(inner)
    return (*head, *beside)


def pull(factors: Sequence[Factor], often: frozenset[Mapping] | None = None) -> Factors:
    """Undoes `peel` for reading: padding takes in the factor that follows where they read as one.

    A base that is read `often` may pass its end only in the total: then the kind of padding that is met first is
    the one of where it stands, and it stays there.
    """
    if often is None:
        bases = [d.base for d in walk_digits(factors)]
        often = frozenset(b for b in bases if bases.count(b) > 1)
    out: list[Factor] = []
    for factor in factors:
        if isinstance(factor, Padded):
            factor = Padded(pull(factor.inner, often), factor.size, factor.kind)
        last = out[-1] if out else None
        taken = _taken_in(last, factor, often) if isinstance(last, Padded) else None
        if taken is None:
            out.append(factor)
        else:
            out[-1] = taken
    return tuple(out)


def _taken_in(padded: Padded, factor: Factor, often: frozenset[Mapping]) -> Padded | None:
    if isinstance(factor, Padded):
        return None
    size = padded.size * factor.size
    if not padded.inner:
        if padded.kind is not Padding.TOP and isinstance(factor, Digit) and factor.base in often:
            return None
        return Padded((factor,), size, padded.kind)
    joined = joint(padded.inner[-1], factor)
    return None if joined is None else Padded((*padded.inner[:-1], joined), size, padded.kind)


def walk_digits(factors: Iterable[Factor]) -> Iterator[Digit]:
    """Every digit, those inside padding too, outermost first."""
    for factor in factors:
        if isinstance(factor, Digit):
            yield factor
        elif isinstance(factor, Padded):
            yield from walk_digits(factor.inner)


def as_terms(factors: Sequence[Factor]) -> list[Mapping]:
    """One term per factor such that the terms, side by side, give the same cells."""
    writer = _Writer(factors)
    return [writer.term(f) for f in factors]


class _Writer:
    """Writes digits as strides and modulos of their base, enlarging the base where they do not divide it.

    An enlarged base must be an expression of its own: digits of one expression add up.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.used = {n for d in walk_digits(factors) for n in nodes(d.base)}

    def term(self, factor: Factor) -> Mapping:
        if isinstance(factor, Free):
            return Broadcast(factor.size)
        if isinstance(factor, Padded):
            return Pad(chain([self.term(f) for f in factor.inner]), factor.size, factor.kind)
        return self._digit(factor.base, factor.stride, factor.size)

    def _digit(self, base: Mapping, stride: int, size: int) -> Mapping:
        if base.size % (stride * size) == 0:
            return digit(base, stride, size)
        if base.size % stride == 0 and base.size // stride > size:
            short = Resize(digit(base, stride, base.size // stride), size)
            if short not in self.used:
                self.used.add(short)
                return short
        step = stride * size
        enlarged = Pad(base, -(-base.size // step) * step)
        while enlarged in self.used:
            enlarged = Pad(base, enlarged.n + step)
        self.used.add(enlarged)
        return digit(enlarged, stride, size)


def whole(padded: Padded) -> Digit:
    """A padded factor as the one digit of its padded expression, so that it can be cut."""
    return Digit(tidy(Pad(chain(as_terms(padded.inner)), padded.size, padded.kind)), 1, padded.size)


def cuttable(factors: Iterable[Factor]) -> Cuttable:
    """The factors with each padded one as a digit of its padded expression."""
    return [whole(f) if isinstance(f, Padded) else f for f in factors]


def axes_in(base: Mapping) -> frozenset[str]:
    """The axes that a base stands on."""
    return frozenset(n.name for n in nodes(base) if isinstance(n, Axis))
