"""Sequencer entries: how a stream walks a buffer, what the walk touches, and which DM banks it hits in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from models.cells import KIND_OF_PADDING, LIVE, Ints, cells
from models.factors import contiguous_walk
from models.faults import Finding
from models.hardware import Hardware
from models.mapping import Mapping, Pad, Padding, nodes, text
from planner.engines.shapes import BITS_PER_BYTE, element_bits, size_bytes

Entry = tuple[int, int]
BOTTOM = KIND_OF_PADDING[Padding.BOTTOM]
MOST_ACCESSES = 2**18
"""Bank runs are counted over so many accesses; what comes after them repeats the same inner loops."""
MOST_CELLS = 2**22
"""Buffers of more elements than any slice can hold are not enumerated."""


@dataclass(frozen=True, slots=True)
class View:
    """The part of a buffer that a tile opens: digit `tile` counts from `start`, `length` positions of it.

    `stride` is the step of the digit in elements of the buffer, `size` its whole size.
    """

    tile: Mapping
    start: str
    length: int
    stride: int
    size: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Entries `(size, stride)` outermost first, strides in elements, neighbours merged inside each part.

    `time` and `packet` are the two parts of the stream, `merged` both as one sequencer sees them.
    """

    time: tuple[Entry, ...]
    packet: tuple[Entry, ...]
    merged: tuple[Entry, ...]

    @property
    def texts(self) -> list[str]:
        """The entries as case files write them."""
        return [f"{size}:{stride}" for size, stride in self.merged] or ["1:1"]

    @property
    def run_elements(self) -> int:
        """Elements read one after another: the innermost entry where it steps by one, else one element."""
        if not self.merged:
            return 1
        size, stride = self.merged[-1]
        return size if stride == 1 else 1


def walk(time: Mapping, packet: Mapping, element: Mapping) -> Walk | None:
    """The walk of `element` by [Time, Packet]; None where the stream is no linear walk of it."""
    merged = contiguous_walk([time, packet], element)
    inner = contiguous_walk([packet], element)
    outer = contiguous_walk([time], element)
    if merged is None or inner is None or outer is None:
        return None
    # padding innermost in Time goes on where the packet ends, which Time alone does not know
    apart = _apart(merged, packet.size) or (outer, inner)
    return Walk(tuple(apart[0]), tuple(apart[1]), tuple(merged))


