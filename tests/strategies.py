"""Hypothesis strategies, one section per subject."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import strategies as st

from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Padding, Pair, Resize, Stride, pair, terms
from tests.planner.engines.switch_pairs import SwitchPair, switch_pair

# --- mappings ---------------------------------------------------------------------------------------------

AXES = {"A": 4, "B": 6, "C": 5, "D": 8}
MOST_POSITIONS = 600


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _leaves() -> st.SearchStrategy[Mapping]:
    axes = st.sampled_from([Axis(name, size) for name, size in AXES.items()])
    return st.one_of(axes, axes, axes, st.integers(1, 3).map(Broadcast))


@st.composite
def _grown(draw: st.DrawFn, inner: st.SearchStrategy[Mapping]) -> Mapping:
    e = draw(inner)
    kind = draw(st.sampled_from(("stride", "modulo", "resize", "pad", "pair", "pair", "split")))
    if kind == "stride":
        return Stride(e, draw(st.sampled_from(divisors(e.size))))
    if kind == "modulo":
        return Modulo(e, draw(st.sampled_from(divisors(e.size))))
    if kind == "resize":
        return Resize(e, draw(st.integers(1, e.size)))
    if kind == "pad":
        return Pad(e, draw(st.integers(e.size, 2 * e.size)), draw(st.sampled_from(Padding)))
    if kind == "split":
        n = draw(st.sampled_from(divisors(e.size)))
        high, low = Stride(e, n), Modulo(e, n)
        return Pair(high, low) if draw(st.booleans()) else Pair(low, high)
    other = draw(inner)
    return Pair(e, other) if e.size * other.size <= MOST_POSITIONS else e


def mappings() -> st.SearchStrategy[Mapping]:
    """Any mapping of a few hundred positions, sensible or not: digits may overlap, padding may nest."""
    return st.recursive(_leaves(), _grown, max_leaves=6).filter(lambda e: e.size <= MOST_POSITIONS)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[Mapping, Mapping]:
    """A sensible tensor of two mappings: the digits of a layout, spread over both."""
    parts = terms(draw(layouts()))
    at = draw(st.integers(0, len(parts)))
    return pair(*parts[:at]), pair(*parts[at:])


@st.composite
def layouts(draw: st.DrawFn) -> Mapping:
    """A sensible mapping: every digit of each axis at most once, in any order, axes padded or not."""
    parts: list[Mapping] = []
    for name in draw(st.lists(st.sampled_from(sorted(AXES)), unique=True, min_size=1, max_size=3)):
        e: Mapping = Axis(name, AXES[name])
        if draw(st.booleans()):
            e = Pad(e, draw(st.sampled_from((8, 12))), draw(st.sampled_from(Padding)))
        borders = draw(st.sampled_from([(1, e.size), *((1, d, e.size) for d in divisors(e.size)[1:-1])]))
        parts += [Modulo(Stride(e, low), high // low) for low, high in pairwise(borders)]
    if draw(st.booleans()):
        parts.append(Broadcast(draw(st.integers(1, 3))))
    return pair(*draw(st.permutations(parts)))


# --- transfers --------------------------------------------------------------------------------------------

DMA_AXES = {"A": 12, "B": 8, "C": 5}


@st.composite
def _dma_digits(draw: st.DrawFn, name: str, padded: bool) -> list[Mapping]:
    """One axis as digits, outermost first; padded ones stand on the padded axis."""
    size = DMA_AXES[name]
    base: Mapping = Axis(name, size)
    if padded and draw(st.booleans()):
        base = Pad(base, draw(st.sampled_from((16, 24))))
    border = draw(st.sampled_from(divisors(base.size)))
    parts = [Stride(base, border), Modulo(base, border)]
    return [p for p in parts if p.size > 1]


@st.composite
def dma_ends(draw: st.DrawFn) -> tuple[Mapping, tuple[Mapping, Mapping, Mapping]]:
    """An HBM element and a DM side (element, slice, cluster) over the same few axes, each side in its own digits."""
    names = draw(st.lists(st.sampled_from(sorted(DMA_AXES)), unique=True, min_size=1, max_size=3))
    outside = [p for n in names for p in draw(_dma_digits(n, padded=False))]
    inside = [p for n in names for p in draw(_dma_digits(n, padded=True))]
    if draw(st.integers(0, 5)) == 0 and len(inside) > 1:
        inside.pop()
    inside = draw(st.permutations(inside))
    at = draw(st.integers(0, len(inside)))
    over = pair(*inside[:at])
    over, rest = (over, inside[at:]) if over.size <= 64 else (Broadcast(1), inside)
    cluster: Mapping = draw(st.sampled_from((Pad(Broadcast(1), 2), Broadcast(2))))
    spread = Pad(over, 64) if over.size < 64 else over
    return pair(*draw(st.permutations(outside))), (pair(*rest), spread, cluster)


# --- switch -----------------------------------------------------------------------------------------------


def switch_pairs(mutate: bool = False) -> st.SearchStrategy[SwitchPair]:
    """A switch input with a configuration and the output that it makes, or one with a digit of it mutated."""
    return st.integers(0, 2**32 - 1).map(lambda seed: switch_pair(Random(seed), mutate))


# --- transposes -------------------------------------------------------------------------------------------

TRANSPOSES = {"i4": (64, 16, 16), "i8": (32, 16, 8), "f8e5m2": (32, 16, 8), "bf16": (16, 16, 4), "f32": (8, 8, 2)}
"""By type: elements of a flit, most live ones of a packet, most rows of the matrix (seed 003)."""


@st.composite
def transposes(draw: st.DrawFn) -> tuple[dict[str, int], str, list[str]]:
    """Axes, a type, and the texts of a legal transpose: Time and Packet before, Time and Packet behind."""
    dtype = draw(st.sampled_from(sorted(TRANSPOSES)))
    flit, most, rows = TRANSPOSES[dtype]
    live = draw(st.integers(2, most))
    valid = 16 if dtype == "i4" or live > 8 else 8
    packets = draw(st.sampled_from([p for p in (1, 2, 4) if p * valid <= 32]))
    axes = {"O": draw(st.integers(1, 5)), "R": draw(st.integers(1, rows)), "P": packets, "E": live}
    elements = "E" if packets == 1 and draw(st.booleans()) else f"E # {valid}"
    texts = ["O, R, P", f"E # {flit}", f"O, P, {elements}", f"R # {flit}"]
    return axes, dtype, texts


# --- reductions -------------------------------------------------------------------------------------------


@st.composite
def reduced_times(draw: st.DrawFn) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Axes, and the factors of a Time with their sizes: digits of R = 24 in any order among factors of others."""
    axes = {"R": 24, "B": draw(st.integers(1, 4)), "C": draw(st.integers(1, 4)), "D": draw(st.integers(1, 3))}
    cut = draw(st.sampled_from([2, 3, 4, 6, 8, 12]))
    digits = draw(st.sampled_from([[("R", 24)], [(f"R / {cut}", 24 // cut), (f"R % {cut}", cut)]]))
    factors = [*digits, ("B", axes["B"]), ("C", axes["C"]), ("D", axes["D"])]
    return axes, draw(st.permutations(factors))
