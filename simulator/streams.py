"""What flows between two engines: values as they physically stand, and which cell each is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from simulator.layouts import Identity
from simulator.values import Bits, Raw

Rearrange = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Flow:
    """`raw` [units, Time, Packet] bit patterns of `dtype`; `poison` marks undefined values (None: none are).

    `cells` is the identity of every position: what the previous stage's mappings claimed and the check confirmed,
    or what an engine's movement made of that. `steps` is how many cycles the last engine took for it.
    """

    dtype: str
    raw: Raw
    poison: Bits | None
    cells: Identity
    steps: int = 0

    @property
    def time(self) -> int:
        """Time steps."""
        return int(self.raw.shape[-2])

    @property
    def packet(self) -> int:
        """Elements of a packet."""
        return int(self.raw.shape[-1])

    @property
    def packet_bytes(self) -> int:
        """Bytes of a packet."""
        return DTYPES[self.dtype].size_bytes(self.packet)

    def moved(self, move: Rearrange, steps: int) -> Flow:
        """The flow after a movement that works alike on values, poison and identity."""
        poison = None if self.poison is None else move(self.poison)
        return Flow(self.dtype, move(self.raw), poison, self.cells.moved(move), steps)

    def with_values(self, dtype: str, raw: Raw, steps: int) -> Flow:
        """The flow with other values in the same places."""
        return Flow(dtype, raw, self.poison, self.cells, steps)


def padded_packet(flow: Flow, elements: int, steps: int) -> Flow:
    """Pads every packet to `elements`; what is added is padding and poison."""
    more = elements - flow.packet
    if more <= 0:
        return flow.with_values(flow.dtype, flow.raw, steps)
    pads = [(0, 0)] * (flow.raw.ndim - 1) + [(0, more)]
    mask = np.zeros(flow.raw.shape, dtype=np.bool_) if flow.poison is None else flow.poison

    def stretch(part: NDArray[Any]) -> NDArray[Any]:
        return part if part.shape[-1] == 1 else np.pad(part, pads, mode="edge")

    kind = np.broadcast_to(flow.cells.kind, (*flow.cells.kind.shape[:-1], flow.packet))
    kind = np.pad(kind, pads, constant_values=1)
    cells = Identity(kind, flow.cells.moved(stretch, lambda k: k).index)
    return Flow(flow.dtype, np.pad(flow.raw, pads), np.pad(mask, pads, constant_values=True), cells, steps)


def kept_packet(flow: Flow, elements: int, steps: int) -> Flow:
    """Keeps the first `elements` of every packet."""
    return flow.moved(lambda part: part if part.shape[-1] == 1 else part[..., :elements], steps)
