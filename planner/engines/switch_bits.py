"""What the ring sees of a layout: Slice as bits of the slice number, Time as factors (domain: section 5).

Slice sizes are powers of two, so each Slice mapping is a list of at most eight bits, each a digit of some axis,
an anonymous broadcast or padding. Routing moves bits; the cost of everything here is in bits and factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from models.digits import Cuttable, Digit, Factor, Factors, Free, as_terms, cut, cuttable, merge, open_factors
from models.factors import equivalent
from models.lowering import lower
from models.mapping import ONE, Axis, Broadcast, Mapping, Modulo, Pad, Padding, Stride, axis_names, nodes, pair
from models.tidy import as_digit, chain, tidy


@dataclass(frozen=True, slots=True)
class Bit:
    """A bit of the slice number: it reads `base` at 0 or at `stride`. Without a base it is a broadcast over two
    slices or, with a `kind`, one live slice followed by one of padding (`1 # 2`).
    """

    base: Mapping | None = None
    stride: int = 1
    kind: Padding | None = None

    @property
    def is_slot(self) -> bool:
        """Whether it carries no digit."""
        return self.base is None


FREE_BIT = Bit()


@dataclass(frozen=True, slots=True)
class Lowered:
    """A tensor's mappings resolved in each other's company: bits of Slice, lowest first, and factors of the rest."""

    slice: tuple[Bit, ...]
    time: tuple[Digit | Free, ...]
    beside: tuple[Factors, ...]

    def inner_time(self, size: int) -> tuple[Digit | Free, ...] | None:
        """The innermost `size` time steps; None where a factor straddles that border."""
        _, low = cut_at(self.time, size)
        return None if low is None else tuple(f for f in low if isinstance(f, Digit | Free))

    def occupied(self) -> dict[Mapping, list[tuple[int, int]]]:
        """Ranges of positions that digits read, first included, last excluded, by their base."""
        out: dict[Mapping, list[tuple[int, int]]] = {}
        for bit in self.slice:
            if bit.base is not None:
                out.setdefault(bit.base, []).append((bit.stride, 2 * bit.stride))
        for factor in (*self.time, *(f for part in self.beside for f in cuttable(part))):
            for part in shrunk(factor):
                if isinstance(part, Digit) and axis_names(part.base):
                    out.setdefault(part.base, []).append((part.stride, part.stride * part.size))
        return out


@lru_cache(maxsize=4096)
def lowered(slice_: Mapping, time: Mapping, *beside: Mapping) -> Lowered:
    """Resolves Slice, Time and what stands beside them (Chip, Cluster, Packet) together.

    The size of `slice_` is a power of two.
    """
    parts = lower([open_factors(slice_), open_factors(time), *(open_factors(b) for b in beside)])
    return Lowered(_bits(parts[0]), tuple(_time(parts[1])), tuple(parts[2:]))


def _time(factors: Factors) -> Cuttable:
    return cuttable(merge(p for f in merge(cuttable(factors)) for p in shrunk(f)))


def shrunk(factor: Factor) -> list[Digit | Free]:
    """A factor without padding that fills whole multiples: `C # 16` over C = 5 is `1 # 2, C # 8`.

    Pure padding stays as a digit of `1 # n`.
    """
    if not isinstance(factor, Digit) or not isinstance(factor.base, Pad):
        return [factor] if isinstance(factor, Digit | Free) else []
    inner, kind = factor.base.inner, factor.base.kind
    stride, size, pads = factor.stride, factor.size, 1
    while size % 2 == 0 and stride * size // 2 >= inner.size:
        pads, size = pads * 2, size // 2
    out: list[Digit | Free] = [Digit(Pad(ONE, pads, kind), 1, pads)] if pads > 1 else []
    if size == 1:
        return out
    low, own, covered = as_digit(inner)
    whole = 1 << (inner.size - 1).bit_length()
    # what lies past the end of an axis is padding top as well, so `C # 4` and C are one base, whoever reads it
    runs_off = kind is Padding.TOP and isinstance(low, Axis | Pad) and own * covered == low.size
    if runs_off or (whole == inner.size and stride * size <= whole):
        return [*out, *shrunk(Digit(low, own * stride, size))]
    # how far the padding was written to does not matter: nothing beyond `whole` is read any more
    return [*out, Digit(Pad(inner, max(whole, stride * size), kind), stride, size)]


def digit_term(factor: Digit | Free) -> Mapping:
    """A factor as an expression whose digits add up with the others of its base: `C # 4 / 2`, never `C = 2`."""
    if isinstance(factor, Free):
        return Broadcast(factor.size)
    base, step = factor.base, factor.stride * factor.size
    if base.size % step:
        whole = 1 << (base.size - 1).bit_length()
        base = Pad(base, whole if whole % step == 0 else -(-base.size // step) * step)
    return tidy(Modulo(Stride(base, factor.stride), factor.size))


def _bits(factors: Factors) -> tuple[Bit, ...]:
    out: list[Bit] = []
    for factor in reversed(cuttable(factors)):
        for part in reversed(shrunk(factor)):
            out += _bits_of(part)
    return tuple(out)


def _bits_of(part: Digit | Free) -> list[Bit]:
    count = part.size.bit_length() - 1
    if isinstance(part, Free):
        return [FREE_BIT] * count
    if isinstance(part.base, Pad) and part.base.inner == ONE:
        return [Bit(kind=part.base.kind)] * count
    return [Bit(part.base, part.stride << i) for i in range(count)]


def window(e: Mapping, below: int, size: int) -> Mapping:
    """The `size` positions' worth of `e` that stand just outside its innermost `below`: `[e / below] % size`.

    Terms are cut where they stand, so that the digits keep their bases and add up with those of other mappings.
    """
    return cut_window(e, below, size)


@lru_cache(maxsize=8192)
def cut_window(e: Mapping, below: int, size: int) -> Mapping:
    """The same, remembered; `window` shows its types."""
    _, low = cut_at(open_factors(e), below * size)
    found, inner = cut_at(low, below) if low is not None else ((), None)
    if inner is None:
        return tidy(Modulo(Stride(e, below), size))
    return chain(as_terms(found))


def cut_at(factors: Sequence[Factor], inner_size: int) -> tuple[Factors, Factors | None]:
    """Outer and inner part of a list of factors; the inner one is None where a factor straddles the border."""
    low: list[Factor] = []
    rest = inner_size
    for i in range(len(factors) - 1, -1, -1):
        if rest == 1:
            return tuple(factors[: i + 1]), tuple(low)
        factor = factors[i]
        if rest % factor.size == 0:
            low.insert(0, factor)
            rest //= factor.size
            continue
        if factor.size % rest or not isinstance(factor, Digit | Free):
            return (), None
        outer, inner = cut(factor, rest)
        return (*factors[:i], *outer), (*inner, *low)
    return (), tuple(low) if rest == 1 else None


def same(a: Mapping, b: Mapping) -> bool | None:
    """Whether two mappings are equivalent; None where it cannot be decided."""
    return tidy(a) == tidy(b) or equivalent(a, b)


def joined(*parts: Mapping) -> Mapping:
    """Parts side by side, outermost first, neighbours that read on merged."""
    return tidy(pair(*parts))


def bit_mapping(bits: Sequence[Bit]) -> Mapping:
    """The expression of a Slice given by its bits, lowest first."""
    return joined(*(_term(bit) for bit in reversed(bits)))


def _term(bit: Bit) -> Mapping:
    if bit.base is not None:
        return digit_term(Digit(bit.base, bit.stride, 2))
    return Broadcast(2) if bit.kind is None else Pad(ONE, 2, bit.kind)


def live_count(e: Mapping) -> int:
    """Positions of `e` up to its last one that can be live."""
    if isinstance(e, Axis):
        return e.size
    if isinstance(e, Pad):
        return live_count(e.inner)
    if isinstance(e, Stride):
        return -(-live_count(e.inner) // e.n)
    if isinstance(e, Modulo):
        return min(live_count(e.inner), e.n)
    return e.size


def new_padded_axis(out_slice: Mapping, held: Iterable[str]) -> Pad | None:
    """The first padded expression in `out_slice` over axes that the input does not hold."""
    known = frozenset(held)
    for node in nodes(out_slice):
        if isinstance(node, Pad) and node.n > node.inner.size and axis_names(node) and not axis_names(node) & known:
            return node
    return None


def log2(n: int) -> int | None:
    """The exponent of a power of two; None for anything else."""
    return n.bit_length() - 1 if n > 0 and n & (n - 1) == 0 else None
