"""Cast Engine: narrows every element and repads the packet to one flit (domain: section 4)."""

from __future__ import annotations

from models.plan import Stage
from simulator.bench import Run
from simulator.engines.collect import flit_elements
from simulator.streams import Flow, padded_packet
from simulator.values import convert


def cast(run: Run, stage: Stage, flow: Flow) -> Flow:
    """Converts by value, a flit a cycle."""
    narrow = flow.with_values(stage.dtype, convert(flow.raw, flow.dtype, stage.dtype), flow.time)
    return padded_packet(narrow, flit_elements(run, stage.dtype), flow.time)
