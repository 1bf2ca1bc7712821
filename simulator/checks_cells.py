"""What checks of mappings share: cells compared by enumeration, digits of axes, bits of a packet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells
from models.dtypes import DTYPES
from models.mapping import Mapping, Pad, Resize, axis_names, terms
from models.tidy import as_digit, tidy
from simulator.facts import Broken, Facts, Place
from simulator.layouts import Catalogue, Identity, Layouts
from simulator.values import Bits

Found = Iterator[Broken]
ZERO, BOTTOM = 2, 3
"""Kinds of padding that promise zeros, and that must not be touched."""
_TRAVELLING = {"i5": 4, "i9": 8}


def places_at(facts: Facts, *steps: str) -> Iterator[Place]:
    """Every stage of some steps."""
    return (p for p in facts.places if p.stage.step in steps)


def followed(facts: Facts, *steps: str) -> Iterator[Place]:
    """Those of them that have a stage before."""
    return (p for p in places_at(facts, *steps) if p.before is not None)


def travelling_bits(dtype: str) -> int:
    """Bits of an element in a packet; i5 and i9 travel in the places of i4 and i8."""
    return _TRAVELLING.get(dtype, DTYPES[dtype].bits)


def flit_elements(place: Place, dtype: str) -> int:
    """Elements of a flit."""
    return place.flit_bytes * 8 // travelling_bits(dtype)


def grouped(text: str) -> str:
    """A mapping as one atom of another."""
    return f"[{text or '1'}]"


def alike(layouts: Layouts, one: str, other: str) -> bool:
    """Whether two mappings have the same live cells at the same positions; kinds of padding do not matter."""
    if one == other:
        return True
    if layouts.size(one) != layouts.size(other):
        return False
    first, second = layouts.mapping(one), layouts.mapping(other)
    return _tidied(first) == _tidied(second) or same_live(layouts.inner(one), layouts.inner(other))


@lru_cache(maxsize=1024)
def _tidied(expr: Mapping) -> Mapping:
    return tidy(expr)


def same_live(one: Cells, other: Cells) -> bool:
    """Whether both have the same live cells."""
    live = np.asarray(one.kind == LIVE)
    if not np.array_equal(live, np.asarray(other.kind == LIVE)):
        return False
    zero = np.int64(0)
    return all(
        ((one.index.get(name, zero) == other.index.get(name, zero)) | ~live).all()
        for name in one.index.keys() | other.index.keys()
    )


def live_positions(layouts: Layouts, text: str) -> NDArray[np.int64]:
    """Positions of a mapping that hold a cell."""
    return np.flatnonzero(layouts.inner(text).kind == LIVE)


def broken_promise(layouts: Layouts, promised: str, held: str) -> bool:
    """Whether one mapping promises zeros where the other, which has as many positions, has none."""
    zeros = layouts.inner(promised).kind == ZERO
    if not zeros.any():
        return False
    kinds = layouts.inner(held).kind
    return kinds.shape != zeros.shape or bool((zeros & (kinds != ZERO)).any())


@dataclass(frozen=True, slots=True)
class Digit:
    """A term as a digit: positions `stride` apart of a base, `size` of them."""

    base: Mapping
    stride: int
    size: int
    text: str = ""

    def overlaps(self, other: Digit) -> bool:
        """Whether both give the same digit of one base, or a part of it."""
        if self.base != other.base:
            return False
        return self.stride < other.stride * other.size and other.stride < self.stride * self.size

    def meets(self, others: tuple[Digit, ...]) -> bool:
        """Whether it overlaps one of several."""
        return any(self.overlaps(other) for other in others)


def digits(layouts: Layouts, *texts: str) -> tuple[Digit, ...]:
    """The named digits of some mappings, outermost first."""
    return tuple(d for text in texts for d in _digits(layouts.mapping(text)))


@lru_cache(maxsize=1024)
def _digits(expr: Mapping) -> tuple[Digit, ...]:
    found = []
    for term in terms(tidy(expr)):
        base, stride, size = as_digit(term)
        while isinstance(base, Pad | Resize):
            base = base.inner
        if size > 1 and axis_names(base):
            found.append(Digit(base, stride, size, str(term)))
    return tuple(found)


def read_positions(offsets: NDArray[np.int64], size: int) -> Bits:
    """Which of `size` positions a walk touches."""
    seen = np.zeros(size, dtype=np.bool_)
    seen[offsets[offsets < size]] = True
    return seen


def looked_up(layouts: Layouts, held: tuple[str, ...], asked: tuple[str, ...]) -> NDArray[np.int32]:
    """Where every cell that some mappings name stands in others, on the axes of both; -1 where nowhere, or padding."""
    here, there = layouts.inner(*held), layouts.inner(*asked)
    axes = tuple(sorted(here.index.keys() & there.index.keys()))
    known = Identity(np.asarray(here.kind), {a: (np.asarray(here.index[a]),) for a in axes})
    wanted = Identity(np.asarray(there.kind), {a: (np.asarray(there.index[a]),) for a in axes})
    catalogue = Catalogue.of(known, axes, layouts.axes, here.kind.shape)
    return np.broadcast_to(catalogue.find(wanted), there.kind.shape)


def unheld(layouts: Layouts, held: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    """Whether some mappings name a live cell, on the axes of both, that the others do not hold."""
    live = np.asarray(layouts.inner(*asked).kind == LIVE)
    return bool(((looked_up(layouts, held, asked) < 0) & live).any())


def same_order(layouts: Layouts, text: str, source: str, keep: Bits) -> bool:
    """Whether a mapping names just the kept positions of another one, in their order."""
    out, given = layouts.inner(text), layouts.inner(source)
    at = np.flatnonzero(keep)
    if len(at) != out.kind.size:
        return False
    kept = Cells(np.asarray(given.kind)[at], {a: np.broadcast_to(i, keep.shape)[at] for a, i in given.index.items()})
    return same_live(out, kept)
