"""Matching what stands innermost in output Time with the digits that left Slice (domain: section 5, rules 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.digits import Digit, Free, cut, size_of
from models.factors import equivalent, from_factors
from models.mapping import ONE, Mapping, Pad, Resize, axis_names
from models.tidy import as_digit
from planner.engines.switch_bits import Bit, cut_at, digit_term, live_count
from planner.engines.switch_routing import Moved

Flat = tuple[Digit | Free, ...]


@dataclass(frozen=True, slots=True)
class Leaving:
    """Neighbouring bits of the input Slice that the output Slice lacks, as one factor; `bits` outermost first."""

    factor: Digit | Free
    bits: tuple[int, ...]
    is_padding: bool = False

    @property
    def mapping(self) -> Mapping:
        """The factor as an expression."""
        return digit_term(self.factor)

    @property
    def needed(self) -> int:
        """How many of its values must travel: those up to the last live one; of mere copies or padding one."""
        if isinstance(self.factor, Free) or self.is_padding:
            return 1
        live = -(-live_count(self.factor.base) // self.factor.stride)
        return min(self.factor.size, live)


def leaving(bits: Sequence[Bit], unused: Sequence[int]) -> list[Leaving]:
    """Groups the unused input bits, outermost first, into factors as large as they go."""
    out: list[Leaving] = []
    for at in sorted(unused, reverse=True):
        bit = bits[at]
        last = out[-1] if out else None
        if last is not None and _reads_on(bits[last.bits[-1]], bit):
            out[-1] = _leaving(bit, (*last.bits, at))
        else:
            out.append(_leaving(bit, (at,)))
    return _with_padding(out)


def _with_padding(items: list[Leaving]) -> list[Leaving]:
    """Puts padding back onto the digit just inside of it, so that `B # 16` over B = 8 is one item."""
    out: list[Leaving] = []
    for item in items:
        last = out[-1] if out else None
        if (
            last is None
            or not last.is_padding
            or last.bits[-1] != item.bits[0] + 1
            or not isinstance(item.factor, Digit)
            or not isinstance(last.factor, Digit)
            or not isinstance(last.factor.base, Pad)
        ):
            out.append(item)
            continue
        size = last.factor.size * item.factor.size
        padded = Pad(digit_term(item.factor), size, last.factor.base.kind)
        out[-1] = Leaving(Digit(padded, 1, size), (*last.bits, *item.bits))
    return out


def _reads_on(outer: Bit, inner: Bit) -> bool:
    if outer.base is None or inner.base is None:
        return outer == inner
    return outer.base == inner.base and outer.stride == 2 * inner.stride


def _leaving(low: Bit, places: tuple[int, ...]) -> Leaving:
    size = 1 << len(places)
    if low.base is not None:
        return Leaving(Digit(low.base, low.stride, size), places)
    if low.kind is not None:
        return Leaving(Digit(Pad(ONE, size, low.kind), 1, size), places, is_padding=True)
    return Leaving(Free(size), places)


@dataclass(frozen=True, slots=True)
class Match:
    """`moved` and `own` as in a routing; `late` and `lost` are what is out of order and what is dropped alive;
    `rest` are time factors that nothing in Slice accounts for.
    """

    moved: tuple[Moved, ...] = ()
    own: frozenset[int] = frozenset()
    late: Leaving | None = None
    lost: Leaving | None = None
    rest: Flat = ()


def match(items: Sequence[Leaving], time: Flat) -> Match:
    """Reads `time`, innermost first, as the items in their order, each whole or its first values."""
    moved: list[Moved] = []
    own: set[int] = set()
    for item in reversed(items):
        count, rest = _taken(item, time)
        if count < item.needed:
            if _stands_in(item, rest if count > 1 else time):
                return Match(late=item, rest=time)
            return Match(lost=item, rest=time)
        time = rest
        travels = item.bits
        if isinstance(item.factor, Free):
            # copies that stay behind are no loss: of those, each slice takes the one in its own place
            border = len(item.bits) - (count - 1).bit_length()
            own.update(item.bits[:border])
            travels = item.bits[border:]
        if travels:
            moved.insert(0, Moved(travels, count))
    return Match(tuple(moved), frozenset(own), rest=time)


def _taken(item: Leaving, time: Flat) -> tuple[int, Flat]:
    """How many values of the item stand innermost in `time`, and what stands outside of them."""
    if not time:
        return 1, time
    last = time[-1]
    if _same_place(item.factor, last):
        if last.size <= item.factor.size:
            return last.size, time[:-1]
        if last.size % item.factor.size == 0:
            return item.factor.size, (*time[:-1], *cut(last, item.factor.size)[0])
    if isinstance(item.factor, Digit) and isinstance(item.factor.base, Pad):
        return _part_of_padded(item.mapping, item.factor, item.factor.base.inner, time)
    return 1, time


def _same_place(a: Digit | Free, b: Digit | Free) -> bool:
    if isinstance(a, Free) or isinstance(b, Free):
        return isinstance(a, Free) and isinstance(b, Free)
    both_padding = _pure_padding(a) and _pure_padding(b)
    return both_padding or (a.base == b.base and a.stride == b.stride)


def _pure_padding(factor: Digit) -> bool:
    return isinstance(factor.base, Pad) and factor.base.inner == ONE


def _part_of_padded(e: Mapping, factor: Digit, inner: Mapping, time: Flat) -> tuple[int, Flat]:
    """The longest innermost part of `time` that reads the first values of a padded item, as C does of C # 4."""
    outer, low = cut_at(time, factor.size)
    if low is not None and equivalent(e, from_factors(low)):
        return factor.size, tuple(f for f in outer if isinstance(f, Digit | Free))
    for start in range(len(time)):
        count = size_of(time[start:])
        if 1 < count <= factor.size and equivalent(Resize(e, count), from_factors(time[start:])):
            return count, time[:start]
    base, stride, size = as_digit(inner)
    last = time[-1]
    if _same_place(Digit(base, stride * factor.stride, size), last) and last.size % size == 0:
        return size, (*time[:-1], *cut(last, size)[0])
    return 1, time


def _stands_in(item: Leaving, time: Flat) -> bool:
    """Whether values of the item stand farther out in `time`."""
    if isinstance(item.factor, Free):
        return False
    base, low, high = item.factor.base, item.factor.stride, item.factor.stride * item.factor.size
    for factor in time:
        if not isinstance(factor, Digit):
            continue
        if factor.base == base and factor.stride < high and low < factor.stride * factor.size:
            return True
        if factor.base != base and axis_names(factor.base) & axis_names(base):
            return True
    return False


def shortest(item: Leaving) -> Mapping:
    """What of an item must stand in Time at least."""
    if item.needed == 1 or isinstance(item.factor, Free):
        return ONE
    base = item.factor.base.inner if isinstance(item.factor.base, Pad) else item.factor.base
    if item.factor.stride == 1 and item.needed == base.size:
        return base
    return item.mapping if item.needed == item.factor.size else Resize(item.mapping, item.needed)
