"""Random transfers of every kind, each priced by the planner's law and by the simulator's timeline."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from models.kernel import Kernel, Tile
from models.layout import TensorLayout
from models.parse import parse
from models.plan import Stage
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.dma import law
from simulator import machine, prepare_bench
from simulator.bench import Run
from simulator.loading import fill_hbm
from simulator.timeline import transfer
from tests.simulator.plans import HARDWARE, entry, finished, op

BITS = {"i4": 4, "i8": 8, "bf16": 16, "f32": 32}
SIZES = (2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 100, 128, 200, 256, 384, 512, 1000, 1024, 2048, 4096)
SHARE = [1, 1, 1, 2, 4, 8, 64]


MOST_CELLS = 2**23
Move = tuple[str, str]


class Drawn:
    """Axes, layouts and operations of one random kernel: a load, perhaps a copy, a store, perhaps a copy in HBM."""

    def __init__(self, seed: int, most_elements: int) -> None:
        self.random = Random(seed)
        self.dtype = self.random.choice(["i8", "bf16", "bf16", "f32", "f32", "i4"])
        self.axes = self._axes(most_elements)
        self.tile: Tile | None = None
        self.chip = self.random.choice(["1"] * 9 + ["2"])
        few = self.random.choice([HARDWARE.dma.queue_requests] * 3 + [1024, 64, 16])
        self.hardware = load_hardware(overrides={"dma.queue_requests": few})
        self.hbm = {"x": self._hbm(), "y": self._hbm(), "z": self._hbm()}
        self.dm = {"d": self._dm(tiled=True), "e": self._dm(tiled=False)}

    def _axes(self, most: int) -> dict[str, int]:
        axes: dict[str, int] = {}
        for name in "ABC"[: self.random.randint(1, 3)]:
            left = most // prod(axes.values())
            sizes = [s for s in SIZES if s <= left]
            axes[name] = self.random.choice(sizes or [1])
        axes["X"] = self.random.choice([2, 3, 4])
        return axes

    def _digits(self, name: str, padded: bool) -> list[str]:
        size, base = self.axes[name], name
        if padded and self.random.random() < 0.3:
            size += self.random.choice([1, size, -size % 64, -size % 16, 3])
            base = f"[{name} # {size}]" if size > self.axes[name] else name
        parts, low = [], 1
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            cuts = [c for c in range(2, size // low) if size // low % c == 0]
            if cuts:
                cut = self.random.choice(cuts)
                parts.append(f"{base} / {low} % {cut}" if low > 1 else f"{base} % {cut}")
                low *= cut
        parts.append(f"{base} / {low}" if low > 1 else base)
        return parts[::-1]

    def _hbm(self) -> str:
        names = [n for n in self.axes if n != "X" or self.random.random() < 0.1]
        plain = self.random.random() < 0.7
        parts = [p for n in names for p in (self._digits(n, padded=False) if not plain else [n])]
        if self.random.random() < 0.5:
            self.random.shuffle(parts)
        if self.random.random() < 0.1:
            parts.insert(self.random.randint(0, len(parts)), self.random.choice(["2", "1 # 2", "3"]))
        if self.random.random() < 0.1:
            parts[-1] = f"{_bracketed(parts[-1])} # {self._size(parts[-1]) + self.random.choice([1, 4, 64])}"
        return ", ".join(parts)

    def _size(self, text: str) -> int:
        return parse(text, self.axes).size

    def _dm(self, tiled: bool) -> tuple[str, str, str]:
        """Element, slice and cluster."""
        parts = [p for n in self.axes if n != "X" for p in self._digits(n, padded=True)]
        if self.random.random() < 0.15:
            parts.append("X")
        inner: list[str] = []
        outer: list[str] = []
        cluster = "1 # 2"
        order = self.random.sample(parts, len(parts)) if self.random.random() < 0.5 else list(parts)
        for part in order:
            if cluster == "1 # 2" and self._size(part) == 2 and self.random.random() < 0.5:
                cluster = part
            elif prod(map(self._size, outer)) * self._size(part) <= 256 and self.random.random() < 0.55:
                outer.append(part)
            else:
                inner.append(part)
        inner = inner or ["1"]
        if tiled and self.random.random() < 0.3:
            self._take_tile(inner, [*outer, cluster])
        if self.random.random() < 0.2:
            inner[-1] = f"{_bracketed(inner[-1])} # {self._size(inner[-1]) + self.random.choice([1, 3, 8])}"
        if cluster == "1 # 2" and self.random.random() < 0.15:
            cluster = "2"
        return ", ".join(inner), self._slices(outer), cluster

    def _take_tile(self, inner: list[str], outer: list[str]) -> None:
        at = self.random.randrange(len(inner))
        part, size = inner[at], self._size(inner[at])
        if "#" in part or part == "1" or size < 2 or part == "X":
            return
        length = self.random.randint(1, size - 1)
        self.tile = Tile(tensor="x", tile=part, length=length, start=str(self.random.randint(0, size - length)))
        inner[at] = f"{_bracketed(part)} = {length}"

    def _slices(self, outer: list[str]) -> str:
        wanted = self.random.choice([64, 128, 256])
        if outer and self.random.random() < 0.2:
            share = self.random.choice(SHARE)
            outer.insert(self.random.randint(0, len(outer)), self.random.choice([f"{share}", f"1 # {share}"]))
        used = prod(map(self._size, outer)) if outer else 1
        if used > 256:
            return ", ".join(outer[:-1]) if prod(map(self._size, outer[:-1])) in (64, 128, 256) else "256"
        wanted = max(wanted, next(w for w in (64, 128, 256) if w >= used))
        text = ", ".join(outer) or "1"
        if used == wanted:
            return text
        if wanted % used == 0 and self.random.random() < 0.4:
            return self.random.choice(
                [f"{text}, {wanted // used}", f"{wanted // used}, {text}", f"{text}, 1 # {wanted // used}"]
            )
        return f"[{text}] # {wanted}" if outer else f"1 # {wanted}"

    def layout(self, name: str) -> TensorLayout:
        """A tensor's layout, parsed."""
        if name in self.hbm:
            return TensorLayout(name, "hbm", self.dtype, parse(self.hbm[name], self.axes), chip=parse(self.chip, {}))
        element, slices, cluster = (parse(t, self.axes) for t in self.dm[name])
        return TensorLayout(name, "dm", self.dtype, element, parse(self.chip, {}), cluster, slices)

    def positions(self, name: str) -> int:
        """Elements of a tensor, over all slices."""
        held = self.layout(name)
        return held.element.size * held.slice.size * held.cluster.size

    def moves(self) -> list[Move]:
        """Source and destination of every transfer."""
        return [("x", "d"), ("d", "e"), ("d", "y"), ("x", "z")]


