"""Transpose Engine: swaps Time and Packet inside a slice, block by block (domain: section 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator.bench import Run
from simulator.engines.collect import flit_elements
from simulator.streams import Flow, kept_packet, padded_packet


def transpose(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Unpack, gather, transpose, trim, align."""
    settings = stage.settings
    valid, rows, columns = (int(settings[k]) for k in ("valid_size", "in_rows", "in_cols"))
    out_rows, per_column = int(settings["out_rows"]), int(settings["packets_per_col"])
    block = rows * per_column
    if flow.time % block or columns != per_column * valid:
        run.fail("settings_mismatch", "Time is no whole number of blocks", flow.time, block)
        raise ValueError("transpose: Time is no whole number of blocks")
    count = flow.time // block
    whole = kept_packet(flow, valid, 0)

    def turn(part: NDArray[Any]) -> NDArray[Any]:
        if part.shape[1:] == (1, 1):
            return part
        part = np.broadcast_to(part, (part.shape[0], flow.time, valid))
        table = part.reshape(-1, count, rows, columns).transpose(0, 1, 3, 2)[:, :, :out_rows]
        return table.reshape(part.shape[0], count * out_rows, rows)

    double = columns <= run.bench.plan.hardware.transpose.double_buffered_in_cols
    steps = transpose_steps(rows * per_column, count, out_rows, double=double)
    return padded_packet(whole.moved(turn, steps), flit_elements(run, flow.dtype), steps)


def transpose_steps(in_flits: int, count: int, out_rows: int, *, double: bool) -> int:
    """The engine's latency; with two buffers it fills one while it empties the other."""
    if double:
        return in_flits + (count - 1) * max(in_flits, out_rows) + out_rows
    return count * (in_flits + out_rows)
