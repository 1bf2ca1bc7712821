"""Transpose Engine: swaps Time and Packet inside a slice, matrix by matrix (seed 003; domain: section 9).

Five steps: unpack the valid elements of each flit, gather packets into rows of a buffer, read the buffer by columns,
trim to the rows that are wanted, align each to one flit. Flits enter and leave one a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE
from models.dtypes import DTYPES
from models.plan import Stage
from simulator.bench import Run
from simulator.engines.collect import flit_elements
from simulator.streams import Flow, padded_packet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Matrix:
    """What the engine is set to: matrices of `rows` x (`packets` x `valid`) elements, of which `out_rows` leave."""

    valid: int
    packets: int
    rows: int
    out_rows: int
    buffers: int

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.valid * self.packets

    @property
    def flits(self) -> int:
        """Flits that fill a matrix."""
        return self.rows * self.packets


@dataclass(slots=True)
class Buffer:
    """Holds one matrix: filled flit by flit, then drained row by row of its transpose."""

    matrix: Matrix
    cells: Ints = field(init=False)
    filled: int = 0
    drained: int = 0

    def __post_init__(self) -> None:
        """An empty buffer."""
        self.cells = np.full((self.matrix.rows, self.matrix.columns), -1, dtype=np.int64)

    @property
    def full(self) -> bool:
        """Whether it may be drained."""
        return self.filled == self.matrix.flits

    def gather(self, flit: Ints) -> None:
        """Puts the valid elements of a flit behind those before it in its row."""
        row, packet = divmod(self.filled, self.matrix.packets)
        self.cells[row, packet * self.matrix.valid : (packet + 1) * self.matrix.valid] = flit
        self.filled += 1

    def drain(self) -> Ints:
        """The next row of the transposed matrix; behind the last one wanted, the buffer is free again."""
        row = self.cells[:, self.drained].copy()
        self.drained += 1
        if self.drained == self.matrix.out_rows:
            self.filled = self.drained = 0
        return row


def run_buffers(matrix: Matrix, stream: Ints) -> tuple[Ints, int]:
    """Runs the engine cycle by cycle on flits [Time, valid]; gives rows [out Time, in_rows] and the cycles it took.

    In every cycle one flit enters, if a buffer has room for it, and one row leaves a buffer that was full before. With
    two buffers one fills while the other drains; with one they take turns.
    """
    buffers = [Buffer(matrix) for _ in range(matrix.buffers)]
    out: list[Ints] = []
    entered, cycles = 0, 0
    count = len(stream) // matrix.flits * matrix.out_rows
    while len(out) < count:
        source = buffers[len(out) // matrix.out_rows % matrix.buffers]
        target = buffers[entered // matrix.flits % matrix.buffers]
        drains, fills = source.full, not target.full and entered < len(stream)
        if drains:
            out.append(source.drain())
        if fills:
            target.gather(stream[entered])
            entered += 1
        cycles += 1
    return np.array(out), cycles


def transpose(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Unpack, gather, transpose, trim, align."""
    settings = stage.settings
    limit = run.bench.plan.hardware.transpose.double_buffered_in_cols
    valid, packets = int(settings["valid_size"]), int(settings["packets_per_col"])
    buffers = 2 if valid * packets <= limit else 1
    matrix = Matrix(valid, packets, int(settings["in_rows"]), int(settings["out_rows"]), buffers)
    broken = list(_broken(run, flow, matrix))
    for rule, message, found, wanted in broken:
        run.fail(rule, message, found, wanted)
    if broken or flow.time % matrix.flits:
        run.fail("settings_mismatch", "Time is no whole number of matrices", flow.time, matrix.flits)
        raise ValueError("the transpose engine cannot be set like this")
    places = np.arange(flow.time * flow.packet, dtype=np.int64).reshape(flow.time, flow.packet)
    rows, cycles = run_buffers(matrix, places[:, : matrix.valid])

    def turn(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1:] == (1, 1):
            return part
        whole = np.broadcast_to(part, (part.shape[0], flow.time, flow.packet))
        return whole.reshape(part.shape[0], -1)[:, rows]

    _state(run, stage, matrix, flow.time // matrix.flits, cycles)
    return padded_packet(flow.moved(turn, cycles), flit_elements(run, flow.dtype), cycles)


def _broken(run: Run, flow: Flow, matrix: Matrix) -> Iterator[tuple[str, str, object, object]]:
    """What the engine has no setting for: (rule, message, found, wanted)."""
    table = run.bench.plan.hardware.transpose.model_dump()
    bits = DTYPES[flow.dtype].bits
    if f"bits{bits}_valid_size" not in table:
        yield "transpose_type", "no matrix of these elements", flow.dtype, "4, 8, 16 or 32 bits"
        return
    sizes = {table[f"bits{bits}_valid_size"], table[f"bits{bits}_dual_valid_size"]} - {0}
    if matrix.valid not in sizes:
        yield "packet_beyond_valid_size", "no such number of elements is read of a flit", matrix.valid, sizes
    kind = np.broadcast_to(flow.cells.kind, (flow.cells.kind.shape[0], flow.time, flow.packet))
    if (kind[..., matrix.valid :] == LIVE).any():
        yield "packet_beyond_valid_size", "live elements stand beyond those that are read", "live", matrix.valid
    most = table[f"bits{bits}_max_in_rows"]
    if matrix.rows > most:
        yield "too_many_rows", "the matrix is too tall", matrix.rows, f"at most {most}"
    least, widest = table[f"bits{bits}_min_in_cols"], table["max_in_cols"]
    legal = [least << i for i in range(widest.bit_length()) if least << i <= widest]
    if matrix.columns not in legal:
        yield "transpose_in_cols", "the matrix has another width", matrix.columns, legal
    if matrix.out_rows > matrix.columns:
        yield "transpose_out_rows", "more rows are asked for than there are", matrix.out_rows, matrix.columns


def _state(run: Run, stage: Stage, matrix: Matrix, iterations: int, cycles: int) -> None:
    """What the stage derived."""
    own = {
        "in_cols": matrix.columns,
        "in_flits": matrix.flits,
        "iterations": iterations,
        "buffering": "double" if matrix.buffers == 2 else "single",
        "cycles": cycles,
    }
    for key, value in own.items():
        stated = stage.settings.get(key)
        if stated is not None and stated != value:
            run.fail("settings_mismatch", f"the transpose states another {key}", stated, value)
