"""How long a store into the TRF waits for banks while the sequencer reads (domain: section 6, double buffering).

The sequencer reads every cycle. A read that misses the cache takes its bank for that cycle, a hit leaves it free; a
wide read has both banks, narrow ones alternate every 32 bytes. The store has one flit ready in front of the file: a
flit whose bank is taken waits, and the flits behind it are gathered meanwhile, one in `interval` cycles. On regular
patterns the delay has a closed form; on others the misses bound it, for every cycle waited is a miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from models.hardware import Hardware
from planner.engines.addresses import Entry
from planner.engines.shapes import BITS_PER_BYTE, element_bits


@dataclass(frozen=True, slots=True)
class Reads:
    """What the sequencer reads: `sweeps` times over `units` places of one read, each read `reuse` cycles in a row.

    `step` is how far neighbouring places lie apart, in reads; `run` how many follow each other so, 0 for all of them.
    Not `regular`: the walk has another form, of which only the number of places visited and the least reuse are given.
    """

    units: int
    reuse: int = 1
    sweeps: int = 1
    wide: bool = False
    step: int = 1
    regular: bool = True
    run: int = 0

    @property
    def cycles(self) -> int:
        """How long it reads."""
        return self.units * self.reuse * self.sweeps


@dataclass(frozen=True, slots=True)
class Store:
    """What the store writes: `flits` in all, `flits_per_lane` into each lane, one ready every `interval` cycles.

    `offset`: cycles from the first read to the first flit; negative when the store is ahead.
    """

    flits: int
    interval: int
    flits_per_lane: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Delay:
    """Cycles that the store ends later than with free banks; not `exact`: at most so many."""

    cycles: int
    exact: bool


def reads_of(time: Sequence[Entry], read_elements: int, dtype: str, hardware: Hardware) -> Reads:
    """The reads of a TRF walk: entries (size, stride in elements), outermost first, each step one read."""
    bits, trf = element_bits(dtype), hardware.trf
    wide = read_elements * bits > trf.narrow_read_bytes * BITS_PER_BYTE
    unit = (trf.wide_read_bytes if wide else trf.narrow_read_bytes) * BITS_PER_BYTE
    entries = [(n, s * bits) for n, s in time if n > 1]
    sweeps, reuse = 1, 1
    while entries and not entries[0][1]:
        sweeps *= entries.pop(0)[0]
    while entries and not entries[-1][1]:
        reuse *= entries.pop()[0]
    entries, within = _whole_units(entries, unit)
    reuse *= within
    while entries and not entries[-1][1]:
        reuse *= entries.pop()[0]  # a read that was gone through in parts and is gone through again
    if not entries:
        return Reads(1, reuse * sweeps, 1, wide)
    places = prod(n for n, _ in entries)
    if any(s % unit for _, s in entries):
        return Reads(places * reuse, 1, sweeps, wide, 1, regular=False)
    # Runs begin in the first bank again, and no place is visited twice in a row by different runs.
    pair = unit if wide else 2 * unit
    regular = all(s % pair == 0 for _, s in entries[:-1]) and _distinct(entries)
    run = entries[-1][0] if len(entries) > 1 else 0
    return Reads(places, reuse, sweeps, wide, entries[-1][1] // unit, regular, run)


def _distinct(entries: list[Entry]) -> bool:
    """Whether no place belongs to two runs, as with digits of one tensor; broadcasts repeat whole runs."""
    reach = 0
    for size, stride in sorted((e for e in entries if e[1]), key=lambda e: e[1]):
        if stride < reach:
            return False
        reach = stride * size
    return True


def _whole_units(entries: list[Entry], unit_bits: int) -> tuple[list[Entry], int]:
    """The walk in steps of whole reads, and how many steps stay inside one: small elements lie side by side."""
    if not entries:
        return entries, 1
    size, stride = entries[-1]
    inside = unit_bits // stride if unit_bits % stride == 0 else 1
    if inside == 1 or (size % inside and inside % size):
        return entries, 1
    if size < inside and len(entries) > 1:
        return entries, 1
    if size <= inside:
        return entries[:-1], size
    return [*entries[:-1], (size // inside, unit_bits)], inside


def misses(reads: Reads, cache_rows: int) -> int:
    """Reads that miss the cache, direct mapped by row; exact for a regular walk, otherwise every place visited."""
    if not reads.regular or reads.run:
        return reads.units * reads.sweeps
    return sum(n + (reads.sweeps - 1) * _again(n, lines) for n, lines in _rows(reads, cache_rows))


def _rows(reads: Reads, cache_rows: int) -> list[tuple[int, int]]:
    """(rows of a run, cache lines that they share) of every bank that is counted; wide reads miss in both together."""
    places = reads.run or reads.units
    if reads.wide:
        return [(places, cache_rows // gcd(cache_rows, reads.step))]
    if reads.step % 2 == 0:
        return [(places, cache_rows // gcd(cache_rows, reads.step // 2))]
    lines = cache_rows // gcd(cache_rows, reads.step)
    return [(places - places // 2, lines), (places // 2, lines)]


def _again(rows: int, lines: int) -> int:
    """Misses of a sweep that is not the first: rows alone on their line stay in the cache."""
    return min(rows, 2 * max(0, rows - lines))


def delay(reads: Reads, store: Store, cache_rows: int) -> Delay:
    """By how many cycles the store ends later because of the reads."""
    store, parity = _from_first_read(store)
    missing = _missing_cycles(reads, cache_rows)
    if store.flits < 1 or store.offset >= reads.cycles:
        return Delay(0, exact=True)
    if missing is None or not _alternates(reads, store):
        return Delay(min(misses(reads, cache_rows), reads.cycles - store.offset), exact=False)
    if store.offset >= missing:
        return Delay(0, exact=True)
    if reads.wide and reads.reuse == 1:
        return Delay(_blocked(store, missing), exact=True)
    return Delay(_met(reads, store, parity, missing), exact=True)


def _from_first_read(store: Store) -> tuple[Store, int]:
    """The part of the store that comes at or after the first read, and the bank of its first flit."""
    ahead = max(0, -(store.offset // store.interval))
    left = replace(store, flits=store.flits - ahead, offset=store.offset + ahead * store.interval)
    return left, ahead % 2


def _missing_cycles(reads: Reads, cache_rows: int) -> int | None:
    """Cycles in which every first read of a place misses; after them none does. None: it is not so simple."""
    rows = _rows(reads, cache_rows)
    if not reads.regular:
        return None
    if not reads.run and (reads.sweeps == 1 or all(_again(n, lines) == 0 for n, lines in rows)):
        return reads.units * reads.reuse
    always = all(_again(n, lines) == n for n, lines in rows)
    return reads.cycles if always and (reads.wide or (reads.run or reads.units) % 2 == 0) else None


def _alternates(reads: Reads, store: Store) -> bool:
    """Whether both sides change banks with every read and every flit, or the reads have both."""
    return reads.wide or (reads.step % 2 == 1 and store.flits_per_lane % 2 == 0)


def _blocked(store: Store, missing: int) -> int:
    """Wide reads that miss in every cycle: the flit in front waits for their end, the next is ready behind it."""
    if store.flits == 1:
        return missing - store.offset
    return max(0, missing + 1 - store.offset - store.interval)


def _met(reads: Reads, store: Store, parity: int, missing: int) -> int:
    """Flits that come exactly when their bank is taken, one cycle each.

    A flit meets a read when its place in a cycle of `period` is 0; from flit to flit that place moves by `step`.
    """
    period = reads.reuse if reads.wide else 2 * reads.reuse
    step = store.interval if reads.wide else store.interval - reads.reuse
    place = store.offset if reads.wide else store.offset - reads.reuse * parity
    if store.interval > 1:
        # A wait of one cycle is made up for before the next flit is ready; only the last flit's stays.
        last = store.flits - 1
        meets = (place + last * step) % period == 0 and store.offset + last * store.interval < missing
        return int(meets)
    first = _first_zero(place, step, period)
    if first is None or first >= store.flits or store.offset + first >= missing:
        return 0
    every = _first_zero(1 + step, step, period)
    if every is None:
        return 1
    every += 1
    by_flits = (store.flits - 1 - first) // every
    by_time = (missing - store.offset - first - 1) // (every + 1)
    return 1 + min(by_flits, by_time)


def _first_zero(place: int, step: int, period: int) -> int | None:
    """The least n >= 0 with place + n x step divisible by the period."""
    common = gcd(step, period)
    if place % common:
        return None
    small = period // common
    return -place // common * pow(step // common, -1, small) % small if small > 1 else 0
