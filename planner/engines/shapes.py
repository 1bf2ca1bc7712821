"""What all engine laws need of mappings: sizes in bits, comparing, cutting, padding, and small enumerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import gcd, isqrt

import numpy as np

from models.cells import LIVE, Cells, cells
from models.dtypes import DTYPES
from models.factors import Digit, contiguous_walk, digits, equivalent, from_factors, simplify, split
from models.faults import Finding
from models.mapping import Mapping, Modulo, Pad, Padding, Resize, Stride, nodes, text

BITS_PER_BYTE = 8
MOST_PACKET = 4096
"""Packets of more elements than any engine passes on are compared by their factors only."""
_COUNTED_AS = {"i5": "i4", "i9": "i8"}


def element_bits(dtype: str) -> int:
    """Bits of an element in a packet; staged operands are counted in the type they were stored in."""
    return DTYPES[_COUNTED_AS.get(dtype, dtype)].bits


def size_bits(dtype: str, elements: int) -> int:
    """Bits that packed elements take."""
    return elements * element_bits(dtype)


def size_bytes(dtype: str, elements: int) -> int:
    """Bytes that packed elements take, rounded up."""
    return -(-size_bits(dtype, elements) // BITS_PER_BYTE)


def elements_in(dtype: str, byte_count: int) -> int:
    """How many elements fit into so many bytes."""
    return byte_count * BITS_PER_BYTE // element_bits(dtype)


def show(e: Mapping) -> str:
    """The shortest text of an equivalent mapping."""
    return text(simplify(e))


def disagreement(rule: str, what: str, found: Mapping, wanted: Mapping) -> Finding | None:
    """A finding of `rule` where two mappings are not equivalent, None where they are."""
    verdict = equivalent(found, wanted)
    if verdict:
        return None
    if verdict is None:
        return Finding(
            "equivalence_not_decided",
            f"{what}: whether `{text(found)}` equals `{show(wanted)}` cannot be told from their factors",
            text(found),
            show(wanted),
        )
    return Finding(
        rule, f"{what} is `{text(found)}`, must be `{show(wanted)}`", text(found), show(wanted), show(wanted)
    )


def kept(findings: Iterable[Finding | None]) -> tuple[Finding, ...]:
    """The findings that there are."""
    return tuple(f for f in findings if f is not None)


def padded(e: Mapping, size: int) -> Mapping:
    """`e # size`, or `e` where it already has that size."""
    return e if e.size >= size else Pad(e, size)


def padded_to_multiple(e: Mapping, step: int) -> Mapping:
    """`e` padded to the next multiple of `step` positions."""
    return padded(e, -(-e.size // step) * step)


def cut(e: Mapping, inner_size: int) -> tuple[Mapping, Mapping]:
    """Outer and inner part of `e`; `inner_size` divides its size."""
    return split(e, inner_size) or (Stride(e, inner_size), Modulo(e, inner_size))


def leading(e: Mapping, size: int) -> Mapping:
    """The first `size` positions of `e`, in the shortest form."""
    if size == e.size:
        return e
    return simplify(Resize(e, size))


@lru_cache(maxsize=4096)
def small_cells(e: Mapping, count: int | None = None) -> Cells:
    """Cells of the first `count` positions of a packet-sized mapping (all of them by default); not to be changed."""
    return cells(e, np.arange(e.size if count is None else count, dtype=np.int64))


def live_length(e: Mapping) -> int:
    """Positions up to the last live one of a packet-sized mapping; 0 when nothing is live."""
    if e.size > MOST_PACKET:
        return e.size
    live = np.flatnonzero(np.broadcast_to(small_cells(e).kind, (e.size,)) == LIVE)
    return int(live[-1]) + 1 if live.size else 0


def live_count(e: Mapping) -> int:
    """Live positions of a packet-sized mapping; all of them where it is larger."""
    if e.size > MOST_PACKET:
        return e.size
    return int(np.count_nonzero(np.broadcast_to(small_cells(e).kind, (e.size,)) == LIVE))


def live_share(e: Mapping) -> float:
    """The part of all positions that is live, from the first positions where there are many."""
    count = min(e.size, MOST_PACKET)
    return int(np.count_nonzero(np.broadcast_to(small_cells(e, count).kind, (count,)) == LIVE)) / count


def same_cells(a: Mapping, b: Mapping, count: int) -> bool:
    """Whether two packet-sized mappings agree on their first `count` positions."""
    if count > a.size or count > b.size:
        return False
    if count > MOST_PACKET:
        return bool(equivalent(leading(a, count), leading(b, count)))
    return bool(small_cells(a, count).same_as(small_cells(b, count)).all())


def broken_promises(rule: str, what: str, given: Iterable[Mapping], promised: Mapping) -> Finding | None:
    """A finding where `promised` states zero padding that none of `given` has: nothing writes those zeros."""
    held = {n for e in given for n in nodes(e) if isinstance(n, Pad) and n.kind is Padding.ZERO}
    for node in nodes(promised):
        if isinstance(node, Pad) and node.kind is Padding.ZERO and node not in held:
            return Finding(
                rule,
                f"{what} promises zeros in `{text(node)}`, which nothing writes there",
                text(node),
                f"`{text(Pad(node.inner, node.n))}`, or the same zero padding in what comes in",
            )
    return None


def lacks(whole: Iterable[Mapping], part: Mapping) -> bool:
    """Whether none of the digits of `part` stand in `whole`."""
    return not any(_holds(e, piece) for e in whole for piece in _pieces(part))


def _holds(e: Mapping, piece: Mapping) -> bool:
    walk = contiguous_walk([piece], e)
    return walk is not None and any(stride for _, stride in walk)


def _pieces(part: Mapping) -> Iterator[Mapping]:
    """The digits of a mapping, cut as small as their sizes allow."""
    for factor in digits(part):
        if not isinstance(factor, Digit):
            continue
        stride, size = factor.stride, factor.size
        while size > 1:
            least = next((d for d in range(2, isqrt(size) + 1) if size % d == 0), size)
            yield from_factors((Digit(factor.base, stride, least),))
            stride, size = stride * least, size // least


def power_of_two_divisor(n: int, limit: int) -> int:
    """The largest power of two that divides n, at most `limit` (itself a power of two)."""
    return gcd(n, limit)
