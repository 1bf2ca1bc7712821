"""Collect: pads packets to whole flits and splits them, the flit count becoming the innermost of Time (section 4)."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.plan import Stage
from simulator.bench import Run
from simulator.streams import Flow, padded_packet


def flit_elements(run: Run, dtype: str) -> int:
    """Elements of a flit."""
    return run.bench.plan.hardware.geometry.flit_bytes * 8 // max(4, _even_bits(dtype))


def _even_bits(dtype: str) -> int:
    """i5 and i9 travel in the places of i4 and i8."""
    return {"i5": 4, "i9": 8}.get(dtype, DTYPES[dtype].bits)


def collect(run: Run, _stage: Stage, flow: Flow) -> Flow:
    """[units, Time, Packet] to [units, Time x flits, one flit]."""
    per_flit = flit_elements(run, flow.dtype)
    flits = -(-flow.packet // per_flit)
    steps = flow.time * flits
    padded = padded_packet(flow, flits * per_flit, steps)

    def split(part: NDArray[Any]) -> NDArray[Any]:
        units, time, packet = part.shape
        if packet == 1:
            if time == 1:
                return part
            return part.repeat(flits, axis=1)
        if time == 1 and flow.time > 1:
            part = part.repeat(flow.time, axis=1)
        return part.reshape(units, -1, per_flit)

    return padded.moved(split, steps)