def _apart(merged: Sequence[Entry], packet_size: int) -> tuple[list[Entry], list[Entry]] | None:
    """The entries of Time and those of the packet; None where an entry has no border between them."""
    outer, inner, left = list(merged), list[Entry](), packet_size
    while left > 1 and outer:
        size, stride = outer.pop()
        taken = min(size, left)
        if size % taken or left % taken:
            return None
        inner.insert(0, (taken, stride))
        if size > taken:
            outer.append((size // taken, stride * taken))
        left //= taken
    return outer, inner


def within_limits(entries: Sequence[Entry], hardware: Hardware) -> tuple[tuple[Entry, ...], list[Finding]]:
    """Entries with those over the largest size split, and what breaks the sequencer's limits."""
    limit, most = hardware.sequencer.max_entry_size, hardware.sequencer.entries
    findings: list[Finding] = []
    out: list[Entry] = []
    for size, stride in entries:
        parts = _parts(size, limit)
        if parts is None:
            findings.append(
                Finding(
                    "sequencer_entry_size",
                    f"a sequencer entry of {size} steps has no factors of at most {limit}",
                    str(size),
                    f"at most {limit}, or a product of such sizes",
                )
            )
            parts = [size]
        below = 1
        split: list[Entry] = []
        for part in reversed(parts):
            split.insert(0, (part, stride * below))
            below *= part
        out += split
    if len(out) > most:
        findings.append(
            Finding(
                "sequencer_entries",
                f"the access takes {len(out)} sequencer entries, {len(out) - most} too many",
                str(len(out)),
                f"at most {most}",
            )
        )
    return tuple(out), findings


def _parts(size: int, limit: int) -> list[int] | None:
    """The size as a product of few factors of at most `limit`, outermost first."""
    out: list[int] = []
    while size > limit:
        inner = next((d for d in range(limit, 1, -1) if size % d == 0), None)
        if inner is None:
            return None
        out.insert(0, inner)
        size //= inner
    return [size, *out]


def innermost_stride(entries: Sequence[Entry], packet: Mapping) -> Finding | None:
    """The innermost stride is 0 or 1, unless the packet is one element."""
    if not entries or packet.size == 1 or entries[-1][1] in (0, 1):
        return None
    return Finding(
        "innermost_stride",
        f"the packet `{text(packet)}` steps by {entries[-1][1]} elements",
        str(entries[-1][1]),
        "0 or 1",
    )


@dataclass(frozen=True, slots=True)
class Touched:
    """Which cells a walk touches, as counts: live cells of the view it misses, cells outside of the view,
    cells it touches more than once, positions past the end of the buffer, and bottom padding. Not `decided`: a
    buffer that no slice could hold was not looked at.
    """

    decided: bool = True
    missed: int = 0
    outside: int = 0
    repeated: int = 0
    past_end: int = 0
    bottom: int = 0
    first_missed: int | None = field(default=None)


def touched(
    entries: Sequence[Entry],
    element: Mapping,
    view: View | None = None,
    stream: Mapping | None = None,
    lift: Sequence[Entry] = (),
) -> Touched:
    """What a walk touches of a buffer of one slice. A buffer fits the DM, so its positions may be enumerated.

    Args:
        entries: the walk of [Time, Packet].
        element: the buffer.
        view: the tile that is open, if any.
        stream: [Time, Packet]; where it has padding, what stands there counts as touched but not as read or written.
        lift: read bases of axis lifting, which start the walk at several places.

    """
    padded = stream is not None and any(isinstance(n, Pad) for n in nodes(stream))
    every = [*lift, *entries]
    if view is None and not padded and _is_exact(every, element.size) and not _has_bottom(element):
        return Touched(repeated=_repeats(every))
    steps = [e for e in every if e[1]]
    positions = prod(size for size, _ in every) if padded else prod(size for size, _ in steps)
    if max(element.size, positions) > MOST_CELLS:
        return Touched(decided=False)
    counts = np.bincount(_addresses(steps), minlength=element.size)
    reached = counts
    if padded and stream is not None:
        reached = np.bincount(_live_addresses(entries, stream, lift), minlength=element.size)
    inside, kind, window = counts[: element.size], _kinds(element), _window(element.size, view)
    missed = np.flatnonzero((kind == LIVE) & window & (reached[: element.size] == 0))
    return Touched(
        missed=int(missed.size),
        outside=int(np.count_nonzero((kind == LIVE) & ~window & (inside > 0))),
        repeated=int(np.count_nonzero(counts > 1)) or _repeats(every),
        past_end=int(np.count_nonzero(counts[element.size :])),
        bottom=int(np.count_nonzero((kind == BOTTOM) & (inside > 0))),
        first_missed=int(missed[0]) if missed.size else None,
    )


def _live_addresses(entries: Sequence[Entry], stream: Mapping, lift: Sequence[Entry]) -> Ints:
    """Addresses at which the stream holds data, from all starts of a lift."""
    at = _addresses(entries)[_kinds(stream) == LIVE]
    return np.asarray((_addresses(lift)[:, None] + at).ravel())


def _is_exact(entries: Sequence[Entry], size: int) -> bool:
    """Whether the entries count through 0 .. size - 1, each once, in some order."""
    below = 1
    for count, stride in sorted((e for e in entries if e[1]), key=lambda e: e[1]):
        if stride != below:
            return False
        below *= count
    return below == size


def _repeats(entries: Sequence[Entry]) -> int:
    """Touched more than once by a broadcast: how often beyond the first time."""
    return prod(size for size, stride in entries if stride == 0) - 1


def _addresses(entries: Sequence[Entry]) -> Ints:
    out = np.zeros(1, dtype=np.int64)
    for size, stride in entries:
        out = (out[:, None] + np.arange(size, dtype=np.int64) * stride).ravel()
    return out


def _has_bottom(element: Mapping) -> bool:
    return any(isinstance(n, Pad) and n.kind is Padding.BOTTOM for n in nodes(element))


def _kinds(element: Mapping) -> NDArray[np.int8]:
    kind = cells(element, np.arange(element.size, dtype=np.int64)).kind
    return np.broadcast_to(kind, (element.size,))


def _window(size: int, view: View | None) -> NDArray[np.bool_]:
    if view is None:
        return np.ones(size, dtype=np.bool_)
    digit = np.arange(size, dtype=np.int64) // view.stride % view.size
    return np.asarray(digit < view.length)


def exceeds_dm(name: str, dtype: str, element: Mapping, hardware: Hardware) -> Finding | None:
    """A finding where a slice's DM cannot hold the buffer."""
    size, limit = size_bytes(dtype, element.size), hardware.dm.bytes_per_slice
    if size <= limit:
        return None
    return Finding(
        "exceeds_capacity",
        f"{name} takes {size} bytes of a slice's DM, {size - limit} more than it has",
        f"{size} bytes",
        f"at most {limit} bytes",
    )


def bottom_touched(name: str, element: Mapping, count: int) -> Finding | None:
    """A finding where bottom padding is read or written."""
    if not count:
        return None
    return Finding(
        "bottom_padding_touched",
        f"{count} elements of bottom padding of {name} `{text(element)}` are touched",
        f"{count} touched",
        "a walk around `#{!}` padding, or another kind of padding",
    )


def not_enumerated(name: str, element: Mapping) -> Finding:
    """The walk of a buffer is too long to say which cells it touches."""
    return Finding(
        "equivalence_not_decided",
        f"which cells of {name} `{text(element)}` are touched cannot be told",
        text(element),
        f"at most {MOST_CELLS} positions",
    )


def bank_run(entries: Sequence[Entry], access_elements: int, dtype: str, hardware: Hardware) -> int:
    """The longest run of consecutive accesses that share a DM bank (domain: section 3, starvation)."""
    bank_bits = hardware.dm.bank_bytes * BITS_PER_BYTE
    return _bank_run(tuple(entries), access_elements, element_bits(dtype), bank_bits, hardware.dm.banks)


@lru_cache(maxsize=1024)
def _bank_run(entries: tuple[Entry, ...], access_elements: int, bits: int, bank_bits: int, banks: int) -> int:
    total = prod(size for size, _ in entries)
    count = max(1, min(total // max(access_elements, 1), MOST_ACCESSES))
    at = np.arange(count, dtype=np.int64) * access_elements
    address = np.zeros(count, dtype=np.int64)
    for size, stride in reversed(entries):
        address += at % size * stride
        at //= size
    first = address * bits // bank_bits
    last = (address * bits + access_elements * bits - 1) // bank_bits
    return max(_longest(_hits(first, last, bank, banks)) for bank in range(banks))


def _hits(first: Ints, last: Ints, bank: int, banks: int) -> NDArray[np.bool_]:
    """Accesses whose banks first .. last, counted without wrapping, include the bank."""
    return np.asarray((last - bank) // banks * banks + bank >= first)


def _longest(hit: NDArray[np.bool_]) -> int:
    edges = np.diff(np.concatenate(([0], hit.astype(np.int8), [0])))
    runs = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    return int(runs.max()) if runs.size else 0
