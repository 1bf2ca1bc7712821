"""Transposes once more: the table of sizes, and the five steps on mappings (domain: section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES, STAGED_ONLY
from models.plan import Stage
from simulator.checks_cells import Found, alike, flit_elements, followed, grouped, live_positions
from simulator.facts import Facts, Place

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Turned:
    """A transpose with its input and what it states."""

    place: Place
    before: Stage
    valid: int
    rows: int
    columns: int
    out_rows: int

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return DTYPES[self.before.dtype].bits

    def limit(self, name: str) -> int:
        """A limit of the table for this element size; 0 where the table has no such size."""
        return int(getattr(self.place.hardware.transpose, f"bits{self.bits}_{name}", 0))

    @property
    def block(self) -> int:
        """Time steps that make one matrix."""
        return self.rows * max(1, self.columns // self.valid)

    def wanted_time(self) -> str | None:
        """The outer Time, the packets of a row, the elements of a packet, trimmed; None where Time has no blocks."""
        steps, per_row = self.place.size(self.before.time), self.block // self.rows
        if steps % self.block or self.out_rows > self.columns or self.valid > self.place.size(self.before.packet):
            return None
        time, packet = grouped(self.before.time), grouped(self.before.packet)
        return f"{time} / {self.block}, [{time} % {per_row}, {packet} = {self.valid}] = {self.out_rows}"


def _turned(facts: Facts) -> Iterator[Turned]:
    for place in followed(facts, "transpose"):
        settings = place.stage.settings
        numbers = [int(settings[k]) for k in ("valid_size", "in_rows", "in_cols", "out_rows")]
        assert place.before is not None
        if min(numbers) < 1:
            yield from ()
            continue
        yield Turned(place, place.before, *numbers)


def transpose_type(facts: Facts) -> Found:
    """Elements of 4, 8, 16 or 32 bits that memory holds."""
    for found in _turned(facts):
        if found.before.dtype in STAGED_ONLY or not found.limit("valid_size"):
            yield found.place.broken("a transpose moves no such elements", found.before.dtype, "4, 8, 16 or 32 bits")


def packet_not_one_flit(facts: Facts) -> Found:
    """One flit enters, one leaves."""
    for found in _turned(facts):
        elements = flit_elements(found.place, found.before.dtype)
        for packet in (found.before.packet, found.place.stage.packet):
            if found.place.size(packet) != elements:
                yield found.place.broken("a packet of a transpose is not one flit", found.place.size(packet), elements)


def packet_beyond_valid_size(facts: Facts) -> Found:
    """Live elements in front, 16 at most."""
    for found in _turned(facts):
        legal = [n for n in (found.limit("valid_size"), found.limit("dual_valid_size")) if n]
        live = live_positions(found.place.layouts, found.before.packet)
        last = int(live[-1]) + 1 if len(live) else 0
        if found.valid not in legal or last > found.valid:
            yield found.place.broken("live elements stand beyond what is unpacked", last, found.valid)


def too_many_rows(facts: Facts) -> Found:
    """Rows of the matrix, by element size."""
    for found in _turned(facts):
        live = live_positions(found.place.layouts, found.place.stage.packet)
        rows, most = max(found.rows, int(live[-1]) + 1 if len(live) else 0), found.limit("max_in_rows")
        if rows > most:
            yield found.place.broken("the matrix has too many rows", rows, f"at most {most}")


def transpose_in_cols(facts: Facts) -> Found:
    """8, 16 or 32 columns."""
    for found in _turned(facts):
        least, most = found.limit("min_in_cols"), found.place.hardware.transpose.max_in_cols
        legal = [n for n in (1 << k for k in range(most.bit_length())) if least <= n <= most]
        if found.columns not in legal or found.columns % found.valid:
            yield found.place.broken("a row has another number of columns", found.columns, ", ".join(map(str, legal)))


def transpose_out_rows(facts: Facts) -> Found:
    """A trim keeps at most what is there."""
    for found in _turned(facts):
        if found.out_rows > found.columns:
            yield found.place.broken(
                "a trim keeps more rows than there are", found.out_rows, f"at most {found.columns}"
            )


def transpose_padding_rows(facts: Facts) -> Found:
    """Rows are dropped from the end alone."""
    for found in _turned(facts):
        if _in_order(found) and not _time_fits(found):
            message = "a trim drops padding from between live rows"
            yield found.place.broken(message, found.place.stage.time, found.wanted_time())


def transpose_time_mismatch(facts: Facts) -> Found:
    """The outer Time, the packets of a row, the elements of a packet."""
    for found in _turned(facts):
        if found.out_rows <= found.columns and not _time_fits(found) and not _in_order(found):
            message = "Time behind a transpose is another one"
            yield found.place.broken(message, found.place.stage.time, found.wanted_time())


def _time_fits(found: Turned) -> bool:
    wanted = found.wanted_time()
    return wanted is not None and alike(found.place.layouts, found.place.stage.time, wanted)


def _in_order(found: Turned) -> bool:
    """Whether the live rows are the right ones in the right order, only spaced otherwise."""
    steps, per_row = found.place.size(found.before.time), found.block // found.rows
    if steps % found.block or found.valid > found.place.size(found.before.packet):
        return False
    time, packet = grouped(found.before.time), grouped(found.before.packet)
    whole = f"{time} / {found.block}, {time} % {per_row}, {packet} = {found.valid}"
    return np.array_equal(_live_rows(found, whole), _live_rows(found, found.place.stage.time))


def _live_rows(found: Turned, text: str) -> Ints:
    """The live cells of a mapping in order, one row of indices each, on the axes of the input."""
    layouts = found.place.layouts
    cells, inside = layouts.inner(text), layouts.inner(found.before.time, found.before.packet)
    live, zero = np.asarray(cells.kind == LIVE), np.int64(0)
    axes = sorted(inside.index.keys() | cells.index.keys())
    columns = [np.broadcast_to(cells.index.get(a, zero), cells.kind.shape)[live] for a in axes]
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((int(live.sum()), 0), dtype=np.int64)


def transpose_packet_mismatch(facts: Facts) -> Found:
    """The rows of a matrix, padded to one flit."""
    for found in _turned(facts):
        place, steps, per_row = found.place, place_steps(found), found.block // found.rows
        if steps % found.block:
            yield place.broken("Time is no whole number of matrices", steps, f"a multiple of {found.block}")
            continue
        elements = max(flit_elements(place, found.before.dtype), found.rows)
        wanted = f"[{grouped(found.before.time)} / {per_row} % {found.rows}] # {elements}"
        if not alike(place.layouts, place.stage.packet, wanted):
            yield place.broken("the packet behind a transpose is another one", place.stage.packet, wanted)


def place_steps(found: Turned) -> int:
    """Time steps that enter."""
    return found.place.size(found.before.time)


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "transpose_type": transpose_type,
    "packet_not_one_flit": packet_not_one_flit,
    "packet_beyond_valid_size": packet_beyond_valid_size,
    "too_many_rows": too_many_rows,
    "transpose_in_cols": transpose_in_cols,
    "transpose_out_rows": transpose_out_rows,
    "transpose_padding_rows": transpose_padding_rows,
    "transpose_packet_mismatch": transpose_packet_mismatch,
    "transpose_time_mismatch": transpose_time_mismatch,
}
