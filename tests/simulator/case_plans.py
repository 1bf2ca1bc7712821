"""Cases of a rule as whole plans: what a case file says of one engine becomes a program that the simulator can judge.

A case names layouts alone. The walks that a plan states beside them are found here by brute force, from cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from models.cells import LIVE, all_cells
from models.dtypes import DTYPES
from models.kernel import Kernel
from models.mapping import Mapping, terms
from models.parse import parse
from models.plan import MemoryEntry, Plan, Stage
from tests.simulator.plans import HARDWARE, entry, finished, op

Case = dict[str, Any]
Entries = list[list[int]]
ALL = "1 # 64"
_TRAVEL = {"i5": 4, "i9": 8}


def bits_of(dtype: str) -> int:
    return _TRAVEL.get(dtype, DTYPES[dtype].bits)


def size(case: Case, text: str) -> int:
    return parse(str(text), case.get("axes", {})).size


def stage(step: str, dtype: str, slice: str, time: str, packet: str, **settings: Any) -> Stage:
    return Stage(
        step=step, dtype=dtype, chip="1", cluster="1 # 2", slice=slice, time=time, packet=packet, settings=settings
    )


# Walks by brute force -------------------------------------------------------------------------------------


def walk(case: Case, level: str, element: str) -> Entries:
    """Sequencer entries with which a level walks an element: from where each step's cell lies."""
    axes = case["axes"]
    held = _positions(parse(element, axes))
    out: Entries = []
    for term in terms(parse(level, axes)):
        if term.size > 1:
            out += _entries(_offsets(term, held), term.size)
    return out


def _positions(element: Mapping) -> tuple[tuple[str, ...], dict[tuple[int, ...], int]]:
    found = all_cells(element)
    names = tuple(sorted(found.index))
    where: dict[tuple[int, ...], int] = {}
    for at in np.flatnonzero(found.kind == LIVE):
        where.setdefault(tuple(int(np.broadcast_to(found.index[a], found.kind.shape)[at]) for a in names), int(at))
    return names, where


def _offsets(term: Mapping, held: tuple[tuple[str, ...], dict[tuple[int, ...], int]]) -> list[int | None]:
    names, where = held
    found = all_cells(term)
    zero = np.zeros(found.kind.shape, np.int64)
    index = [np.broadcast_to(found.index.get(a, zero), found.kind.shape) for a in names]
    live = found.kind == LIVE
    return [where.get(tuple(int(i[n]) for i in index)) if live[n] else None for n in range(term.size)]


