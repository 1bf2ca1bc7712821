"""Small plans by hand, one operation after the other: a loop over tiles, a custom bitmap, a round trip through HBM."""

from __future__ import annotations

from typing import Any

from models.kernel import Kernel
from models.plan import MemoryEntry, Plan, PlannedOp, Stage
from simulator import machine, prepare_bench
from simulator.loading import fill_hbm
from tests.simulator.plans import HARDWARE, entry, finished, op, stage

Draft = tuple[str, str, tuple[str, ...], dict[str, str], dict[str, Any]]


def in_sequence(
    kernel: Kernel, drafts: list[Draft], memory: list[MemoryEntry], programs: dict[str, tuple[Stage, ...]]
) -> Plan:
    """Lays operations end to end, with the cycles that the simulator counts, and gives instances their lives."""
    ops = [op(name, kind, contexts, 0, 0, uses, **more) for name, kind, contexts, uses, more in drafts]
    bench = prepare_bench(finished(kernel, ops, memory, programs))
    fill_hbm(bench, {})
    counted = machine.execute(bench)
    timed, now = [], HARDWARE.kernel.first_start_cycles
    for planned in ops:
        cycles = counted.cycles[planned.name]
        timed.append(planned.model_copy(update={"start": now, "end": now + cycles, "cycles": cycles}))
        now += cycles
    counted_programs = {
        name: tuple(s.model_copy(update={"steps_cycles": n}) for s, n in zip(stages, counted.stages[name], strict=True))
        for name, stages in programs.items()
    }
    return finished(kernel, timed, [_alive(e, timed) for e in memory], counted_programs)


def _alive(item: MemoryEntry, ops: list[PlannedOp]) -> MemoryEntry:
    users = [o for o in ops if item.tensor in o.uses.values()]
    return item.model_copy(update={"start": min(o.start for o in users), "end": max(o.end for o in users)})


SCALE_ROWS = 4  # rows per slice, in two tiles of two
SCALE = Kernel.model_validate(
    {
        "kernel": "scale",
        "axes": {"L": 1024, "H": 16},
        "tensors": {
            "x": {"dtype": "bf16", "element": "L, H"},
            "w": {"dtype": "bf16", "element": "L, H"},
            "y": {"dtype": "bf16", "element": "L, H", "role": "output"},
        },
        "ops": [
            {"kind": "dma", "name": "load_x", "read": "x", "write": "x_dm", "slice": "L / 4", "element": "L % 4, H"},
            {"kind": "dma", "name": "load_w", "read": "w", "write": "w_dm", "slice": "L / 4", "element": "L % 4, H"},
            {
                "kind": "loop",
                "name": "i",
                "count": 2,
                "ops": [
                    {
                        "kind": "pass",
                        "name": "stage",
                        "read": {"tensor": "w_dm", "tile": "L % 4", "length": 2, "start": "2 * i"},
                        "steps": [
                            {"step": "fetch", "time": "L % 4 = 2, H / 8", "packet": "H % 8"},
                            {"step": "fetch_cast", "dtype": "f32"},
                            {"step": "collect"},
                            {"step": "to_vrf", "write": "w_vrf", "element": "L % 4 = 2, H"},
                        ],
                    },
                    {
                        "kind": "pass",
                        "name": "scale",
                        "read": {"tensor": "x_dm", "tile": "L % 4", "length": 2, "start": "2 * i"},
                        "steps": [
                            {"step": "fetch", "time": "L % 4 = 2, H / 8", "packet": "H % 8"},
                            {"step": "fetch_cast", "dtype": "f32"},
                            {"step": "collect"},
                            {
                                "step": "vector",
                                "ops": [
                                    {"name": "tag", "value": "zero"},
                                    {"name": "narrow_split", "time": "L % 4 = 2, H / 4", "packet": "H % 4"},
                                    {"name": "fp_binary", "op": "mul", "operand": "w_vrf"},
                                    {"name": "widen_concat", "time": "L % 4 = 2, H / 8", "packet": "H % 8"},
                                ],
                            },
                            {"step": "cast", "dtype": "bf16"},
                            {
                                "step": "commit",
                                "write": {"tensor": "y_dm", "tile": "L % 4", "length": 2, "start": "2 * i"},
                                "element": "L % 4, H",
                                "slice": "L / 4",
                            },
                        ],
                    },
                ],
            },
            {"kind": "dma", "name": "store", "read": "y_dm", "write": "y"},
        ],
    }
)

_TILE = {"start": "2 * i", "stride": 16}
_WALK = {"time_entries": [[4, 8]], "packet_entries": [[8, 1]], "entries": ["32:1"], "base": _TILE}
_ROWS = ("L % 4 = 2, H / 8", "H % 8")


