"""Every op of the vector engine from a kernel's text to its output, on values at the borders of its types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.plan import Plan, Verification
from planner.engines.vector_table import BINARY_MODES, OPERATIONS, TERNARY_MODES
from simulator import prepare_bench, simulate
from simulator.inputs import make_inputs
from simulator.loading import fill_hbm
from simulator.machine import execute
from simulator.values import decode
from tests.simulator.planned import holds, planned, vector_stage, verdict

COUNT = 512
EDGES_I32 = np.array(
    [0, 1, -1, 2, -2, 7, -8, 2**31 - 1, -(2**31), 2**30, -(2**30) - 1, 12345678, -87654321], dtype=np.int32
)
EDGES_F32 = np.array(
    [0, -0.0, 1, -1, 0.5, -2.5, 3.4e38, -3.4e38, 1e-38, 1e-40, -1e-45, np.inf, -np.inf, np.nan, 6.25, -88.5, 100, 1e-3],
    dtype=np.float32,
)
FLOAT_ROWS = ("fp_unary", "fp_binary", "fp_ternary", "fp_div")


def edges(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "i32":
        wild = rng.integers(-(2**31), 2**31, COUNT)
        return np.where(rng.random(COUNT) < 0.5, rng.choice(EDGES_I32, COUNT), wild).astype(np.int32)
    with np.errstate(all="ignore"):
        wild = (rng.normal(size=COUNT) * 10.0 ** rng.integers(-4, 5, COUNT)).astype(np.float32)
    return np.where(rng.random(COUNT) < 0.5, rng.choice(EDGES_F32, COUNT), wild)


def kernel(dtype: str, *ops: str, out: str = "", narrow: bool = False, operand: bool = False) -> str:
    """X through a chain; `operand` loads w into the VRF as `v`, with the same axes."""
    if narrow:
        split = '{narrow_split: {time: "A % 8 / 4", packet: "A % 4"}}'
        ops = (split, *ops, '{widen_concat: {time: "1", packet: "A % 8"}}')
    chain = "\n".join(f"          - {op}" for op in ("{tag: zero}", *ops) if op)
    chain = chain.replace("          - {tag: zero}\n", "") if "tag" in "".join(ops) else chain
    second = """
  - {dma: load_w, read: w, write: w_dm, slice: "A / 8", element: "A % 8"}
  - pass: stage_w
    read: w_dm
    steps:
      - fetch: {time: "1", packet: "A % 8"}
      - collect
      - to_vrf: {write: v, element: "A % 8"}"""
    return f"""
kernel: chain
axes: {{A: {COUNT}}}
tensors:
  x: {{dtype: {dtype}, element: A}}{
        f'''
  w: {{dtype: {dtype}, element: A}}'''
        if operand
        else ""
    }
  y: {{dtype: {out or dtype}, element: A, role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "A / 8", element: "A % 8"}}{second if operand else ""}
  - pass: compute
    read: x_dm
    steps:
      - fetch: {{time: "1", packet: "A % 8"}}
      - collect
      - vector:
{chain}
      - commit: {{write: y_dm, element: "A % 8"}}
  - {{dma: store, read: y_dm, write: y}}
