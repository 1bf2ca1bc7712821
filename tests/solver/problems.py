"""Problems built by hand: the shapes of the three kernels, loops, and small random graphs."""

from __future__ import annotations

import random
from dataclasses import replace

from models.graph import Buffer, Edge, Mode, Operation, Problem
from models.hardware import Hardware
from models.presets.load import load_hardware

RNGD = load_hardware("rngd")


def hardware(**groups: dict[str, int]) -> Hardware:
    update = {g: getattr(RNGD, g).model_copy(update=values) for g, values in groups.items()}
    return RNGD.model_copy(update=update)


def mode(cycles: int, *holds: str, id: str = "", bitmap: str | None = None, **decisions: str) -> Mode:
    decisions = decisions or {"context": "+".join(holds)}
    return Mode(
        id or ",".join(f"{k}={v}" for k, v in decisions.items()), decisions, frozenset(holds), cycles, bitmap=bitmap
    )


def op(name: str, *modes: Mode, requires: tuple[str, frozenset[str]] | None = None) -> Operation:
    base, _, rest = name.partition("[")
    iteration = (("i", int(rest[:-1])),) if rest else ()
    kind = "dma" if all(m.holds == {"dma"} for m in modes) else "pass"
    return Operation(name, base, kind, modes, iteration, requires=requires)


def dma(name: str, cycles: int) -> Operation:
    return op(name, mode(cycles, "dma"))


def buffer(name: str, file: str, size: int, writers: str, readers: str = "", **more: object) -> Buffer:
    """`size` in rows for the TRF, in bytes elsewhere; users separated by blanks."""
    if file == "trf":
        more = {"rows": size, "regions": ("full", "first_half", "second_half"), **more}
    return Buffer(
        name, name.partition("[")[0], file, "bf16", "1", "1 # 2", "1 # 256", "1" if file == "trf" else "", "1",
        size, tuple(writers.split()), tuple(readers.split()), **more,
    )  # fmt: skip


def data(*pairs: str) -> tuple[Edge, ...]:
    """`a>b` pairs."""
    return tuple(Edge(*p.split(">"), "data") for p in pairs)


def problem(operations, edges=(), buffers=(), **groups: dict[str, int]) -> Problem:
    return Problem(tuple(operations), tuple(edges), tuple(buffers), hardware(**groups))


def gemm() -> Problem:
    """Optimum by hand: loads one after the other, the store of b under the load of a, then matmul and store."""
    return problem(
        [
            dma("load_a", 2998),
            dma("load_b", 2998),
            op("store_b", mode(775, "main"), mode(775, "sub")),
            op("matmul", mode(777, "main", "vector")),
            dma("store_c", 72731),
        ],
        data("load_b>store_b", "load_a>matmul", "store_b>matmul", "matmul>store_c"),
        [
            buffer("a_dm", "dm", 4096, "load_a", "matmul"),
            buffer("b_dm", "dm", 4096, "load_b", "store_b"),
            buffer("b_trf", "trf", 8, "store_b", "matmul"),
            buffer("c_dm", "dm", 2048, "matmul", "store_c"),
        ],
    )


GEMM_OPTIMUM = 1003 + 2 * 2998 + 777 + 72731 + 600


def tiled_scale(count: int = 15, **groups: dict[str, int]) -> Problem:
    """Both loads, then stage (Sub) and scale (Main) per tile, then one store."""
    operations = [dma("load_x", 2998), dma("load_w", 2998)]
    edges, buffers = (
        [],
        [
            buffer("x_dm", "dm", 7680, "load_x", " ".join(f"scale[{i}]" for i in range(count))),
            buffer("w_dm", "dm", 7680, "load_w", " ".join(f"stage[{i}]" for i in range(count))),
            buffer("y_dm", "dm", 7680, " ".join(f"scale[{i}]" for i in range(count)), "store"),
        ],
    )
    for i in range(count):
        operations.append(op(f"stage[{i}]", mode(327, "sub"), mode(300, "main", "sub", context="main")))
        operations.append(op(f"scale[{i}]", mode(345, "main", "vector")))
        edges += data(f"load_w>stage[{i}]", f"load_x>scale[{i}]", f"stage[{i}]>scale[{i}]", f"scale[{i}]>store")
        buffers.append(buffer(f"w_vrf[{i}]", "vrf", 1024, f"stage[{i}]", f"scale[{i}]"))
    operations.append(dma("store", 1769))
    return problem(operations, edges, buffers, **groups)