def _rows(step: str, dtype: str, time: str, packet: str, **settings: Any) -> Stage:
    return stage(step, dtype, time, packet, slice="L / 4", **settings)


def scale_plan() -> Plan:
    """Both tiles staged from Main, which holds Main and Sub, then scaled."""
    wide = ("L % 4 = 2, H / 4", "H % 4")
    fetch = {"read_bytes": 16, "reads_per_packet": 1, "interleave": None, **_WALK}
    programs = {
        "load_x": (_rows("dma", "bf16", "1", "L % 4, H", read="x", write="x_dm", direction="load"),),
        "load_w": (_rows("dma", "bf16", "1", "L % 4, H", read="w", write="w_dm", direction="load"),),
        "stage": (
            _rows("fetch", "bf16", *_ROWS, reads=["w_dm"], **fetch),
            _rows("fetch_cast", "f32", *_ROWS),
            _rows("collect", "f32", *_ROWS, flits_per_packet=1),
            _rows("to_vrf", "f32", *_ROWS, write="w_vrf", element="L % 4 = 2, H", bytes=128, via="pipeline"),
        ),
        "scale": (
            _rows("fetch", "bf16", *_ROWS, reads=["x_dm"], **fetch),
            _rows("fetch_cast", "f32", *_ROWS),
            _rows("collect", "f32", *_ROWS, flits_per_packet=1),
            _rows("vector", "f32", *_ROWS, name="tag", value="zero"),
            _rows("vector", "f32", *wide, name="narrow_split"),
            _rows("vector", "f32", *wide, name="fp_binary", op="MulF", operand="w_vrf", alu="FpMul0"),
            _rows("vector", "f32", *_ROWS, name="widen_concat"),
            _rows("cast", "bf16", _ROWS[0], "H % 8 # 16"),
            _rows(
                "commit",
                "bf16",
                *_ROWS,
                write="y_dm",
                trim_bytes=16,
                write_bytes=16,
                writes_per_packet=1,
                cast=None,
                relu=False,
                **_WALK,
            ),
        ),
        "store": (_rows("dma", "bf16", "1", "L % 4, H", read="y_dm", write="y", direction="store"),),
    }
    drafts: list[Draft] = [
        ("load_x", "dma", ("dma",), {"x_dm": "x_dm"}, {}),
        ("load_w", "dma", ("dma",), {"w_dm": "w_dm"}, {}),
    ]
    for i in range(2):
        drafts.append(
            (f"stage[{i}]", "pass", ("main", "sub"), {"w_dm": "w_dm", "w_vrf": f"w_vrf[{i}]"}, {"iteration": {"i": i}})
        )
        uses = {"x_dm": "x_dm", "w_vrf": f"w_vrf[{i}]", "y_dm": "y_dm"}
        drafts.append((f"scale[{i}]", "pass", ("main", "vector"), uses, {"iteration": {"i": i}}))
    drafts.append(("store", "dma", ("dma",), {"y_dm": "y_dm"}, {}))
    dm = {"slice": "L / 4", "element": "L % 4, H", "size": 128, "life": (0, 0)}
    memory = [entry(n, "dm", "bf16", **dm, address=k * 128) for k, n in enumerate(("x_dm", "w_dm", "y_dm"))]
    vrf = {"slice": "L / 4", "element": "L % 4 = 2, H", "size": 128, "life": (0, 0)}
    memory += [entry(f"w_vrf[{i}]", "vrf", "f32", **vrf, address=128 * i) for i in range(2)]
    return in_sequence(SCALE, drafts, memory, programs)


CUSTOM = Kernel.model_validate(
    {
        "kernel": "shuffle",
        "axes": {"A": 256, "B": 4, "C": 32},
        "tensors": {
            "x": {"dtype": "i8", "element": "A, B, C"},
            "y": {"dtype": "i8", "element": "A % 16, A / 16, B, C", "role": "output"},
        },
        "ops": [
            {"kind": "dma", "name": "load", "read": "x", "write": "x_dm", "slice": "A", "element": "B, C"},
            {
                "kind": "pass",
                "name": "move",
                "read": "x_dm",
                "steps": [
                    {"step": "fetch", "time": "B", "packet": "C"},
                    {"step": "switch", "slice": "A % 16, A / 16", "time": "auto", "config": "auto"},
                    {"step": "collect"},
                    {"step": "commit", "write": "y_dm", "slice": "A % 16, A / 16", "element": "B, C"},
                ],
            },
            {"kind": "dma", "name": "store", "read": "y_dm", "write": "y"},
        ],
    }
)