"""


def run(text: str, folder: Path, dtype: str, seed: int = 0, *, operand: np.ndarray | None = None) -> Verification:
    """Plans, and simulates on values at the borders; everything must be equal bit by bit."""
    plan = holds(text, folder) if operand is None else planned(text, folder)
    inputs = {"x": edges(dtype, seed)}
    if operand is not None:
        inputs["w"] = operand
    found = simulate(plan, inputs=inputs)
    assert found.ok, f"{text}\n{found.values}\n" + "\n".join(map(str, found.violations))
    return found


CASES = [(row, dtype, name) for (row, dtype), names in OPERATIONS.items() for name in names if row != "fp"]


@pytest.mark.parametrize(("row", "dtype", "name"), CASES, ids=lambda x: str(x))
def test_every_operation_of_the_table(row, dtype, name, tmp_path):
    """With a VRF operand that differs everywhere, so that a wrong element would show."""
    rng = np.random.default_rng(len(row) + len(name))
    narrow = row in FLOAT_ROWS
    operand = rng.integers(0, 32, COUNT).astype(np.int32) if "Shift" in name else edges(dtype, 7)
    if row == "fp_unary":
        run(kernel(dtype, f"{{fp_unary: {name}}}", narrow=narrow), tmp_path, dtype)
    elif row == "fp_ternary":
        op = f"{{fp_ternary: {{op: {name}, operands: [v, 3.5]}}}}"
        run(kernel(dtype, op, narrow=narrow, operand=True), tmp_path, dtype, operand=operand)
    else:
        given = "" if row == "fp_div" else f"op: {name}, "
        op = f"{{{row}: {{{given}operand: v}}}}"
        run(kernel(dtype, op, narrow=narrow, operand=True), tmp_path, dtype, operand=operand)


@pytest.mark.parametrize("mode", BINARY_MODES)
@pytest.mark.parametrize(
    ("dtype", "op", "narrow"),
    [
        ("i32", "{fxp: {op: SubFxp, operand: 7, mode: M}}", False),
        ("f32", "{fp_binary: {op: SubF, operand: 7.5, mode: M}}", True),
        ("f32", "{fp_div: {operand: 3.0, mode: M}}", True),
        ("f32", "{clip: {op: AbsMax, operand: -2.0, mode: M}}", False),
    ],
    ids=["fxp", "float", "div", "clip"],
)
def test_binary_modes(mode, dtype, op, narrow, tmp_path):
    run(kernel(dtype, op.replace("M}}", f'"{mode}"}}}}'), narrow=narrow), tmp_path, dtype)


@pytest.mark.parametrize("mode", TERNARY_MODES)
def test_ternary_modes(mode, tmp_path):
    op = f'{{fp_ternary: {{op: FmaF, operands: [1.25, v], mode: "{mode}"}}}}'
    run(kernel("f32", op, narrow=True, operand=True), tmp_path, "f32", operand=edges("f32", 3))


@pytest.mark.parametrize("width", [0, 5, 31])
def test_fixed_point_to_float_and_back(width, tmp_path):
    run(kernel("i32", f"{{fxp_to_fp: {width}}}", out="f32"), tmp_path, "i32")
    run(kernel("f32", f"{{fp_to_fxp: {width}}}", out="i32"), tmp_path, "f32")


@pytest.mark.parametrize(
    "at",
    [
        "stash|{fxp_to_fp: 31}|{fp_to_fxp: 31}|{clip: {op: Max, operand: stash}}",
        '{logic: {op: BitXor, operand: 85}}|stash|{fxp: {op: SubFxp, operand: stash, mode: "10"}}',
        "{fxp: {op: AddFxp, operand: 3}}|stash|{fxp: {op: MulInt, operand: stash}}",
    ],
)
def test_the_stash_on_integers(at, tmp_path):
    run(kernel("i32", *at.split("|")), tmp_path, "i32")


def test_a_stash_from_before_a_split_is_read_behind_a_concat(tmp_path):
    ops = ("stash", '{narrow_split: {time: "A % 8 / 4", packet: "A % 4"}}', "{fp_unary: tanh}")
    back = '{widen_concat: {time: "1", packet: "A % 8"}}'
    run(kernel("f32", *ops, back, "{clip: {op: Add, operand: stash}}"), tmp_path, "f32")


# Tags and guards --------------------------------------------------------------------------------------------

COMPARISONS = "{tag: [{Less: 0}, {Equal: 7}, {GreaterUnsigned: 1000000}, {LessUnsigned: 2147483648}]}"
GUARDS = ", ".join(
    f"{{when: [{bits}], imm: {value}}}"
    for bits, value in [
        ("one, ignore, ignore, ignore", 100),
        ("zero, one, ignore, ignore", 200),
        ("ignore, zero, one, zero", 300),
    ]
)


@pytest.mark.parametrize(("dtype", "op"), [("i32", "fxp: {op: SubFxp"), ("f32", "clip: {op: Add")])
def test_guarded_operands_by_the_first_tag_that_matches(dtype, op, tmp_path):
    run(kernel(dtype, COMPARISONS, f"{{{op}, operand: [{GUARDS}]}}}}"), tmp_path, dtype)


def test_a_guarded_register_read_comes_last(tmp_path):
    tag = '{tag: [{Greater: 5}, "False", "True", {Less: -100}]}'
    guards = "{when: [ignore, one, ignore, ignore], imm: 1}, {when: [one, zero, one, zero], rf: v}"
    op = f"{{fxp: {{op: AddFxp, operand: [{guards}]}}}}"
    run(kernel("i32", tag, op, operand=True), tmp_path, "i32", operand=edges("i32", 9))


def test_tags_by_hand(tmp_path):
    """The first guard that matches adds its constant, by plain Python."""
    text = kernel("i32", COMPARISONS, f"{{fxp: {{op: AddFxp, operand: [{GUARDS}]}}}}")
    plan = planned(text, tmp_path)
    x = edges("i32", 1)
    wanted = []
    for v in x.tolist():
        bits = [v < 0, v == 7, v % 2**32 > 1000000, v % 2**32 < 2**31]
        more = 100 if bits[0] else 200 if bits[1] else 300 if bits[2] and not bits[1] and not bits[3] else 0
        wanted.append((v + more + 2**31) % 2**32 - 2**31)
    assert outputs(plan, x).tolist() == wanted


def outputs(plan: Plan, x: np.ndarray) -> np.ndarray:
    """The output's words as they stand in HBM behind a run."""
    bench = prepare_bench(plan)
    fill_hbm(bench, make_inputs(plan.kernel, {"x": x}, 0, random=False))
    execute(bench)
    held = bench.memories.hbm["y"]
    return decode(held.raw[0], held.dtype)


