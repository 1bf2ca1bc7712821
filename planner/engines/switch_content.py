"""What a stream holds, as sets of digits, for moves in which a fetch may put Time into any order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from models.digits import Digit, Factor, Free
from models.layout import Stream
from models.mapping import ONE, Axis, Mapping, Pad
from models.tidy import as_digit
from planner.engines.switch_bits import Bit, Lowered, digit_term, joined
from planner.engines.switch_custom import plan_slices
from planner.engines.switch_moved import shortest
from planner.engines.switch_slots import lowered_output

Places = dict[int, Bit]


def time_places(held: Lowered) -> Places:
    """Bits of Time by the number of steps that stand inside of them, as far as its factors are powers of two."""
    out: Places = {}
    below = 1
    for factor in reversed(held.time):
        if isinstance(factor, Digit):
            step = 1
            while factor.size % (2 * step) == 0:
                out[below * step] = Bit(factor.base, factor.stride * step)
                step *= 2
        below *= factor.size
    return out


def live_ranges(factors: Iterable[Factor]) -> frozenset[tuple[Mapping, int, int]]:
    """Base, stride and live size of every digit, neighbours merged wherever they stand; broadcasts left out."""
    by_base: dict[Mapping, list[tuple[int, int]]] = {}
    for factor in factors:
        if isinstance(factor, Digit) and not (isinstance(factor.base, Pad) and factor.base.inner == ONE):
            by_base.setdefault(factor.base, []).append((factor.stride, factor.size))
    found: set[tuple[Mapping, int, int]] = set()
    for base, digits in by_base.items():
        found |= {_live(base, stride, size) for stride, size in _merged(sorted(digits))}
    return frozenset(found)


def _merged(digits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out = digits[:1]
    for (_, _), (stride, size) in pairwise(digits):
        last_stride, last_size = out[-1]
        if stride == last_stride * last_size:
            out[-1] = (last_stride, last_size * size)
        else:
            out.append((stride, size))
    return out


def _live(base: Mapping, stride: int, size: int) -> tuple[Mapping, int, int]:
    """A digit of a padded expression as the digit of what is padded that it reads."""
    while isinstance(base, Pad):
        size = min(size, -(-base.inner.size // stride))
        base, own, _ = as_digit(base.inner)
        stride *= own
    if isinstance(base, Axis):
        size = min(size, -(-base.size // stride))
    return base, stride, size


def content(held: Lowered, but: Iterable[Bit] = ()) -> frozenset[tuple[Mapping, int, int]]:
    """What Slice and Time together hold, some bits of Slice left out."""
    left = set(but)
    digits = [Digit(b.base, b.stride, 2) for b in held.slice if b.base is not None and b not in left]
    return live_ranges([*digits, *held.time])


def natural_time(stream: Stream, out_slice: Mapping) -> Mapping | None:
    """What is left for Time when `out_slice` holds what it names: the input's, then what leaves Slice."""
    out = lowered_output(stream, out_slice, stream.time)
    slots = {b for b in out.slice if b.base is not None}
    kept: list[Mapping] = []
    for factor in out.time:
        pieces = _without(factor, slots)
        if pieces is None:
            return None
        kept += [digit_term(p) for p in pieces]
    return joined(*kept, *(shortest(item) for item in plan_slices(stream, out_slice).leaving))


def _without(factor: Digit | Free, bits: set[Bit]) -> list[Digit | Free] | None:
    """A factor of Time without the bits that Slice takes, outermost first; None where it cannot be cut so."""
    if isinstance(factor, Free):
        return [factor]
    taken = sorted(b.stride for b in bits if b.base == factor.base and _inside(b.stride, factor))
    out: list[Digit | Free] = []
    low, end = factor.stride, factor.stride * factor.size
    for stride in taken:
        if stride % low or end % (2 * stride):
            return None
        out += [Digit(factor.base, low, stride // low)] if stride > low else []
        low = 2 * stride
    out += [Digit(factor.base, low, end // low)] if end > low else []
    return out[::-1]


def _inside(stride: int, factor: Digit) -> bool:
    return factor.stride <= stride < factor.stride * factor.size and stride % factor.stride == 0
