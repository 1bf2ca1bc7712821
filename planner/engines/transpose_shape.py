"""The transpose engine's parameters and what a set of them makes of a stream (seed 003; domain: section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.hardware import Hardware
from models.layout import Stream
from models.mapping import Mapping, Modulo, Pad, Pair, Resize, Stride, pair
from planner.engines.shapes import cut, leading, live_length, padded

SINGLE, DOUBLE = "single", "double"
MOST_PRIME = 1 << 12
"""Rows of a larger prime number of packets are not tried when a fault says which rows would be needed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the table allows for elements of one size; `dual_valid_size` 0 means no dual packing."""

    valid_size: int
    dual_valid_size: int
    max_in_rows: int
    in_cols: tuple[int, ...]
    double_buffered_in_cols: int

    def packed(self, live: int) -> int | None:
        """The valid_size for packets with so many live elements in front; None: they do not fit."""
        sizes = (self.valid_size, self.dual_valid_size)
        return next((n for n in sizes if n and live <= n), None)


def limits(hardware: Hardware, bits: int) -> Limits | None:
    """The row of the table for elements of so many bits, None where there is none."""
    table = hardware.transpose.model_dump()
    if f"bits{bits}_valid_size" not in table:
        return None
    least, most = table[f"bits{bits}_min_in_cols"], hardware.transpose.max_in_cols
    columns = tuple(least << i for i in range(most.bit_length()) if least << i <= most)
    return Limits(
        table[f"bits{bits}_valid_size"],
        table[f"bits{bits}_dual_valid_size"],
        table[f"bits{bits}_max_in_rows"],
        columns,
        hardware.transpose.double_buffered_in_cols,
    )


@dataclass(frozen=True, slots=True)
class Parameters:
    """One set of parameters; `iterations` matrices follow each other in Time."""

    valid_size: int
    packets_per_col: int
    in_rows: int
    out_rows: int
    iterations: int
    buffering: str

    @property
    def in_cols(self) -> int:
        """Elements of a row of the matrix."""
        return self.packets_per_col * self.valid_size

    @property
    def in_flits(self) -> int:
        """Flits that fill the matrix."""
        return self.in_rows * self.packets_per_col

    @property
    def cycles(self) -> int:
        """The latency formula: filling and draining overlap with two buffers, and alternate with one."""
        if self.buffering == DOUBLE:
            return self.in_flits + (self.iterations - 1) * max(self.in_flits, self.out_rows) + self.out_rows
        return self.iterations * (self.in_flits + self.out_rows)

    @property
    def label(self) -> str:
        """How the solver and the user name this set."""
        return f"Columns{self.in_cols}(packets_per_col={self.packets_per_col}, in_rows={self.in_rows})"

    def settings(self) -> dict[str, Any]:
        """The derived numbers by the names of the case files."""
        return {
            "valid_size": self.valid_size,
            "packets_per_col": self.packets_per_col,
            "in_cols": self.in_cols,
            "in_rows": self.in_rows,
            "out_rows": self.out_rows,
            "in_flits": self.in_flits,
            "iterations": self.iterations,
            "buffering": self.buffering,
            "cycles": self.cycles,
        }


def fitting(
    table: Limits, stream: Stream, out_time_size: int, rows: int, valid_size: int, *, wide: bool = False
) -> Iterator[Parameters]:
    """Every set whose sizes agree with Time before and behind; `rows` is the least number of rows.

    With `wide`, rows of any width are tried, so that a fault can say which one would be needed.
    """
    time = stream.time.size
    widths = _divisors(time) if wide else [c // valid_size for c in table.in_cols if c % valid_size == 0]
    for packets in widths:
        if time % packets:
            continue
        for in_rows in range(rows, table.max_in_rows + 1):
            if (time // packets) % in_rows:
                continue
            iterations = time // packets // in_rows
            if out_time_size % iterations == 0:
                yield parameters(table, valid_size, packets, in_rows, out_time_size // iterations, iterations)


def _divisors(n: int) -> list[int]:
    """The divisors of n made of primes below MOST_PRIME, so that a huge n costs no more than a small one."""
    found, prime = [1], 2
    while prime < MOST_PRIME and n > 1:
        power = [1]
        while n % prime == 0:
            n //= prime
            power.append(power[-1] * prime)
        found = [d * q for d in found for q in power]
        prime += 1
    return sorted(found)


def parameters(
    table: Limits, valid_size: int, packets: int, in_rows: int, out_rows: int, iterations: int
) -> Parameters:
    """A set with its buffering."""
    buffering = DOUBLE if packets * valid_size <= table.double_buffered_in_cols else SINGLE
    return Parameters(valid_size, packets, in_rows, out_rows, iterations, buffering)


def produced(stream: Stream, p: Parameters) -> Mapping:
    """Time and Packet behind the engine as one mapping, for comparing.

    Everything is a digit of Time and Packet taken as one expression, so that a padded axis that is spread over both is
    read once, at its total. Where `out_rows` exceeds the columns, padding rows stand for what the engine lacks.
    """
    whole = pair(stream.time, stream.packet)
    flit = stream.packet.size
    columns = Pair(_digit(whole, flit, p.packets_per_col), _digit(whole, 1, p.valid_size))
    kept = Resize(columns, p.out_rows) if p.out_rows <= columns.size else Pad(columns, p.out_rows)
    rows = _digit(whole, flit * p.packets_per_col, p.in_rows)
    outer = _digit(whole, flit * p.packets_per_col * p.in_rows, p.iterations)
    return pair(outer, kept, Pad(rows, flit))


def tight(stream: Stream, p: Parameters) -> Mapping:
    """What leaves an engine that could drop the padding of every packet, as one mapping."""
    whole = pair(stream.time, stream.packet)
    flit = stream.packet.size
    live = max(live_length(stream.packet), 1)
    elements = Resize(_digit(whole, 1, p.valid_size), live)
    rows = _digit(whole, flit * p.packets_per_col, p.in_rows)
    outer = _digit(whole, flit * p.packets_per_col * p.in_rows, p.iterations)
    return pair(outer, _digit(whole, flit, p.packets_per_col), elements, Pad(rows, flit))


def rows_of(stream: Stream, p: Parameters) -> Mapping:
    """The packet behind the engine: the rows, padded to one flit."""
    _, rows, _ = parts(stream, p)
    return padded(rows, stream.packet.size)


def parts(stream: Stream, p: Parameters) -> tuple[Mapping, Mapping, Mapping]:
    """Time of the stream as matrices, rows of a matrix, packets of a row."""
    outside, packets = cut(stream.time, p.packets_per_col)
    outer, rows = cut(outside, p.in_rows)
    return outer, rows, packets


def natural(stream: Stream, p: Parameters) -> tuple[Mapping, Mapping]:
    """Time and Packet behind the engine as texts would have them: with padding rows dropped where they stand last."""
    outer, _, packets = parts(stream, p)
    return pair(outer, leading(pair(packets, leading(stream.packet, p.valid_size)), p.out_rows)), rows_of(stream, p)


def natural_rows(stream: Stream, packets: int, valid_size: int) -> int:
    """Rows behind the engine without the padding that trim can drop."""
    live = max(live_length(stream.packet), 1)
    return live if packets == 1 else packets * valid_size


def live_rows(stream: Stream, p: Parameters) -> int:
    """Rows of the transposed matrix up to the last live one."""
    _, _, packets = parts(stream, p)
    return live_length(pair(packets, leading(stream.packet, p.valid_size)))


def _digit(whole: Mapping, stride: int, size: int) -> Mapping:
    return Modulo(Stride(whole, stride), size)