def _entries(offsets: list[int | None], size: int) -> Entries:
    """Entries of one term: the longest affine runs, innermost last; what is not held goes on as before."""
    step = (offsets[1] or 0) - (offsets[0] or 0) if size > 1 and offsets[1] is not None else int(offsets[1] is None)
    runs = [n for n in range(2, size + 1) if size % n == 0 and _affine(offsets[:n], step)]
    longest = max(runs, default=size)
    if longest == size:
        return [[size, step]]
    return [*_entries(offsets[::longest], size // longest), [longest, step]]


def _affine(offsets: list[int | None], step: int) -> bool:
    return all(o is None or o == (offsets[0] or 0) + i * step for i, o in enumerate(offsets))


# Plans ----------------------------------------------------------------------------------------------------


def _kernel(case: Case, element: str, dtype: str, slice: str, pad: str = "poison") -> Kernel:
    """A tensor in HBM that is loaded as the case has it in data memory."""
    source = {"dtype": dtype, "element": f"[{slice}], [{element}]", "pad": pad}
    load = {"kind": "dma", "name": "load", "read": "x", "write": "x_dm", "slice": slice, "element": element}
    passing = {"kind": "pass", "name": "test", "read": case.get("read", "x_dm"), "steps": case.get("kernel_steps", [])}
    document = {"kernel": "case", "axes": case.get("axes", {}), "tensors": {"x": source}, "ops": [load, passing]}
    return Kernel.model_validate(document)


def plan_of(
    case: Case, element: str, stages: list[Stage], memory: list[MemoryEntry] | None = None, pad: str = "poison"
) -> Plan:
    """A load of `x_dm` and a pass with the given stages, whose first reads it; more tensors as given."""
    dtype, slice = stages[0].dtype, case.get("held_slice", stages[0].slice)
    held = entry("x_dm", "dm", dtype, slice, element, 0, (0, 0), address=0)
    more = memory or []
    load = stage("dma", dtype, slice, "1", element, read="x", write="x_dm", direction="load")
    contexts = ("sub",) if case.get("context") == "sub" else ("main",)
    uses = {e.tensor: e.tensor for e in (held, *more)}
    ops = [
        op("load", "dma", ("dma",), 1003, 1000, {"x_dm": "x_dm"}),
        op("test", "pass", contexts, 3000, 1000, uses),
    ]
    kernel = _kernel(case, element, dtype, slice, pad)
    return finished(kernel, ops, [held, *more], {"load": (load,), "test": tuple(stages)})


def source(case: Case, time: str, packet: str, dtype: str, slice: str = ALL) -> tuple[str, Stage]:
    """A fetch that gives a stream as it lies in data memory, element and stage."""
    steps, elements = size(case, time), size(case, packet)
    walked = {"time_entries": [[steps, elements]], "packet_entries": [[elements, 1]], "read_bytes": 8}
    settings = {"reads": ["x_dm"], "interleave": None, "base": None, "reads_per_packet": 1, **walked}
    return f"[{time}], [{packet}]", stage("fetch", dtype, slice, time, packet, **settings)


def _fetch(case: Case) -> Plan:
    element, time, packet = case["element"], case["out_time"], case["out_packet"]
    walked = {"time_entries": walk(case, time, element), "packet_entries": walk(case, packet, element)}
    reads = case.get("reads", ["x_dm"])
    fetched = case.get("slice", ALL)
    first = stage(
        "fetch", case["dtype"], fetched, time, packet, reads=reads, interleave=case.get("interleave"), **walked,
        base=case.get("base"), read_bytes=case.get("expect", {}).get("read_bytes", 8),
    )  # fmt: skip
    stages = [first]
    if "out_dtype" in case:
        stages.append(stage("fetch_cast", case["out_dtype"], fetched, time, packet))
    stages.append(stage("collect", case.get("out_dtype", case["dtype"]), fetched, time, packet))
    held = case.get("held_slice", fetched)
    more = [entry(n, "dm", case["dtype"], held, case["others"][n], 0, (0, 0), address=1 << 16) for n in reads[1:]]
    return plan_of(case, element, stages, more)


def _simple(case: Case) -> Plan:
    """Any engine that makes a packet of a packet."""
    time, packet = str(case.get("time", "1")), str(case.get("packet", "1 # 32"))
    dtype, slices = case.get("dtype", "f32"), case.get("slice", case.get("in_slice", ALL))
    element, first = source(case, str(case.get("in_time", time)), packet, dtype, slices)
    name = case["engine"]
    settings = {"name": name.removeprefix("vector_")} if name.startswith("vector_") else {}
    if "zero_point" in case:
        settings["zero_point"] = case["zero_point"]
    if "config" in case:
        settings |= _switched(case)
    if name == "transpose":
        settings |= _turned(case)
    step = "vector" if name.startswith("vector_") else _STEPS.get(name, name)
    out_packet = case.get("out_packet", packet)
    out_time = case.get("out_time", first.time)
    made = stage(step, case.get("out_dtype", dtype), case.get("out_slice", slices), out_time, out_packet, **settings)
    return plan_of(case, element, [first, made])


_STEPS = {"zero_point_sub": "fetch_zero_point_sub"}


def _switched(case: Case) -> dict[str, Any]:
    config = {"kind": "Forwarding"} if case["config"] == "auto" else dict(case["config"])
    ring = int(config.get("ring_size") or int(config.get("slice1", 1)) * int(config.get("slice0", 1)))
    return {"config": config, "ring_size": ring, "flits_per_packet": 1, "bitmap": _bitmap(case)}


def _bitmap(case: Case) -> dict[str, Any]:
    """Which input slices hold what each output slice needs, by plain enumeration."""
    axes = case["axes"]
    given = all_cells(*(parse(case[k], axes) for k in ("in_slice", "in_time")))
    wanted = all_cells(*(parse(case[k], axes) for k in ("out_slice", "out_time")))
    names, zero = sorted(given.index), np.zeros((1, 1), np.int64)
    tables = [[np.broadcast_to(f.index.get(a, zero), f.kind.shape) for a in names] for f in (given, wanted)]
    where: dict[tuple[int, ...], int] = {}
    for at in np.argwhere(given.kind == LIVE):
        where.setdefault(tuple(int(t[tuple(at)]) for t in tables[0]), int(at[0]))
    pattern: list[set[int]] = [set() for _ in range(wanted.kind.shape[0])]
    for at in np.argwhere(wanted.kind == LIVE):
        source_slice = where.get(tuple(int(t[tuple(at)]) for t in tables[1]))
        pattern[at[0]] |= set() if source_slice is None else {source_slice}
    return {"pattern": [sorted(row) for row in pattern], "period": len(pattern)}


def _turned(case: Case) -> dict[str, Any]:
    """The engine's parameters as a plan would state them, read off the mappings."""
    bits, table = DTYPES[case["dtype"]].bits, HARDWARE.transpose
    single, dual = (int(getattr(table, f"bits{bits}_{n}", 8)) for n in ("valid_size", "dual_valid_size"))
    axes = case["axes"]
    live = all_cells(parse(case["packet"], axes)).kind == LIVE
    valid = dual if dual and live[single:].any() else single
    out = all_cells(parse(case["out_packet"], axes)).kind == LIVE
    rows = int(out.nonzero()[0].max()) + 1
    steps = size(case, case["time"])
    per_row = next((n for n in (1, 2, 3, 4) if _rows_at(case, rows, n)), 1)
    count = max(1, steps // (rows * per_row))
    out_rows = -(-size(case, case["out_time"]) // count)
    return {
        "valid_size": valid, "in_rows": rows, "packets_per_col": per_row, "in_cols": per_row * valid,
        "out_rows": case.get("out_rows", out_rows), "iterations": count,
    }  # fmt: skip


def _rows_at(case: Case, rows: int, per_row: int) -> bool:
    if size(case, case["time"]) % (rows * per_row):
        return False
    one = all_cells(parse(f"[{case['time']}] / {per_row} % {rows}", case["axes"]))
    other = all_cells(parse(f"[{case['out_packet']}] = {rows}", case["axes"]))
    return bool(one.same_as(other).all())


def _to_register(case: Case) -> Plan:
    time, packet, trf = case.get("time", "1"), case.get("packet", case["element"]), case["engine"] == "to_trf"
    element, first = source(case, time, packet, case["dtype"])
    if "walk" in case:
        first = first.model_copy(update={"settings": {**first.settings, **case["walk"]}})
    lane = str(case.get("lane", "1"))
    settings = {"write": "out", "element": case["element"], "via": case.get("via", "pipeline")}
    if trf:
        settings |= {"lane": lane, "lanes": size(case, lane)}
    made = stage(case["engine"], case["dtype"], ALL, time, packet, **settings)
    where = {"region": case.get("region", "full"), "row": 0, "rows": 1, "lane": lane} if trf else {"address": 0}
    out = entry("out", "trf" if trf else "vrf", case["dtype"], ALL, case["element"], 0, (0, 0), **where)
    middle = [stage("collect", case["dtype"], ALL, time, packet)]
    return plan_of(case, element, [first, *middle, made], [out])


def _commit(case: Case) -> Plan:
    time, packet, dtype = case.get("time", "1"), case["packet"], case["dtype"]
    kept = case.get("out_packet", packet)
    per_flit = 256 // bits_of(dtype)
    whole = f"[{packet}] # {max(per_flit, size(case, packet))}"
    given = whole if case["engine"] == "commit" else packet
    element, first = source(case, time, given, dtype)
    out = case.get("element", f"[{time}], [{kept}]")
    made = stage(
        "commit", case.get("out_dtype", dtype), case.get("out_slice", ALL), time, kept, write="out", base=None,
        trim_bytes=size(case, kept) * bits_of(dtype) // 8, cast=case.get("out_dtype"), relu=False, write_bytes=8,
        time_entries=walk(case, time, out), packet_entries=walk(case, kept, out),
    )  # fmt: skip
    held = entry("out", "dm", made.dtype, case.get("into_slice", ALL), out, 0, (0, 0), address=1 << 16)
    return plan_of(case, element, [first, made], [held])


def _weights(case: Case, lane: str, element: str, dtype: str) -> MemoryEntry:
    where = {"region": "full", "row": 0, "rows": 1, "lane": lane}
    return entry("w", "trf", dtype, case.get("weight_slice", ALL), element, 0, (0, 0), **where)


def _outer(case: Case) -> Plan:
    time, packet, held = case.get("time", "1"), case.get("packet", "1 # 32"), case.get("trf_element", "1")
    out_time, out_packet = case.get("out_time", time), case.get("out_packet", packet)
    element, first = source(case, time, packet, case["dtype"])
    walked = {"trf_time_entries": walk(case, out_time, held), "trf_packet_entries": walk(case, out_packet, held)}
    made = stage("contract_outer", case["dtype"], ALL, out_time, out_packet, pack_size=1, **{"with": "w"}, **walked)
    weights = _weights(case, case.get("lane", "1"), held, case.get("weight_dtype", case["dtype"]))
    return plan_of(case, element, [first, made], [weights])


def _packet(case: Case) -> Plan:
    element, first = source(case, "1", case["packet"], case["dtype"])
    outer = stage("contract_outer", case["dtype"], ALL, "1", case["packet"], **_WITH)
    made = stage("contract_packet", "f32", ALL, "1", case["out_packet"], **_depth(case))
    return plan_of(case, element, [first, outer, made], [_weights(case, "1", "1", case["dtype"])])


_WITH = {"with": "w", "pack_size": 1, "trf_time_entries": [], "trf_packet_entries": []}


def _depth(case: Case) -> dict[str, int]:
    return {"tree_depth": case["expect"]["tree_depth"]} if "tree_depth" in case["expect"] else {}


def _time(case: Case) -> Plan:
    element, first = source(case, case["time"], "1 # 32", "bf16")
    return plan_of(case, element, [first, stage("contract_time", "f32", ALL, case["out_time"], "1 # 32")])


def _lane(case: Case) -> Plan:
    before = case["pre_reduce_time"]
    element, first = source(case, before, case["packet"], "f32")
    stages = [
        first,
        stage("contract_outer", "bf16", ALL, before, case["packet"], **_WITH),
        stage("contract_packet", "f32", ALL, before, case["packet"], tree_depth=0),
        stage("contract_time", "f32", ALL, case["time"], case["packet"]),
        stage("contract_lane", "f32", ALL, case["out_time"], case["out_packet"], mode=case["mode"]),
    ]
    return plan_of(case, element, stages, [_weights(case, case["lane"], "1", "bf16")])


def _reduce(case: Case) -> Plan:
    op_of = {
        "name": case["engine"], "op": case["op"],
        "slice": case.get("out_slice"), "time": case["out_time"], "packet": case.get("out_packet"),
    }  # fmt: skip
    given = {"time": case["time"], "packet": case.get("packet", "1 # 8"), "slice": case["slice"]}
    ops = [op_of | ({"axis": case["reduce"]} if "reduce" in case else {})]
    return chain_plan(case | {"given": given, "ops": ops})


# Chains ---------------------------------------------------------------------------------------------------


def chain_plan(case: Case) -> Plan:
    """A chain of vector ops on a stream; each op says what it changes of the layout."""
    given, dtype = case["given"], case.get("dtype", "f32")
    element, first = source(case, given["time"], given["packet"], dtype, given.get("slice", ALL))
    element = case.get("element", element)
    stages = [first, *case.get("between", ())]
    stages += list(_chained(case["ops"], stages[-1]))
    return plan_of(case, element, stages, list(case.get("memory", ())), case.get("pad", "poison"))


_MAKES = {"fxp_to_fp": "f32", "fp_to_fxp": "i32"}


def _chained(ops: list[dict[str, Any]], before: Stage) -> Iterator[Stage]:
    for settings in ops:
        level = {k: settings[k] for k in ("slice", "time", "packet") if settings.get(k) is not None}
        dtype = _MAKES.get(settings["name"], before.dtype)
        known = {k: v for k, v in settings.items() if v is not None}
        before = before.model_copy(update={"step": "vector", "dtype": dtype, "settings": known, **level})
        yield before


# Transfers ------------------------------------------------------------------------------------------------


def transfer_plan(case: Case) -> Plan:
    """A load into a first buffer where the source is on the chip, then the transfer itself."""
    ends, dtypes = {}, {}
    memory, tensors, ops, programs = [], {}, [], {}
    for key, name in (("source", "a"), ("target", "b")):
        end = case[key]
        ends[name], dtypes[name] = end, end.get("dtype", "bf16")
        if end["memory"] == "hbm":
            role = "output" if name == "b" else "input"
            chip = {"chip": end["chip"]} if "chip" in end else {}
            tensors[name] = {"dtype": dtypes[name], "element": end["element"], "role": role, **chip}
            continue
        where = {"lane": "1", "row": 0, "rows": 1} if end["memory"] == "trf" else {"address": 4096 * len(memory)}
        held = entry(name, end["memory"], dtypes[name], end.get("slice", ALL), end["element"], 0, (0, 0), **where)
        memory.append(held.model_copy(update={"chip": end.get("chip", "1"), "cluster": end.get("cluster", "1 # 2")}))
    kernel_ops = []
    if "a" not in tensors:
        own = ends["a"]
        tensors["x"] = {"dtype": dtypes["a"], "element": f"[{own.get('slice', ALL)}], [{own['element']}]"}
        kernel_ops.append({"kind": "dma", "name": "load", "read": "x", "write": "a"})
        programs["load"] = (_moving(ends["a"], dtypes["a"], read="x", write="a", direction="load"),)
        ops.append(op("load", "dma", ("dma",), 1003, 1000, {"a": "a"}))
    tile = case.get("tile")
    written = {"tensor": "b", "length": tile[1], "start": "0", "tile": tile[0]} if tile else "b"
    kernel_ops.append({"kind": "dma", "name": "test", "read": "a", "write": written})
    way = {("hbm", "dm"): "load", ("dm", "hbm"): "store"}.get((ends["a"]["memory"], ends["b"]["memory"]), "copy")
    shown = ends["b"] if ends["b"]["memory"] != "hbm" else ends["a"]
    programs["test"] = (_moving(shown, dtypes["a"], read="a", write="b", direction=way),)
    ops.append(op("test", "dma", ("dma",), 3000, 1000, {e.tensor: e.tensor for e in memory}))
    kernel = Kernel.model_validate({"kernel": "case", "axes": case["axes"], "tensors": tensors, "ops": kernel_ops})
    return finished(kernel, ops, memory, programs)


def _moving(end: dict[str, Any], dtype: str, **settings: str) -> Stage:
    found = stage("dma", dtype, end.get("slice", ALL), "1", end["element"], **settings)
    return found.model_copy(update={"chip": end.get("chip", "1"), "cluster": end.get("cluster", "1 # 2")})


_BUILDERS = {
    "fetch": _fetch,
    "to_trf": _to_register,
    "to_vrf": _to_register,
    "commit": _commit,
    "commit_trim": _commit,
    "commit_cast": _commit,
    "contract_outer": _outer,
    "multiplier_operands": _outer,
    "contract_packet": _packet,
    "contract_time": _time,
    "contract_lane": _lane,
    "intra_slice_reduce": _reduce,
    "inter_slice_reduce": _reduce,
    "chain": chain_plan,
    "dma": transfer_plan,
}


def case_plan(case: Case) -> Plan:
    """The plan that puts a case before the simulator."""
    given = {k: str(v) if k in _TEXTS else v for k, v in case.items()} | {"axes": case.get("axes", {})}
    return _BUILDERS.get(case["engine"], _simple)(given)


_TEXTS = ("time", "packet", "out_time", "out_packet", "in_time", "in_slice", "out_slice", "slice", "element", "lane")