def tiled_scale_optimum(count: int = 15) -> int:
    """Weights first, so that the first tile's are staged under the load of x; then Main never waits."""
    return 1003 + 2 * 2998 + count * 345 + 1769 + 600


def tiled_matmul(
    count: int, *, load: int, store: int, matmul: int, out: int = 0, regions=("full", "first_half", "second_half")
) -> Problem:
    """Per tile: load weights, store them into the TRF (64 rows, half of it), multiply; `out` cycles of DMA if any."""
    operations, edges, buffers = [dma("load_x", 2000)], [], []
    for i in range(count):
        operations += [
            dma(f"load[{i}]", load),
            op(f"to_trf[{i}]", mode(store, "sub")),
            op(f"matmul[{i}]", mode(matmul, "main")),
        ]
        edges += data(f"load[{i}]>to_trf[{i}]", f"to_trf[{i}]>matmul[{i}]", f"load_x>matmul[{i}]")
        buffers += [
            buffer(f"w_dm[{i}]", "dm", 65536, f"load[{i}]", f"to_trf[{i}]"),
            buffer(f"w_trf[{i}]", "trf", 64, f"to_trf[{i}]", f"matmul[{i}]", regions=regions),
        ]
        if out:
            operations.append(dma(f"out[{i}]", out))
            edges += data(f"matmul[{i}]>out[{i}]")
            buffers.append(buffer(f"c_dm[{i}]", "dm", 4096, f"matmul[{i}]", f"out[{i}]"))
    return problem(operations, edges, buffers)


def random_problem(seed: int, size: int = 5) -> Problem:
    """A few operations with open modes, tight registers, sometimes bitmaps and operations that come with a mode."""
    rng = random.Random(seed)
    names = [f"o{k}" for k in range(size)]
    operations, edges, buffers = [], [], []
    for k, name in enumerate(names):
        choices = rng.sample(
            [("main",), ("sub",), ("dma",), ("main", "vector"), ("sub", "vector"), ("main", "sub"), ("main", "dma")],
            rng.choice([1, 1, 2]),
        )
        bitmaps = [rng.choice(["p", "q"]) if rng.random() < 0.15 and "dma" not in c else None for c in choices]
        modes = [mode(rng.randint(1, 9), *c, bitmap=b) for c, b in zip(choices, bitmaps, strict=True)]
        parents = [o for o in operations if len(o.modes) == 2 and o.requires is None]
        requires = None
        if parents and rng.random() < 0.2:
            parent = rng.choice(parents)
            requires = (parent.name, frozenset({rng.choice(parent.modes).id}))
        operations.append(replace(op(name, *modes), requires=requires))
        for earlier in names[:k]:
            if rng.random() < 0.35:
                lag = rng.choice([0, 0, 0, 4])
                edges.append(Edge(earlier, name, "fence" if lag else "data", "t", lag))
    for k in range(size):
        readers = [e.after for e in edges if e.before == names[k] and rng.random() < 0.7]
        file = rng.choice(["trf", "vrf", "dm", ""])
        if not file:
            continue
        length = rng.choice([1, 2, 3, 4]) if file == "trf" else rng.choice([32, 64, 96])
        more = {
            "regions": rng.choice([("full", "first_half", "second_half"), ("first_half", "second_half"), ("full",)])
        }
        if file == "trf" and length > 2:
            more = {"regions": ("full",)}
        buffers.append(buffer(f"b{k}", file, length, names[k], " ".join(readers), **(more if file == "trf" else {})))
    return problem(
        operations,
        edges,
        buffers,
        kernel={"first_start_cycles": 2, "final_sync_cycles": 1},
        switch={"bitmap_load_cycles": 2},
        trf={"rows_per_bank": 4},
        vrf={"bytes_per_slice": 128},
        dm={"bytes_per_slice": 128},
    )
