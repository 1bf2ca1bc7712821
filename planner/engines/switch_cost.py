"""What a trip through the ring costs: by the book, in a pass, and in contexts held (domain: section 5)."""

from __future__ import annotations

from models.hardware import Hardware
from models.mapping import Mapping
from planner.engines.shapes import size_bytes

CONTEXTS_OF_BITMAP_LOAD = ("sub", "dma")
"""Contexts that the load of a custom bitmap holds (seed 001: configuration overhead)."""


def flits_per_packet(hardware: Hardware, dtype: str, packet: Mapping) -> int:
    """Flits of one packet, rounded up."""
    return -(-size_bytes(dtype, packet.size) // hardware.geometry.flit_bytes)


def counted_time(in_time: int, out_time: int, is_partial: bool) -> int:
    """Time steps that the book counts.

    The definition counts input steps, but the seed's example of a partial extraction multiplies by the output's
    24 and states 96, where the definition gives 32. The documented figure is reported for a partial extraction;
    schedules and ranking keep to the definition (domain: known contradictions). The rule stands here alone.
    """
    return out_time if is_partial else in_time


def defined_cycles(ring_size: int, time: int, flits: int) -> int:
    """ring_size x Time x flits per packet, as the seed defines it."""
    return ring_size * time * flits


def pass_steps(hardware: Hardware, kind: str, ring_size: int, in_time: int, flits: int) -> int:
    """Steps of the switch in a pass (cycles page); Forwarding is no switch step."""
    if kind == "Forwarding":
        return 0
    flit_steps = ring_size * (in_time * flits + hardware.switch.pass_extra_steps)
    return -(-flit_steps * hardware.switch.ring_tenths_per_flit // 10)


def pass_cycles(hardware: Hardware, steps: int) -> int:
    """A pass whose largest stage is the switch, or that only forwards."""
    return hardware.passes.commit_base_cycles + steps


def occupies(kind: str, context: str) -> list[str]:
    """Contexts held besides the pass's own: those of the bitmap load, for a custom configuration."""
    if kind != "CustomBroadcast":
        return []
    return [c for c in CONTEXTS_OF_BITMAP_LOAD if c != context]
