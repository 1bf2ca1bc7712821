"""Mapping trees without what does nothing, so that one expression has one tree (domain: section 1).

Digits that add up must belong to one expression, however it was bracketed or split in the text. `tidy`
applies the identities of the domain that hold at every place of a tree: pairs associate, `e / 1`,
`e # size(e)`, `e = size(e)`, `[e, 1]` and `[e / n, e % n]` are all e, and whatever has one position is `1`.
"""

from __future__ import annotations

from functools import lru_cache

from models.mapping import ONE, Axis, Broadcast, Mapping, Modulo, Pad, Pair, Resize, Stride, terms


def as_digit(e: Mapping) -> tuple[Mapping, int, int]:
    """The base, the stride in positions of it and the size of a term: `A / 4 % 2` is (A, 4, 2).

    Everything that is neither a stride nor a modulo is the whole of itself.
    """
    size, stride = e.size, 1
    while isinstance(e, Stride | Modulo):
        if isinstance(e, Stride):
            stride *= e.n
        e = e.inner
    return e, stride, size


def digit(base: Mapping, stride: int, size: int) -> Mapping:
    """The shortest term that reads `base` at multiples of `stride`; stride x size divides the base's size."""
    if size == 1:
        return ONE
    if isinstance(base, Broadcast):
        return Broadcast(size)
    out: Mapping = base if stride == 1 else Stride(base, stride)
    return out if out.size == size else Modulo(out, size)


def join(parts: list[Mapping]) -> Mapping:
    """A pair of tidy parts, outermost first: flat, without `1`, neighbouring digits of one base merged."""
    done: list[Mapping] = []
    todo = [t for part in reversed(parts) for t in reversed(terms(part))]
    while todo:
        term = todo.pop()
        if term.size == 1:
            continue
        merged = _merged(done[-1], term) if done else None
        if merged is None:
            done.append(term)
        else:
            done.pop()
            todo += reversed(terms(merged))
    return chain(done)


def chain(parts: list[Mapping]) -> Mapping:
    """Right-nested pairs of the parts as they are; no part at all is `1`."""
    if not parts:
        return ONE
    out = parts[-1]
    for part in reversed(parts[:-1]):
        out = Pair(part, out)
    return out


@lru_cache(maxsize=4096)
def tidy(e: Mapping) -> Mapping:
    """The same cells as `e`, without operators that do nothing."""
    if e.size == 1:
        return ONE
    if isinstance(e, Axis | Broadcast):
        return e
    if isinstance(e, Pair):
        return join([tidy(t) for t in terms(e)])
    inner = tidy(e.inner)
    if isinstance(e, Stride | Modulo):
        base, stride, _ = as_digit(inner)
        return digit(base, stride * e.n if isinstance(e, Stride) else stride, e.size)
    if e.n == inner.size:
        return inner
    if isinstance(e, Pad):
        return Pad(inner, e.n, e.kind)
    return Broadcast(e.n) if isinstance(inner, Broadcast) else Resize(inner, e.n)


def _merged(outer: Mapping, inner: Mapping) -> Mapping | None:
    if isinstance(outer, Broadcast) and isinstance(inner, Broadcast):
        return Broadcast(outer.size * inner.size)
    base, stride, size = as_digit(outer)
    low_base, low_stride, low_size = as_digit(inner)
    if stride != low_stride * low_size or base != low_base:
        return None
    return digit(base, low_stride, size * low_size)
