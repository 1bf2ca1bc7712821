"""Resolves bases: digits of padded, resized and paired expressions become digits of what these stand on.

All digits of one expression add up to one position of it (domain: section 1), so a base is resolved only with
every digit of it in view: those of the mapping itself and those of the mappings that stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

from models.digits import Digit, Factor, Factors, Free, Padded, axes_in, merge, over, peel, walk_digits
from models.mapping import Axis, Broadcast, Mapping, Pad, Padding, Pair, Resize, height, nodes, terms
from models.tidy import as_digit, chain

Rewrite = Callable[[Digit], Factors]


def lower(lists: Sequence[Factors], past: bool = False) -> list[Factors]:
    """Rewrites the factors of several mappings of one tensor until no base can be resolved further.

    With `past`, padding is ignored: digits run on past the data, as a sequencer does, and the result holds
    for live positions only.
    """
    state = [_merge_all(factors) for factors in lists]
    while True:
        change = _next_rewrite(state, past)
        if change is not None:
            state = [_merge_all(_apply(factors, *change)) for factors in state]
            continue
        if past:
            return state  # a sequencer runs past the padding of a digit, whose steps stay together
        # padding is peeled last: a pair cut at the padding's border might not split at its own any more
        peeled = [_merge_all(_peel_all(factors)) for factors in state]
        if peeled == state:
            return state
        state = peeled


def _merge_all(factors: Iterable[Factor]) -> Factors:
    return tuple(merge(Padded(_merge_all(f.inner), f.size, f.kind) if isinstance(f, Padded) else f for f in factors))


def _peel_all(factors: Iterable[Factor]) -> list[Factor]:
    return [g for f in factors for g in (peel(f) if isinstance(f, Padded) else (f,))]


def _apply(factors: Factors, base: Mapping, rewrite: Rewrite) -> list[Factor]:
    out: list[Factor] = []
    for factor in factors:
        if isinstance(factor, Digit) and factor.base == base:
            out += rewrite(factor)
        elif isinstance(factor, Padded):
            out.append(Padded(tuple(_apply(factor.inner, base, rewrite)), factor.size, factor.kind))
        else:
            out.append(factor)
    return out


def _next_rewrite(state: Sequence[Factors], past: bool) -> tuple[Mapping, Rewrite] | None:
    """The first base, outermost expression first, that can be resolved, and how."""
    found: dict[Mapping, list[Digit]] = {}
    for factors in state:
        for digit in walk_digits(factors):
            if not isinstance(digit.base, Axis):
                found.setdefault(digit.base, []).append(digit)
    kept: set[Mapping] = set()
    for base in sorted(found, key=height, reverse=True):
        if base in kept:
            continue  # a base that stays adds an unknown share to the digits of what it encloses
        scene = _Scene(state, found, past)
        shared = bool(axes_in(base))
        rewrite = _rewrite(base, found[base], scene) if shared else _one_by_one(base, found[base], scene)
        if rewrite is not None:
            return base, rewrite
        kept.update(nodes(base))
    return None


def _one_by_one(base: Mapping, digits: list[Digit], scene: _Scene) -> Rewrite | None:
    """An expression without an axis has no identity: its digits do not add up."""
    table = {d: _rewrite(base, [d], scene) for d in digits}
    if not any(table.values()):
        return None
    return lambda d: (d,) if (rewrite := table[d]) is None else rewrite(d)


class _Scene:
    """What the rewriting of one base may depend on."""

    def __init__(self, state: Sequence[Factors], found: dict[Mapping, list[Digit]], past: bool) -> None:
        self.state, self.found, self.past = state, found, past

    def free_order(self, base: Mapping) -> bool:
        """Whether the digits of `base` may be resolved one by one without changing which padding wins.

        With several kinds of padding the major one wins, so the digits must stand together, major first.
        """
        return self.past or len(self._kinds()) <= 1 or any(_together(f, base, self.found) for f in self.state)

    def _kinds(self) -> set[Padding]:
        kinds = {Padding.TOP} if self._overflows() else set()
        for factors in self.state:
            kinds |= set(_padding_kinds(factors))
        return kinds | {n.kind for base in self.found for n in nodes(base) if isinstance(n, Pad)}

    def _overflows(self) -> bool:
        """Whether a total may pass the end of an axis, a pair or a resized expression: padding top."""
        if any(not isinstance(n, Pad | Axis | Broadcast) for base in self.found for n in nodes(base)):
            return True
        totals: dict[Mapping, int] = {}
        for factors in self.state:
            for d in walk_digits(factors):
                totals[d.base] = totals.get(d.base, 0) + d.stride * (d.size - 1)
        return any(isinstance(base, Axis) and total >= base.size for base, total in totals.items())


def _padding_kinds(factors: Iterable[Factor]) -> Iterable[Padding]:
    for factor in factors:
        if isinstance(factor, Padded):
            yield factor.kind
            yield from _padding_kinds(factor.inner)


def _together(factors: Factors, base: Mapping, found: dict[Mapping, list[Digit]]) -> bool:
    at = [i for i, f in enumerate(factors) if isinstance(f, Digit) and f.base == base]
    if len(at) != len(found[base]) or at[-1] - at[0] != len(at) - 1:
        return False
    strides = [f.stride for f in factors[at[0] : at[-1] + 1] if isinstance(f, Digit)]
    return strides == sorted(strides, reverse=True)


def reach(digits: Iterable[Digit]) -> int:
    """The highest total of the digits of one base."""
    return sum(d.stride * (d.size - 1) for d in digits)


def _rewrite(base: Mapping, digits: list[Digit], scene: _Scene) -> Rewrite | None:
    if isinstance(base, Pad):
        return _past_pad(base) if scene.past else _rewrite_pad(base, digits, scene)
    if isinstance(base, Resize):
        if scene.past:
            return lambda d: _past(base.inner, base.n, d)
        return (lambda d: over(base.inner, d.stride, d.size)) if reach(digits) < base.n else None
    if isinstance(base, Pair):
        return _rewrite_pair(base, digits, scene)
    return None


def _past_pad(base: Pad) -> Rewrite:
    if isinstance(base.inner, Broadcast):
        # nothing is read, so what lies past the data must not look like a re-read of it
        return lambda d: _padded((), d.size, base.kind) if base.inner.size == 1 else (Free(d.size),)
    return lambda d: _past(base.inner, base.inner.size, d, base.kind)


def _past(e: Mapping, live: int, d: Digit, kind: Padding = Padding.TOP) -> Factors:
    """A digit of what encloses `e`, which has `live` positions, where padding is run past.

    Past the end of an axis there is nothing; past that of a digit (`I % 2 # 4`) there would be more of the axis,
    which does not stand there.
    """
    base, own, size = as_digit(e)
    steps = -(-live // d.stride)
    goes_on = isinstance(base, Pair) or own * size < base.size or live < e.size
    if d.size <= steps or not goes_on:
        return over(e, d.stride, d.size)
    return _padded(over(e, d.stride, steps), d.size, kind)


def _rewrite_pad(base: Pad, digits: list[Digit], scene: _Scene) -> Rewrite | None:
    live, total = base.inner.size, reach(digits)
    if total < live:
        return lambda d: over(base.inner, d.stride, d.size)
    if len(digits) == 1:
        return lambda d: _padded(over(base.inner, d.stride, -(-live // d.stride)), d.size, base.kind)
    if scene.free_order(base):
        if any(d.stride >= live for d in digits):
            # one step of such a digit is past the data, whatever the others say
            return lambda d: _padded((), d.size, base.kind) if d.stride >= live else (d,)
        border = _clean_border(live, digits)
        if border is not None:
            return lambda d: _part(d, border, lambda h: (h,), lambda low: over(base.inner, low.stride, low.size))
    shortest = Pad(base.inner, total + 1, base.kind)
    if base.n != shortest.n and shortest not in scene.found:
        return lambda d: (Digit(shortest, d.stride, d.size),)
    return None


def _padded(inner: Factors, size: int, kind: Padding) -> Factors:
    return (Padded(inner, size, kind),)


def _clean_border(live: int, digits: list[Digit]) -> int | None:
    """The highest border below which digits cannot carry into the padding: it divides the live positions."""
    borders = {gcd(live, b) for d in digits for b in (d.stride, d.stride * d.size)}
    for border in sorted(borders, reverse=True):
        if border > 1 and (halves := _halves(digits, border)) is not None and halves:
            return border
    return None


def _halves(digits: Iterable[Digit], border: int) -> list[Digit] | None:
    """The parts of the digits below a border; None when a digit straddles it or their total passes it."""
    lows: list[Digit] = []
    for d in digits:
        halves = cut_at(d, border)
        if halves is None:
            return None
        lows += halves[1]
    return lows if reach(lows) < border else None


def cut_at(d: Digit, border: int) -> tuple[list[Digit], list[Digit]] | None:
    """A digit as a part that reads multiples of `border` and a part below it; None when it straddles."""
    if d.stride % border == 0:
        return [d], []
    if d.stride * (d.size - 1) < border:
        return [], [d]
    if border % d.stride or (d.stride * d.size) % border:
        return None
    low = border // d.stride
    return [Digit(d.base, border, d.size // low)], [Digit(d.base, d.stride, low)]


def _part(d: Digit, border: int, high: Rewrite, low: Rewrite) -> Factors:
    highs, lows = cut_at(d, border) or ([d], [])
    return tuple(f for part in highs for f in high(part)) + tuple(f for part in lows for f in low(part))


def _rewrite_pair(base: Pair, digits: list[Digit], scene: _Scene) -> Rewrite | None:
    """Splits at a border between two terms over which no digit carries, the outermost such border."""
    if (reach(digits) >= base.size and not scene.past) or not scene.free_order(base):
        return None
    parts = terms(base)
    for i in range(1, len(parts)):
        right = chain(list(parts[i:]))
        if _halves(digits, right.size) is not None:
            return _pair_parts(chain(list(parts[:i])), right, scene.past)
    return None


def _pair_parts(left: Mapping, right: Mapping, past: bool) -> Rewrite:
    border = right.size

    def high(d: Digit) -> Factors:
        own = Digit(d.base, d.stride // border, d.size)
        return _past(left, left.size, own) if past else over(left, own.stride, own.size)

    return lambda d: _part(d, border, high, lambda low: over(right, low.stride, low.size))
