"""A synthetic decoder as a scheduling problem: repeated layers of 139 operations, durations jittered by a seed.

A layer is what one token costs: two norms, projections in weight tiles, attention over a key-value cache in groups.
A weight tile is loaded (DMA), stored into half of the TRF (Sub) and multiplied (Main); weights of norms go to the VRF.
At most seven tiles lie in the data memory of a slice beside the activations, so DMA cannot run ahead for long.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Literal

from models.graph import DMA, MAIN, SUB, VECTOR, Buffer, Edge, Mode, Operation, Problem
from models.presets.load import load_hardware

Kind = Literal["dma", "balanced"]

LAYER_OPERATIONS = 139
JITTER = 0.5
"""Largest relative deviation of a duration."""

MAIN_SHARE: dict[Kind, float] = {"dma": 0.6, "balanced": 1.0}
"""Cycles of Main for each cycle of DMA."""

TILE_BYTES, SCALE_BYTES, ACTIVATION_BYTES = 65536, 2048, 4096
HALVES = ("full", "first_half", "second_half")
TILES = {"q": 6, "k": 2, "v": 2, "o": 4, "gate": 6, "up": 6, "down": 4}
GROUPS = 4
LOAD, CACHE_LOAD, SMALL_LOAD, STORE, TO_TRF, TO_VRF = 1200, 1500, 500, 700, 1000, 320
MATMUL, ATTEND, ELEMENTWISE = 800, 1100, 900
"""Mean cycles; those of Main are scaled to its share."""


class _Layers:
    def __init__(self, seed: int, jitter: float) -> None:
        self.jitter = jitter
        self.rng = random.Random(seed)
        self.layer = 0
        self.operations: list[Operation] = []
        self.edges: list[Edge] = []
        self.buffers: dict[str, Buffer] = {}

    def op(self, base: str, cycles: int, *holds: str, after: tuple[str, ...] = (), reads: tuple[str, ...] = ()) -> str:
        """Adds an operation; `reads` are buffers, whose writers come before it."""
        name = f"{base}[{self.layer}]"
        jittered = max(1, round(cycles * self.rng.uniform(1 - self.jitter, 1 + self.jitter)))
        kind: Literal["dma", "pass"] = "dma" if holds == (DMA,) else "pass"
        mode = Mode("context=" + "+".join(holds), {"context": "+".join(holds)}, frozenset(holds), jittered)
        self.operations.append(Operation(name, base, kind, (mode,), (("layer", self.layer),)))
        writers = [w for r in reads for w in self.buffers[r].writers]
        self.edges += [Edge(before, name, "data") for before in dict.fromkeys((*writers, *after))]
        for read in reads:
            self.buffers[read] = replace(self.buffers[read], readers=(*self.buffers[read].readers, name))
        return name

    def buffer(self, tensor: str, file: Literal["dm", "trf", "vrf"], size_bytes: int, *writers: str) -> str:
        """Adds an instance of a tensor; in the TRF it takes half of the rows."""
        name = f"{tensor}[{self.layer}]"
        rows, regions, lane = (64, HALVES, "1") if file == "trf" else (0, (), "")
        self.buffers[name] = Buffer(
            name, tensor, file, "bf16", "1", "1 # 2", "1 # 256", lane, "1", size_bytes, writers, (), rows, regions,
            iteration=(("layer", self.layer),),
        )  # fmt: skip
        return name

    def weights(self, name: str, file: Literal["trf", "vrf"], load_cycles: int, store_cycles: int) -> str:
        """Loads a tile and stores it into a register file."""
        size = TILE_BYTES if file == "trf" else SCALE_BYTES
        tile = self.buffer(f"{name}_dm", "dm", size, self.op(f"load_{name}", load_cycles, DMA))
        stored = self.op(f"to_{file}_{name}", store_cycles, SUB, reads=(tile,))
        return self.buffer(f"{name}_{file}", file, size, stored)

    def norm(self, name: str, given: str) -> str:
        """Mean of squares, then scaled by weights in the VRF."""
        scale = self.weights(f"{name}_scale", "vrf", SMALL_LOAD, TO_VRF)
        squares = self.op(f"{name}_squares", ELEMENTWISE, MAIN, VECTOR, reads=(given,))
        mean = self.buffer(f"{name}_mean", "dm", ACTIVATION_BYTES, squares)
        done = self.op(f"{name}_apply", ELEMENTWISE, MAIN, VECTOR, reads=(given, mean, scale))
        return self.buffer(name, "dm", ACTIVATION_BYTES, done)

    def project(self, name: str, given: str) -> str:
        """A matrix product in weight tiles."""
        parts = []
        for tile in range(TILES[name]):
            held = self.weights(f"{name}{tile}", "trf", LOAD, TO_TRF)
            parts.append(self.op(f"{name}{tile}", MATMUL, MAIN, reads=(held, given)))
        return self.buffer(name, "dm", ACTIVATION_BYTES, *parts)

    def attend(self, group: int, q: str) -> str:
        """Scores against cached keys, softmax, weighted sum of cached values."""
        keys = self.weights(f"keys{group}", "trf", CACHE_LOAD, TO_TRF)
        score = self.buffer(
            f"score{group}", "dm", ACTIVATION_BYTES, self.op(f"score{group}", ATTEND, MAIN, reads=(keys, q))
        )
        high = self.op(f"exp{group}", ELEMENTWISE, MAIN, VECTOR, reads=(score,))
        soft = self.buffer(f"exp{group}", "dm", ACTIVATION_BYTES, high)
        last = self.op(f"softmax{group}", ELEMENTWISE, MAIN, VECTOR, reads=(soft,))
        probable = self.buffer(f"softmax{group}", "dm", ACTIVATION_BYTES, last)
        values = self.weights(f"values{group}", "trf", CACHE_LOAD, TO_TRF)
        return self.op(f"weigh{group}", ATTEND, MAIN, reads=(values, probable))

    def merge(self, name: str, *given: str) -> str:
        """An elementwise pass over one or two tensors."""
        return self.buffer(name, "dm", ACTIVATION_BYTES, self.op(name, ELEMENTWISE, MAIN, VECTOR, reads=given))

    def add(self, given: str) -> str:
        """One decoder layer; returns its output."""
        normed = self.norm("norm1", given)
        q, k, v = (self.project(name, normed) for name in ("q", "k", "v"))
        self.weights_of_rope = self.weights("rope_table", "vrf", SMALL_LOAD, TO_VRF)
        turned = self.merge("rope_q", q, self.weights_of_rope)
        key = self.merge("rope_k", k, self.weights_of_rope)
        self.op("store_k", STORE, DMA, reads=(key,))
        self.op("store_v", STORE, DMA, reads=(v,))
        attended = self.buffer(
            "attended", "dm", ACTIVATION_BYTES, *(self.attend(group, turned) for group in range(GROUPS))
        )
        middle = self.merge("residual1", given, self.project("o", attended))
        normed = self.norm("norm2", middle)
        gated = self.merge("silu", self.project("gate", normed), self.project("up", normed))
        return self.merge("residual2", middle, self.project("down", gated))


def decoder(layers: int, kind: Kind, seed: int, *, operations: int | None = None, jitter: float = JITTER) -> Problem:
    """So many layers, cut off after so many operations if given; times in cycles, sizes in bytes per slice."""
    made = _Layers(seed, jitter)
    value = made.buffer("x", "dm", ACTIVATION_BYTES, made.op("load_x", SMALL_LOAD, DMA))
    for made.layer in range(layers):
        value = made.add(value)
    made.op("store_y", STORE, DMA, reads=(value,))
    return _scaled(_cut(made, operations), MAIN_SHARE[kind])


def _cut(made: _Layers, count: int | None) -> Problem:
    kept = made.operations[:count]
    names = {o.name for o in kept}
    edges = tuple(e for e in made.edges if e.before in names and e.after in names)
    buffers = [
        replace(b, writers=tuple(w for w in b.writers if w in names), readers=tuple(r for r in b.readers if r in names))
        for b in made.buffers.values()
    ]
    return Problem(tuple(kept), edges, tuple(b for b in buffers if b.writers), load_hardware("rngd"))


def _scaled(problem: Problem, share: float) -> Problem:
    """Main's cycles scaled so that they are this share of DMA's."""
    total = {r: sum(o.modes[0].cycles for o in problem.operations if r in o.modes[0].holds) for r in (MAIN, DMA)}
    factor = share * total[DMA] / total[MAIN]
    return replace(problem, operations=tuple(_stretched(o, factor) for o in problem.operations))


def _stretched(op: Operation, factor: float) -> Operation:
    mode = op.modes[0]
    cycles = max(1, round(mode.cycles * factor)) if MAIN in mode.holds else mode.cycles
    return replace(op, modes=(replace(mode, cycles=cycles),))
