"""From bits of the slice number to the ring: sources of every output bit, derived ring size, snoop bitmap.

All of it is algebra on at most eight bits (domain: section 5); the simulator derives the same bitmap by
enumerating output cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

NEW, PADDED = -1, -2
"""Sources of an output bit that no input bit feeds: a broadcast, or padding whose odd slices listen to nothing."""

Bitmap = list[list[int]]


@dataclass(frozen=True, slots=True)
class Moved:
    """Input bits that travel to Time together, outermost first; the first `count` of their values travel."""

    bits: tuple[int, ...]
    count: int

    @property
    def values(self) -> int:
        """How many values the bits have."""
        return 1 << len(self.bits)


@dataclass(frozen=True, slots=True)
class Routing:
    """`sources[b]` is the input bit that feeds output bit b (lowest first), NEW or PADDED; `moved` go to Time,
    outermost first; `own` are input bits that carry only copies, so each slice takes the copy in its own place.
    """

    sources: tuple[int, ...]
    moved: tuple[Moved, ...] = ()
    own: frozenset[int] = frozenset()

    @property
    def steps(self) -> int:
        """Time steps that moved values add."""
        return reduce(lambda n, m: n * m.count, self.moved, 1)

    @property
    def is_partial(self) -> bool:
        """Whether only some of the values of a moved digit travel (the seed's partial extraction)."""
        return any(1 < m.count < m.values for m in self.moved)

    def straight(self, bit: int) -> bool:
        """Whether a slice and its sources agree in this bit of the slice number."""
        source = self.sources[bit]
        if bit in self.own:
            return True  # of copies, the one in the slice's own place is taken
        if source >= 0:
            return source == bit
        return source == PADDED and not self._fed(bit)

    def _fed(self, bit: int) -> bool:
        """Whether a source may have this bit of its number set."""
        return bit in self.sources or any(
            m.count > 1 << place for m in self.moved for place, b in enumerate(reversed(m.bits)) if b == bit
        )


def derived_ring(routing: Routing) -> int:
    """The smallest power of two such that every slice's sources lie in its own aligned block of that many."""
    crossing = [b for b in range(len(routing.sources)) if not routing.straight(b)]
    return 2 << max(crossing) if crossing else 1


def derived_bitmap(routing: Routing, ring_size: int) -> tuple[Bitmap, int]:
    """The source slices, ascending, of the first `period` output slices; slice r listens to
    pattern[r % period] + (r // period) * period. Rows with equal sources share one list.
    """
    silent = [b for b, source in enumerate(routing.sources) if source == PADDED]
    elsewhere = [b for b, source in enumerate(routing.sources) if source >= 0 and source != b]
    period = max([ring_size, *(2 << b for b in (*silent, *elsewhere))])  # sub-rings may differ where copies stay
    slices = np.arange(period, dtype=np.int64)
    first = np.zeros(period, dtype=np.int64)
    for out_bit, source in enumerate(routing.sources):
        if source >= 0 and 1 << out_bit < period:
            first |= ((slices >> out_bit) & 1) << source
    for bit in routing.own:
        first |= slices & (1 << bit)
    quiet = np.zeros(period, dtype=bool)
    for bit in silent:
        quiet |= (slices >> bit) & 1 == 1
    offsets = _offsets(routing)
    # one list per distinct row: all rows of a broadcast are the same object
    rows = {base: (base + offsets).tolist() for base in set(first.tolist())}
    pattern = [
        [] if silenced else rows[base]
        for base, silenced in zip(first.tolist(), quiet.tolist(), strict=True)
    ]  # fmt: skip
    return pattern, period


def _offsets(routing: Routing) -> NDArray[np.int64]:
    out = np.zeros(1, dtype=np.int64)
    for moved in routing.moved:
        values = np.arange(moved.count, dtype=np.int64)
        at = np.zeros(moved.count, dtype=np.int64)
        for place, bit in enumerate(reversed(moved.bits)):
            at |= ((values >> place) & 1) << bit
        out = (out[:, None] + at[None, :]).reshape(-1)
    return np.sort(out)


def full_bitmap(pattern: Bitmap, period: int, slices: int) -> dict[int, list[int]]:
    """The whole bitmap: output slice to the input slices it listens to."""
    return {r: [s + r // period * period for s in pattern[r % period]] for r in range(slices)}
