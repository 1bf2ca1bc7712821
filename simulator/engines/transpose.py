"""Transpose Engine: swaps Time and Packet inside a slice, matrix by matrix (seed 003; domain: section 9).

Five steps: unpack the valid elements of each flit, gather packets into rows of a buffer, read the buffer by columns,
trim to the rows that are wanted, align each to one flit. Flits enter and leave one a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    legal = 0 < matrix.out_rows <= matrix.columns and 0 < matrix.valid <= flow.packet and matrix.flits > 0
    if not legal or flow.time % matrix.flits:
        raise ValueError(f"the transpose engine cannot work on {flow.time} flits with {matrix}")
    places = np.arange(flow.time * flow.packet, dtype=np.int64).reshape(flow.time, flow.packet)
    rows, cycles = run_buffers(matrix, places[:, : matrix.valid])

    def turn(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1:] == (1, 1):
            return part
        whole = np.broadcast_to(part, (part.shape[0], flow.time, flow.packet))
        return whole.reshape(part.shape[0], -1)[:, rows]

    _state(run, stage, matrix, flow.time // matrix.flits, cycles)
    return padded_packet(flow.moved(turn, cycles), flit_elements(run, flow.dtype), cycles)


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