# Pairs ------------------------------------------------------------------------------------------------------


def pairs(dtype: str, ops: list[str], narrow: bool = False) -> str:
    """X and w interleaved along I, unzipped, joined by a zip op."""
    if narrow:
        split, join = (
            '{narrow_split: {time: "A % 8 / 4", packet: "A % 4"}}',
            '{widen_concat: {time: "1", packet: "A % 8"}}',
        )
        ops = [split, *ops, join]
    chain = "\n".join(f"          - {op}" for op in ["{unzip: I}", *ops])
    return f"""
kernel: pairs
axes: {{A: {COUNT}, I: 2}}
tensors:
  x: {{dtype: {dtype}, element: A}}
  w: {{dtype: {dtype}, element: A}}
  y: {{dtype: {dtype}, element: A, role: output}}
ops:
  - {{dma: load_x, read: x, write: x_dm, slice: "A / 8", element: "A % 8"}}
  - {{dma: load_w, read: w, write: w_dm, slice: "A / 8", element: "A % 8"}}
  - pass: compute
    read: [x_dm, w_dm]
    interleave: I
    steps:
      - fetch: {{time: "I", packet: "A % 8"}}
      - collect
      - vector:
{chain}
      - commit: {{write: y_dm, element: "A % 8"}}
  - {{dma: store, read: y_dm, write: y}}
"""


