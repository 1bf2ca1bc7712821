"""Instances of on-chip tensors while a kernel is walked in program order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from models.dtypes import DTYPES
from models.graph import Buffer
from models.hardware import Hardware
from models.layout import TensorLayout
from models.mapping import text
from planner.hazards import Span


@dataclass(slots=True)
class Draft:
    """A buffer that still gains users."""

    name: str
    layout: TensorLayout
    iteration: tuple[tuple[str, int], ...]
    bytes: int
    rows: int = 0
    regions: tuple[str, ...] = ()
    shares: str = ""
    writers: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    written: list[Span] = field(default_factory=list)
    """The parts that writers of tiles have written so far."""

    def buffer(self) -> Buffer:
        """The finished record."""
        file: Literal["dm", "trf", "vrf"] = self.layout.memory if self.layout.memory != "hbm" else "dm"
        return Buffer(
            name=self.name,
            tensor=self.layout.name,
            file=file,
            dtype=self.layout.dtype,
            chip=text(self.layout.chip),
            cluster=text(self.layout.cluster),
            slice=text(self.layout.slice),
            lane=text(self.layout.lane) if file == "trf" else "",
            element=text(self.layout.element),
            bytes=self.bytes,
            writers=tuple(dict.fromkeys(self.writers)),
            readers=tuple(dict.fromkeys(self.readers)),
            rows=self.rows,
            regions=self.regions,
            iteration=self.iteration,
            shares=self.shares,
        )


class Buffers:
    """The current instance of every name, and all instances ever made."""

    def __init__(self, hardware: Hardware) -> None:
        self._hardware = hardware
        self._all: dict[str, Draft] = {}
        self._current: dict[str, str] = {}

    def create(
        self,
        layout: TensorLayout,
        iteration: tuple[tuple[str, int], ...],
        *,
        rows: int = 0,
        regions: tuple[str, ...] = (),
        shares: str = "",
    ) -> Draft:
        """A fresh instance of a name, called `name`, `name[3]` inside a loop, `name#2` when bound again."""
        base = layout.name + "".join(f"[{value}]" for _, value in iteration)
        name, n = base, 1
        while name in self._all:
            n += 1
            name = f"{base}#{n}"
        draft = Draft(name, layout, iteration, self._bytes(layout), rows, regions, shares)
        self._all[name] = draft
        self._current[layout.name] = name
        return draft

    def current(self, tensor: str) -> Draft | None:
        """The latest instance of a name."""
        name = self._current.get(tensor)
        return None if name is None else self._all[name]

    def root(self, draft: Draft) -> Draft:
        """The instance that owns the place: itself, or what it relabels."""
        while draft.shares:
            draft = self._all[draft.shares]
        return draft

    def __iter__(self) -> Iterator[Draft]:
        return iter(self._all.values())

    def _bytes(self, layout: TensorLayout) -> int:
        align = {"dm": self._hardware.dm.alignment_bytes, "vrf": self._hardware.vrf.alignment_bytes}.get(
            layout.memory, 1
        )
        size = DTYPES[layout.dtype].size_bytes(layout.element.size)
        return -(-size // align) * align
