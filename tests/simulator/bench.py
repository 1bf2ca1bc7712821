"""A machine for tests of single engines: a plan with nothing in it but axes, and flows of numbered values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.cells import LIVE, all_cells
from models.kernel import Kernel
from models.parse import parse
from models.plan import MemoryEntry, PlannedOp, Stage
from simulator import prepare_bench
from simulator.bench import Run
from simulator.streams import Flow
from simulator.values import CONTAINER
from tests.simulator.plans import finished, op

SPATIAL = ("1", "1")


def make_run(axes: dict[str, int], memory: tuple[MemoryEntry, ...] = (), context: str = "main") -> Run:
    kernel = Kernel(kernel="test", axes=axes, tensors={}, ops=())
    planned: PlannedOp = op("test", "pass", (context,), 1003, 1, {e.tensor: e.tensor for e in memory})
    return Run(prepare_bench(finished(kernel, [planned], list(memory), {})), planned)


def make_stage(step: str, dtype: str, slice: str, time: str, packet: str, **settings: Any) -> Stage:
    return Stage(
        step=step, dtype=dtype, chip="1", cluster="1", slice=slice, time=time, packet=packet, settings=settings
    )


def numbered_flow(run: Run, dtype: str, slice: str, time: str, packet: str) -> Flow:
    """Values that differ in every position, as far as the type allows."""
    identity = run.layouts.identity((*SPATIAL, slice), (time, packet))
    shape = tuple(run.layouts.size(t) for t in (slice, time, packet))
    raw = (np.arange(np.prod(shape), dtype=np.uint64) * 2654435761 % (1 << 31)).astype(np.uint32).reshape(shape)
    return Flow(dtype, raw.astype(CONTAINER[dtype]), None, identity)


@dataclass(frozen=True)
class Lookup:
    """Where each cell of an array stands, by plain enumeration in Python."""

    axes: tuple[str, ...]
    where: dict[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def of(cls, axes: dict[str, int], *levels: str) -> Lookup:
        found = all_cells(*(parse(t, axes) for t in levels))
        names = tuple(sorted(found.index))
        index = {a: np.broadcast_to(found.index[a], found.kind.shape) for a in names}
        where = {}
        for at in np.argwhere(found.kind == LIVE):
            where.setdefault(tuple(int(index[a][tuple(at)]) for a in names), tuple(int(i) for i in at))
        return cls(names, where)

    def sources(self, axes: dict[str, int], *levels: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(position, source position) of every live cell of another array that has these axes."""
        found = all_cells(*(parse(t, axes) for t in levels))
        zero = np.zeros(found.kind.shape, np.int64)
        index = [np.broadcast_to(found.index.get(a, zero), found.kind.shape) for a in self.axes]
        live = [tuple(int(i) for i in at) for at in np.argwhere(found.kind == LIVE)]
        return [(at, self.where[tuple(int(part[at]) for part in index)]) for at in live]
