"""TRF banks cycle by cycle: read cache, banks, and a store that waits for them (domain: section 6; seed 000).

All active lanes read the same row of the same banks, so one lane stands for all; rows are those that the lane sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from models.hardware import Hardware


@dataclass(frozen=True, slots=True)
class Switches:
    """Parts of the file that can be left out, to see what they are worth.

    Without `cache` every read takes its bank. Without `alternation` a narrow read takes both banks, as a wide one.
    """

    cache: bool = True
    alternation: bool = True


@dataclass(frozen=True, slots=True)
class Writes:
    """A store of `flits`, `flits_per_lane` to a lane; the first is ready in cycle `first`, `gather` cycles for one."""

    flits: int
    flits_per_lane: int
    gather: int
    first: int = 0


@dataclass(slots=True)
class Counts:
    """What happened: reads by hit and miss, cycles in which a flit waited, the cycle of the last write."""

    hits: int = 0
    misses: int = 0
    waits: int = 0
    last_write: int = 0
    delay: int = 0


@dataclass(slots=True)
class Cache:
    """The rows that each line of each bank holds, direct mapped."""

    rows: int
    lines: dict[tuple[int, int], int] = field(default_factory=dict)

    def hit(self, bank: int, row: int) -> bool:
        """Looks a row up and keeps it."""
        key = (bank, row % self.rows)
        known = self.lines.get(key) == row
        self.lines[key] = row
        return known


@dataclass(slots=True)
class Front:
    """The store's flit in front of the file, and the one that is being gathered behind it."""

    writes: Writes
    written: int = 0
    ready: int = 0

    def bank(self, banks: int) -> int:
        """Where the flit in front goes."""
        return self.written % self.writes.flits_per_lane % banks

    def done(self) -> bool:
        """Whether all flits are written."""
        return self.written == self.writes.flits

    def write(self, now: int, came: int) -> None:
        """Writes the flit in front; gathering the next began when this one came to the front."""
        self.written += 1
        self.ready = max(came + self.writes.gather, now + 1)


def run_banks(
    reads: Sequence[int],
    read_bytes: int,
    writes: Writes,
    hardware: Hardware,
    switches: Switches = Switches(),
) -> Counts:
    """Runs reads (byte offset in the lane's tensor, one a cycle) against a store, until both are done."""
    trf, counts, cache = hardware.trf, Counts(), Cache(hardware.trf.cache_rows)
    flit = hardware.geometry.flit_bytes
    front, now = Front(writes, ready=writes.first), min(0, writes.first)
    while now < len(reads) or not front.done():
        taken: set[int] = set()
        if 0 <= now < len(reads):
            taken = _taken(reads[now] // flit, read_bytes > trf.narrow_read_bytes, cache, trf.banks, switches, counts)
        if not front.done() and front.ready <= now:
            if front.bank(trf.banks) in taken:
                counts.waits += 1
            else:
                front.write(now, front.ready)
                counts.last_write = now
        now += 1
    free = writes.first + (writes.flits - 1) * writes.gather
    counts.delay = counts.last_write - free if writes.flits else 0
    return counts


def _taken(flit: int, wide: bool, cache: Cache, banks: int, switches: Switches, counts: Counts) -> set[int]:
    """Banks that a read takes in this cycle."""
    row, own = flit // banks, flit % banks
    touched = range(banks) if wide else (own,)
    missed = {bank for bank in touched if not (cache.hit(bank, row) and switches.cache)}
    if missed:
        counts.misses += 1
    else:
        counts.hits += 1
    return set(range(banks)) if missed and not switches.alternation else missed


def walk(entries: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Offsets of a walk of entries (size, stride), outermost first."""
    for position in product(*(range(size) for size, _ in entries)):
        yield sum(i * stride for i, (_, stride) in zip(position, entries, strict=True))