def _bracketed(text: str) -> str:
    return f"[{text}]" if " " in text else text


def _names(read: str, write: str) -> str:
    return f"{read}_to_{write}"


def simulated(drawn: Drawn, moves: list[Move]) -> dict[str, Any]:
    """What the simulator counts for every transfer, by name."""
    tensors = {
        n: {"dtype": drawn.dtype, "chip": drawn.chip, "element": e, "role": "input" if n == "x" else "output"}
        for n, e in drawn.hbm.items()
    }
    ops = []
    for read, write in moves:
        tile = drawn.tile if (read, write) == ("x", "d") else None
        one: dict[str, Any] = {"kind": "dma", "name": _names(read, write), "write": write}
        one["read"] = read if tile is None else tile.model_dump(mode="json")
        if write in drawn.dm:
            one |= dict(zip(("element", "slice", "cluster"), drawn.dm[write], strict=True))
        ops.append(one)
    kernel = Kernel.model_validate({"kernel": "k", "axes": drawn.axes, "tensors": tensors, "ops": ops})
    memory = []
    used = {name for move in moves for name in move}
    for name, (element, slices, cluster) in drawn.dm.items():
        if name not in used:
            continue
        size = -(-drawn.layout(name).element.size * BITS[drawn.dtype] // 64) * 8
        held = entry(name, "dm", drawn.dtype, slices, element, size, (0, 0), address=0)
        memory.append(held.model_copy(update={"cluster": cluster, "chip": drawn.chip}))
    programs = {_names(*m): (_stage(drawn, *m),) for m in moves}
    planned = [op(_names(*m), "dma", ("dma",), i, 1, {n: n for n in m if n in drawn.dm}) for i, m in enumerate(moves)]
    bench = prepare_bench(finished(kernel, planned, memory, programs))
    fill_hbm(bench, {})
    out = {}
    for move in planned:
        stage = programs[move.name][0]
        run = Run(bench, move)
        moved = machine.dma(run, stage)
        for effect in run.effects:
            effect()
        out[move.name] = transfer(moved, str(stage.settings["direction"]), drawn.hardware)
    return out


def _stage(drawn: Drawn, read: str, write: str) -> Stage:
    on_chip = [n in drawn.dm for n in (read, write)]
    direction = {(False, True): "load", (True, False): "store"}.get(tuple(on_chip), "copy")
    held = drawn.dm.get(write) or drawn.dm.get(read) or (drawn.hbm[write], "1", "1")
    return Stage(
        step="dma",
        dtype=drawn.dtype,
        chip=drawn.chip,
        cluster=held[2],
        slice=held[1],
        time="1",
        packet=held[0],
        steps_cycles=0,
        settings={"read": read, "write": write, "direction": direction},
    )


def planned(drawn: Drawn, read: str, write: str) -> Any:
    """The planner's outcome of one transfer."""
    tile = drawn.tile if (read, write) == ("x", "d") else None
    return law(Ground(drawn.hardware, drawn.axes, "dma"), drawn.layout(read), drawn.layout(write), read_tile=tile)


def disagreements(seed: int, most_elements: int) -> tuple[list[str], list[str]]:
    """What the two sides say differently of the transfers of a random kernel, and which kinds were compared."""
    drawn = Drawn(seed, most_elements)
    outcomes = {m: planned(drawn, *m) for m in drawn.moves()}
    legal = [m for m, outcome in outcomes.items() if outcome.ok and all(drawn.positions(n) <= MOST_CELLS for n in m)]
    if not legal:
        return [], []
    filled = [("x", "d")] if any("d" in move for move in legal) else []  # what nobody wrote holds no cells
    counted = simulated(drawn, list(dict.fromkeys(filled + legal)))
    out = []
    for move in legal:
        stated = outcomes[move].settings | {"cycles": outcomes[move].steps}
        found = counted[_names(*move)]
        own = found.counts | {"cycles": found.cycles}
        wrong = {k: (stated[k], own[k]) for k in own if k in stated and stated[k] != own[k]}
        if wrong:
            out.append(
                f"seed {seed} {_names(*move)} {drawn.dtype} {drawn.axes} {drawn.hbm} {drawn.dm} {drawn.tile}: {wrong}"
            )
    return out, [str(outcomes[move].settings["direction"]) for move in legal]