def custom_plan() -> Plan:
    """A permutation of all slices by CustomBroadcast: slice 16 a + b takes from slice 16 b + a."""
    out = "A % 16, A / 16"
    programs = {
        "load": (stage("dma", "i8", "1", "B, C", slice="A", read="x", write="x_dm", direction="load"),),
        "move": custom_move(out),
        "store": (stage("dma", "i8", "1", "B, C", slice=out, read="y_dm", write="y", direction="store"),),
    }
    drafts: list[Draft] = [
        ("load", "dma", ("dma",), {"x_dm": "x_dm"}, {}),
        ("move.bitmap", "bitmap_load", ("sub", "dma"), {}, {"program": "", "bitmap": "swap"}),
        ("move", "pass", ("main",), {"x_dm": "x_dm", "y_dm": "y_dm"}, {"bitmap": "swap"}),
        ("store", "dma", ("dma",), {"y_dm": "y_dm"}, {}),
    ]
    memory = [
        entry("x_dm", "dm", "i8", "A", "B, C", 128, (0, 0), address=0),
        entry("y_dm", "dm", "i8", out, "B, C", 128, (0, 0), address=128),
    ]
    return in_sequence(CUSTOM, drafts, memory, programs)


def custom_move(out: str) -> tuple[Stage, ...]:
    pattern = [[16 * (r % 16) + r // 16] for r in range(256)]
    walk = {"time_entries": [[4, 32]], "packet_entries": [[32, 1]], "entries": ["128:1"], "base": None}
    return (
        stage(
            "fetch",
            "i8",
            "B",
            "C",
            slice="A",
            reads=["x_dm"],
            interleave=None,
            read_bytes=32,
            reads_per_packet=1,
            **walk,
        ),
        stage(
            "switch",
            "i8",
            "B",
            "C",
            slice=out,
            config={"kind": "CustomBroadcast", "ring_size": 256},
            ring_size=256,
            flits_per_packet=1,
            cycles=1024,
            bitmap={"pattern": pattern, "period": 256},
        ),
        stage("collect", "i8", "B", "C", slice=out, flits_per_packet=1),
        stage(
            "commit",
            "i8",
            "B",
            "C",
            slice=out,
            write="y_dm",
            trim_bytes=32,
            write_bytes=32,
            writes_per_packet=1,
            cast=None,
            relu=False,
            **walk,
        ),
    )


ROUND_TRIP = Kernel.model_validate(
    {
        "kernel": "round_trip",
        "axes": {"A": 256, "B": 64},
        "tensors": {
            "x": {"dtype": "bf16", "element": "A, B"},
            "t": {"dtype": "bf16", "element": "A, B", "role": "output"},
            "y": {"dtype": "bf16", "element": "A, B", "role": "output"},
        },
        "ops": [
            {"kind": "dma", "name": "load", "read": "x", "write": "x_dm", "slice": "A", "element": "B"},
            {"kind": "dma", "name": "spill", "read": "x_dm", "write": "t"},
            {"kind": "dma", "name": "reload", "read": "t", "write": "t_dm", "slice": "A", "element": "B"},
            {"kind": "dma", "name": "store", "read": "t_dm", "write": "y"},
            {"kind": "dma", "name": "again", "read": "x_dm", "write": "t"},
        ],
    }
)


def round_trip_plan() -> Plan:
    """Through HBM and back, a fence later."""
    moves = {
        "load": ("x", "x_dm", "load"),
        "spill": ("x_dm", "t", "store"),
        "reload": ("t", "t_dm", "load"),
        "store": ("t_dm", "y", "store"),
        "again": ("x_dm", "t", "store"),
    }
    programs = {
        name: (stage("dma", "bf16", "1", "B", slice="A", read=read, write=write, direction=way),)
        for name, (read, write, way) in moves.items()
    }
    drafts: list[Draft] = [
        (name, "dma", ("dma",), {n: n for n in (read, write) if n.endswith("_dm")}, {})
        for name, (read, write, _) in moves.items()
    ]
    memory = [entry(n, "dm", "bf16", "A", "B", 128, (0, 0), address=128 * i) for i, n in enumerate(("x_dm", "t_dm"))]
    plan = in_sequence(ROUND_TRIP, drafts, memory, programs)
    fence = HARDWARE.kernel.fence_cycles
    ops = [
        o.model_copy(update={"start": o.start + fence, "end": o.end + fence})
        if o.name in ("reload", "store", "again")
        else o
        for o in plan.ops
    ]
    return finished(ROUND_TRIP, ops, [_alive(e, ops) for e in memory], plan.programs)
