"""Carving mappings: cutting one at a size, one out of another, two along each other's borders."""

from __future__ import annotations

from collections.abc import Sequence

from models.digits import (
    Cuttable,
    Digit,
    Factor,
    Factors,
    Free,
    as_terms,
    cut,
    cut_any,
    cuttable,
    merge,
    open_factors,
    pull,
    size_of,
)
from models.lowering import lower
from models.mapping import Mapping
from models.tidy import chain, tidy


def digits(e: Mapping) -> Factors:
    """The factors of a mapping with padding left in the bases, so that each of them can be cut."""
    return tuple(cuttable(lower([open_factors(e)])[0]))


def split(e: Mapping, size: int) -> tuple[Mapping, Mapping] | None:
    """Outer and inner part, the inner one of exactly `size` positions; side by side they are `e`.

    None when the cut falls inside a factor that cannot be cut there. A cut inside padding gives digits of the
    padded expression.
    """
    peeled = lower([open_factors(e)])[0]
    return _split(peeled, size) or _split(pull(peeled), size)


def _split(factors: Factors, size: int) -> tuple[Mapping, Mapping] | None:
    for i in range(len(factors), -1, -1):
        inner = size_of(factors[i:])
        if inner == size:
            return _two_terms(factors[:i], factors[i:])
        if inner > size:
            return _split_inside(factors, i, size // size_of(factors[i + 1 :]), size)
    return None


def _split_inside(factors: Factors, i: int, inner_size: int, size: int) -> tuple[Mapping, Mapping] | None:
    if size % size_of(factors[i + 1 :]) or factors[i].size % inner_size:
        return None
    outer, inner = cut_any(factors[i], inner_size)
    return _two_terms((*factors[:i], *outer), (*inner, *factors[i + 1 :]))


def _two_terms(outer: Factors, inner: Factors) -> tuple[Mapping, Mapping]:
    outer, inner = pull(outer), pull(inner)
    written = as_terms([*outer, *inner])
    return tidy(chain(written[: len(outer)])), tidy(chain(written[len(outer) :]))


def common_refinement(a: Sequence[Factor], b: Sequence[Factor]) -> tuple[Factors, Factors]:
    """Both lists cut at each other's borders, as far as their factors can be cut there.

    Padding is cut as digits of its padded expression. Where all borders can be cut, both lists have the same
    sizes and may be compared factor by factor.
    """
    return _refined(a, _borders(b)), _refined(b, _borders(a))


def _borders(factors: Sequence[Factor]) -> list[int]:
    out, below = [], 1
    for factor in reversed(factors):
        below *= factor.size
        out.append(below)
    return out


def _refined(factors: Sequence[Factor], borders: list[int]) -> Factors:
    out: list[Factor] = []
    below = 1
    for factor in reversed(factors):
        pieces: list[Factor] = [factor]
        for border in borders:
            inner_size, rest = divmod(border, below)
            if rest or not 1 < inner_size < pieces[0].size or pieces[0].size % inner_size:
                continue
            outer, inner = cut_any(pieces[0], inner_size)
            pieces[:1] = [*outer, *inner]
            below *= inner_size
        below *= pieces[0].size
        out[:0] = pieces
    return tuple(out)


def divide(dividend: Mapping, part: Mapping) -> Mapping | None:
    """What is left of `dividend`, in order, when the digits of `part` are carved out of it.

    The digits of `part` must stand in it in their order, other digits may stand between them. Padding is
    carved whole or by digits of its padded expression. The positions of the remainder and of `part` side by
    side meet every live cell of `dividend` as often as `dividend` does. None when some digit of `part` is not
    there.
    """
    if dividend.size % part.size:
        return None
    for view in (open_factors, digits):
        left = _carve(cuttable(view(dividend)), cuttable(view(part)))
        if left is not None:
            return tidy(chain(as_terms(left)))
    return None


def _carve(dividend: Cuttable, part: Cuttable) -> list[Factor] | None:
    """Takes the innermost digit of `part` first and each next one from farther out."""
    inside: list[Factor] = []
    outside = list(dividend)
    wanted = list(part)
    while wanted:
        if not outside:
            return None
        last = outside.pop()
        taken = _take(last, wanted[-1])
        if taken is None:
            inside.insert(0, last)
            continue
        outer, below, rest = taken
        outside += outer
        inside[:0] = below
        wanted[-1:] = rest
    return merge([*outside, *inside])


def _take(held: Digit | Free, wanted: Digit | Free) -> tuple[Cuttable, Cuttable, Cuttable] | None:
    """What `held` keeps outside and inside of what is taken, and what is still wanted; None: no fit."""
    if isinstance(held, Free) and isinstance(wanted, Free):
        low = 1
    elif isinstance(held, Digit) and isinstance(wanted, Digit) and held.base == wanted.base:
        low, rest = divmod(wanted.stride, held.stride)
        if rest or low >= held.size or held.size % low:
            return None
    else:
        return None
    above = held.size // low
    size = wanted.size if above % wanted.size == 0 else above
    if wanted.size % size:
        return None
    outer, _ = cut(held, low * size)
    _, inner = cut(held, low)
    still, _ = cut(wanted, size)
    return outer, inner, still