PAIRS = [
    ("i32", ["{fxp_zip: SubFxp}"], False),
    ("i32", ["{fxp: {op: MulInt, operands: [3, null]}}", '{fxp_zip: {op: SubFxpSat, mode: "10"}}'], False),
    ("i32", ["{logic: {op: BitXor, operand: 85}}", "{logic_zip: BitAnd}"], False),
    ("f32", ["{clip_zip: Add}"], False),
    ("f32", ["{clip: {op: Min, operands: [null, 2.0]}}", "{clip_zip: AbsMax}"], False),
    ("f32", ["{fp_binary: {op: mul, operands: [2.0, -3.0]}}", "{fp_unary: Tanh}", "{fp_zip: SubF}"], True),
    ("f32", ["{fp_ternary: {op: fma, operands: [2.0, 1.0, null, null]}}", '{fp_zip: {op: MulF, mode: "11"}}'], True),
    ("f32", ["{fp_zip: AddF}", "{fp_unary: Exp}"], True),
]


@pytest.mark.parametrize(("dtype", "ops", "narrow"), PAIRS)
def test_pairs_fed_by_an_interleaved_read(dtype, ops, narrow, tmp_path):
    run(pairs(dtype, ops, narrow), tmp_path, dtype, operand=edges(dtype, 5))


def test_a_wrong_stride_of_groups_is_noticed(tmp_path):
    plan = holds(pairs("f32", ["{clip_zip: Add}"]), tmp_path)
    assert vector_stage(plan, "unzip")["group_stride"] == 1
    programs = {
        name: tuple(
            s.model_copy(update={"settings": s.settings | {"group_stride": 2}})
            if s.settings.get("name") == "unzip"
            else s
            for s in p
        )
        for name, p in plan.programs.items()
    }
    assert not simulate(plan.model_copy(update={"programs": programs})).ok


# Among slices -----------------------------------------------------------------------------------------------


def ring(op: str, dtype: str, before: str, after: str, out: str, chain: str = "{}") -> str:
    """W x R slices, R of them folded; V beside the packet in Time."""
    return f"""
kernel: ring
axes: {{W: 16, R: 4, V: 4, U: 3, P: 8, X: 4}}
tensors:
  x: {{dtype: {dtype}, element: "W, R, U, V, P"}}
  y: {{dtype: {dtype}, element: "{out}", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "W, R", element: "U, V, P"}}
  - pass: fold
    read: x_dm
    steps:
      - fetch: {{time: "{before}", packet: "P"}}
      - collect
      - vector:
{chain.format(reduce="inter_slice_reduce: {op: " + op + ", " + after + "}")}
      - commit: {{write: y_dm, element: "{out.removeprefix("W, ").removeprefix("V, ").removeprefix("X, ")}"}}
  - {{dma: store, read: y_dm, write: y}}
"""


ALONE = "          - {{{reduce}}}"
BEFORE = "          - {{{reduce}}}\n          - {{tag: zero}}\n          - {{clip: {{op: Max, operand: 1}}}}"
BEHIND = "          - {{tag: zero}}\n          - {{clip: {{op: Max, operand: 1}}}}\n          - {{{reduce}}}"
RINGS = [
    ("U, V", 'slice: "W, 1 # 4", time: "U, V"', "W, U, V, P"),
    ("U, V", 'slice: "W, V", time: "U"', "W, V, U, P"),
    ("U, V", 'slice: "W, X", time: "U, V"', "W, X, U, V, P"),
]


@pytest.mark.parametrize("chain", [ALONE, BEFORE, BEHIND], ids=["alone", "before", "behind"])
@pytest.mark.parametrize(("before", "after", "out"), RINGS, ids=["padding", "promoted", "broadcast"])
@pytest.mark.parametrize(("dtype", "op"), [("i32", "Add"), ("i32", "AddSat"), ("f32", "Max"), ("f32", "Mul")])
def test_slices_fold_on_the_ring(chain, before, after, out, dtype, op, tmp_path):
    plan = holds(ring(op, dtype, before, after, out, chain), tmp_path)
    assert vector_stage(plan, "inter_slice_reduce")["ratio"] == 4
    assert simulate(plan, random=True).ok
    assert verdict(plan).ok
