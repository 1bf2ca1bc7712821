"""Where a tensor lies: its memory and the mappings of every level, as parsed expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from models.mapping import ONE, Mapping

Memory = Literal["hbm", "dm", "trf", "vrf"]


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's place: HBM has chip and element; DM adds cluster and slice; the TRF adds lane."""

    name: str
    memory: Memory
    dtype: str
    element: Mapping
    chip: Mapping = ONE
    cluster: Mapping = ONE
    slice: Mapping = ONE
    lane: Mapping = ONE
    pad: str = "poison"


@dataclass(frozen=True, slots=True)
class Stream:
    """What flows between two stages of a pass: `time` steps of one `packet` per slice, elements of `dtype`."""

    dtype: str
    chip: Mapping
    cluster: Mapping
    slice: Mapping
    time: Mapping
    packet: Mapping
