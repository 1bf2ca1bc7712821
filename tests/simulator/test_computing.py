"""Engines that compute, against small loops; the ALUs against the reference's own table."""

import numpy as np
import pytest

from simulator.engines import arithmetic
from simulator.engines.contraction import (
    Products,
    Sums,
    contract_lane,
    contract_outer,
    contract_packet,
    contract_time,
    time_groups,
)
from simulator.engines.register_files import to_trf
from simulator.engines.vector import Chain, vector
from simulator.reference_tables import FLOAT, INTEGER
from simulator.streams import Flow
from simulator.values import decode, encode
from tests.simulator.bench import SPATIAL, make_run, make_stage
from tests.simulator.plans import entry

AXES = {"S": 64, "M": 6, "N": 8, "K": 64}


def flow_of(run, numbers, dtype, time, packet):
    return Flow(dtype, encode(numbers, dtype), None, run.layouts.identity((*SPATIAL, "S"), (time, packet)))


@pytest.mark.parametrize(("dtype", "out"), [("bf16", np.float32), ("i8", np.int32)])
@pytest.mark.parametrize("mode", ["interleaved", "sequential"])
def test_a_whole_contraction(dtype, out, mode):
    """M x N x K per slice with N over lanes, against a matrix product."""
    flit = 16 if dtype == "bf16" else 32
    held = entry("w", "trf", dtype, "S", "K", 512, (0, 9), row=0, rows=2, region="full", lane="N").model_copy(
        update={"cluster": "1"}
    )
    run = make_run(AXES, (held,))
    run.bench.__dict__["carried"] = {"w": frozenset({"S", "N", "K"})}
    rng = np.random.default_rng(4)
    a, b = rng.integers(-4, 5, (64, 6, 64)), rng.integers(-4, 5, (64, 8, 64))
    time = f"N, K / {flit}"
    weights = flow_of(run, b.reshape(64, -1, flit), dtype, time, f"K % {flit}")
    to_trf(run, make_stage("to_trf", dtype, "S", time, f"K % {flit}", write="w", lanes=8), weights)
    for effect in run.effects:
        effect()
    stream = flow_of(run, a.reshape(64, -1, flit), dtype, f"M, K / {flit}", f"K % {flit}")
    wide = 2 * flit
    outer = make_stage(
        "contract_outer",
        dtype,
        "S",
        f"M, K / {wide}",
        f"K % {wide}",
        pack_size=2,
        trf_packet_entries=[[wide, 1]],
        trf_time_entries=[[6, 0], [64 // wide, wide]],
        **{"with": "w"},
    )
    products = contract_outer(run, outer, stream)
    packet = make_stage("contract_packet", "f32", "S", f"M, K / {wide}", "1", tree_depth=wide.bit_length() - 1)
    sums = contract_packet(run, packet, products)
    sums = contract_time(run, make_stage("contract_time", "f32", "S", "M", "1"), sums, packet)
    kind = "f32" if dtype == "bf16" else "i32"
    folded = contract_lane(run, make_stage("contract_lane", kind, "S", "M", "N", mode=mode), sums)
    wanted = np.einsum("smk,snk->smn", a, b)
    found = decode(folded.raw, kind).astype(out)
    if mode == "interleaved":
        assert np.array_equal(found, wanted)
    else:
        assert np.array_equal(found[..., 0].reshape(64, 6, 8), wanted)
        assert folded.poison[..., 1:].all()
        assert not folded.poison[..., 0].any()
    assert run.bench.report.violations == []


def test_the_tree_keeps_columns_and_poison():
    run = make_run(AXES)
    rng = np.random.default_rng(2)
    stream, weights = (
        rng.integers(-4, 5, (64, 3, 16)).astype(np.float32),
        rng.integers(-4, 5, (64, 2, 3, 16)).astype(np.float32),
    )
    mask = rng.random((64, 3, 16)) < 0.05
    identity = run.layouts.identity((*SPATIAL, "S"), ("2", "3", "16"))
    out = contract_packet(
        run,
        make_stage("contract_packet", "f32", "S", "3", "4", tree_depth=2),
        Products(encode(stream, "bf16"), "bf16", 1, mask, weights, None, identity, 3),
    )
    for unit in range(0, 64, 9):
        for lane in range(2):
            for time in range(3):
                for column in range(4):
                    part = slice(4 * column, 4 * column + 4)
                    assert (
                        out.values[unit, lane, time, column]
                        == (stream[unit, time, part] * weights[unit, lane, time, part]).sum()
                    )
                    assert out.poison[unit, lane, time, column] == mask[unit, time, part].any()


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("M, N", "M", [i // 8 for i in range(48)]),
        ("M, N", "N", [i % 8 for i in range(48)]),
        ("N / 4, M, N % 4", "N", [4 * (i // 24) + i % 4 for i in range(48)]),
        ("M # 8", "M # 8", list(range(8))),
        ("[M, N] # 64", "M", [i // 8 for i in range(48)] + [-1] * 16),
    ],
)
def test_time_steps_fall_where_their_cells_say(before, after, wanted):
    assert time_groups(make_run(AXES), before, after)[0].tolist() == wanted


@pytest.mark.parametrize("after", ["M", "N", "M, N / 4"])
def test_sums_over_time(after):
    run = make_run(AXES)
    values = np.random.default_rng(1).integers(-9, 10, (64, 2, 48, 3)).astype(np.float32)
    identity = run.layouts.identity((*SPATIAL, "S"), ("2", "M, N", "3"))
    before, stage = (
        make_stage("contract_packet", "f32", "S", "M, N", "3"),
        make_stage("contract_time", "f32", "S", after, "3"),
    )
    out = contract_time(run, stage, Sums(values, None, identity, 48), before)
    whole = values.reshape(64, 2, 6, 2, 4, 3)
    wanted = {
        "M": whole.sum(axis=(3, 4)),
        "N": whole.sum(axis=2).reshape(64, 2, 8, 3),
        "M, N / 4": whole.sum(axis=4).reshape(64, 2, 12, 3),
    }
    assert np.array_equal(out.values, wanted[after])


def vector_stage(name, time="M", packet="N", **settings):
    return make_stage("vector", "f32", "S", time, packet, name=name, **settings)


def test_split_and_concat_are_inverse():
    run = make_run(AXES)
    numbers = np.arange(64 * 6 * 8, dtype=np.float32).reshape(64, 6, 8)
    flow = flow_of(run, numbers, "f32", "M", "N")
    halves = vector(run, vector_stage("narrow_split"), flow, Chain())
    assert np.array_equal(decode(halves.raw, "f32"), numbers.reshape(64, 12, 4))
    assert halves.steps == 12
    back = vector(run, vector_stage("widen_concat"), halves, Chain())
    assert np.array_equal(decode(back.raw, "f32"), numbers)


@pytest.mark.parametrize(("mode", "wanted"), [("00", 0.0), ("01", -1.5), ("10", 1.5), ("11", 0.0)])
def test_argument_modes(mode, wanted):
    run = make_run(AXES)
    flow = flow_of(run, np.full((64, 6, 8), 2.0, np.float32), "f32", "M", "N")
    out = vector(run, vector_stage("fp_binary", op="SubF", operand=3.5, mode=mode), flow, Chain())
    assert decode(out.raw, "f32").flat[0] == wanted


def test_the_stash_is_what_was_put_there():
    run, chain = make_run(AXES), Chain()
    flow = flow_of(run, np.full((64, 6, 8), 3.0, np.float32), "f32", "M", "N")
    flow = vector(run, vector_stage("stash"), flow, chain)
    flow = vector(run, vector_stage("fp_binary", op="AddF", operand=1.0), flow, chain)
    flow = vector(run, vector_stage("fp_binary", op="MulF", operand="stash"), flow, chain)
    assert decode(flow.raw, "f32").flat[0] == 12.0


def test_an_unknown_op_is_refused():
    run = make_run(AXES)
    flow = flow_of(run, np.zeros((64, 6, 8), np.float32), "f32", "M", "N")
    with pytest.raises(LookupError, match="no behaviour"):
        vector(run, vector_stage("teleport"), flow, Chain())


@pytest.mark.parametrize("name", arithmetic.INTEGER)
def test_integer_alus_agree_with_the_reference(name):
    rng = np.random.default_rng(3)
    a = np.concatenate([rng.integers(-(2**31), 2**31, 500), [-(2**31), 2**31 - 1, 0, -1]])
    b = (
        rng.integers(0, 31, 504)
        if "shift" in name
        else np.concatenate([rng.integers(-(2**31), 2**31, 500), [5, -5, 2**31 - 1, 0]])
    )
    keep = (a != -(2**31)) & (b != -(2**31)) if name.startswith("abs") else np.ones(504, bool)
    a, b = a[keep], b[keep]
    found = arithmetic.INTEGER[name](a.astype(np.int32), b.astype(np.int32))
    wanted = (
        np.array(
            [
                int(INTEGER[name](np.array([int(x)], object), np.array([int(y)], object))[0])
                for x, y in zip(a, b, strict=True)
            ]
        )
        if name == "mulfxp"
        else INTEGER[name](a, b)
    )
    assert np.array_equal(found.astype(np.int64), wanted.astype(np.int64))


@pytest.mark.parametrize("name", sorted(arithmetic.FLOAT.keys() & FLOAT.keys()))
def test_float_alus_agree_with_the_reference(name):
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=500).astype(np.float32) for _ in range(2))
    wanted = FLOAT[name](a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    assert np.array_equal(arithmetic.FLOAT[name](a, b), wanted)


@pytest.mark.parametrize("name", arithmetic.UNARY)
def test_unary_functions(name):
    values = np.abs(np.random.default_rng(3).normal(size=200)).astype(np.float32) + np.float32(0.01)
    wanted = FLOAT[name](values.astype(np.float64)).astype(np.float32)
    assert np.array_equal(arithmetic.UNARY[name](values), wanted)


def test_q31_is_nearest():
    one = np.array([2**30, 2**31 - 1, -(2**31)], np.int32)
    assert arithmetic.INTEGER["mulfxp"](one, one).tolist() == [2**29, 2**31 - 2, 2**31 - 1]


def test_fixed_point_has_31_minus_w_fraction_bits():
    assert arithmetic.fixed_to_float(np.array([2**30], np.int32), 1).tolist() == [1.0]
    assert arithmetic.float_to_fixed(np.array([1.0, -0.5], np.float32), 31).tolist() == [1, -1]
