"""The reference on named axes, the inputs, and what a comparison accepts."""

import numpy as np
import pytest

from models.kernel import Kernel
from simulator.comparison import ulp
from simulator.inputs import make_inputs, named_axes
from simulator.linear import digit_of, evaluate
from simulator.named import Named, contract, from_raw
from simulator.reference import reference_outputs
from simulator.values import decode, encode
from tests.simulator.plans import GEMM
from tests.simulator.small_plans import CUSTOM, SCALE


def axes_of(kernel):
    return {name: named_axes(t, kernel.axes) for name, t in kernel.tensors.items()}


def test_gemm_is_a_matrix_product_rounded_once():
    inputs = make_inputs(GEMM, None, 3, random=False)
    out = reference_outputs(GEMM, inputs, axes_of(GEMM), bounded=False)["c"]
    a, b = (decode(inputs[n], "bf16").astype(np.float64) for n in "ab")
    assert out.axes == ("I", "J")
    assert np.array_equal(out.values, decode(encode((a @ b.T).astype(np.float32), "bf16"), "bf16"))


def test_scale_multiplies_tile_by_tile():
    inputs = make_inputs(SCALE, None, 3, random=False)
    out = reference_outputs(SCALE, inputs, axes_of(SCALE), bounded=False)["y"]
    x, w = (decode(inputs[n], "bf16").astype(np.float64) for n in "xw")
    assert np.array_equal(out.values, decode(encode((x * w).astype(np.float32), "bf16"), "bf16"))


def test_an_output_has_its_own_order_of_axes():
    assert named_axes(CUSTOM.tensors["y"], CUSTOM.axes) == ("A", "B", "C")
    kernel = Kernel.model_validate(
        {
            "kernel": "k",
            "axes": {"A": 2, "B": 3},
            "tensors": {"t": {"dtype": "i8", "element": "B % 3 # 4, A"}},
            "ops": [],
        }
    )
    assert named_axes(kernel.tensors["t"], kernel.axes) == ("B", "A")


@pytest.mark.parametrize("kernel", [GEMM, SCALE, CUSTOM], ids=lambda k: k.kernel)
@pytest.mark.parametrize("random", [False, True])
def test_inputs_are_never_all_equal_and_repeat_by_seed(kernel, random):
    first, again = (make_inputs(kernel, None, 11, random=random) for _ in range(2))
    for name, raw in first.items():
        assert len(np.unique(raw)) > 1
        assert np.array_equal(raw, again[name])


def test_sums_get_small_integers_and_moves_get_different_values():
    a = decode(make_inputs(GEMM, None, 0, random=False)["a"], "bf16")
    assert set(np.unique(a).tolist()) == set(range(-4, 5))
    x = make_inputs(CUSTOM, None, 0, random=False)["x"]
    assert len(np.unique(x)) == 256
    assert np.bincount(x.ravel()).max() == x.size // 256


def test_contraction_sums_what_is_not_kept():
    rng = np.random.default_rng(0)
    left, right = Named(("I", "K"), rng.normal(size=(4, 5)), "bf16"), Named(("K", "J"), rng.normal(size=(5, 3)), "bf16")
    out = contract(left, right, frozenset({"I", "J"}), bounded=True)
    assert out.axes == ("I", "J")
    assert np.allclose(out.values, left.values @ right.values)
    assert np.allclose(out.error, 5 * 2.0**-24 * (abs(left.values) @ abs(right.values)))


def test_tiles_pick_the_digits_in_range():
    value = from_raw(np.arange(12, dtype=np.uint8), "i8", ("L",))
    assert value.tile("L % 6", 2, 2).values.tolist() == [2, 3, 8, 9]
    assert value.tile("L / 6", 1, 1).values.tolist() == list(range(6, 12))
    assert digit_of("[L # 16 / 4] % 2").value(np.arange(12)).tolist() == [0] * 4 + [1] * 4 + [0] * 4


@pytest.mark.parametrize(("text", "wanted"), [("4 * i", 12), ("i * 4 + 2 * j - 1", 21), ("7", 7), ("0", 0)])
def test_starts_are_linear(text, wanted):
    assert evaluate(text, {"i": 3, "j": 5}) == wanted


def test_an_unknown_variable_is_refused():
    with pytest.raises(ValueError, match="neither a number"):
        evaluate("4 * k", {"i": 3})


def test_one_ulp():
    assert ulp(np.array([1.0, 1.5, 2.0, 0.75]), "bf16").tolist() == [2.0**-7, 2.0**-7, 2.0**-6, 2.0**-8]
    assert ulp(np.array([3.0]), "f32").tolist() == [2.0**-22]


@pytest.mark.parametrize(
    ("ops", "wanted"),
    [
        ([{"name": "fp_binary", "op": "sub", "operand": 1.0, "mode": "10"}], lambda x: 1 - x),
        ([{"name": "fp_ternary", "op": "fma", "operands": (2.0, 3.0)}], lambda x: 2 * x + 3),
        (
            [
                {"name": "stash"},
                {"name": "fp_unary", "value": "exp"},
                {"name": "fp_binary", "op": "mul", "operand": "stash"},
            ],
            lambda x: np.exp(x) * x,
        ),
        ([{"name": "fp_div", "operand": 4.0}], lambda x: x / 4),
        ([{"name": "clip", "op": "max", "operand": 0.0}], lambda x: np.maximum(x, 0)),
        (
            [
                {"name": "fp_to_fxp", "value": 31},
                {"name": "fxp", "op": "AddFxp", "operand": 5},
                {"name": "fxp_to_fp", "value": 31},
            ],
            lambda x: x + 5,
        ),
    ],
)
def test_chains_of_the_vector_engine(ops, wanted):
    kernel = Kernel.model_validate(
        {
            "kernel": "chain",
            "axes": {"A": 64, "B": 8},
            "tensors": {
                "x": {"dtype": "f32", "element": "A, B"},
                "y": {"dtype": "f32", "element": "A, B", "role": "output"},
            },
            "ops": [
                {"kind": "dma", "name": "load", "read": "x", "write": "d", "slice": "A", "element": "B"},
                {
                    "kind": "pass",
                    "name": "work",
                    "read": "d",
                    "steps": [
                        {"step": "fetch", "time": "1", "packet": "B"},
                        {"step": "collect"},
                        {"step": "vector", "ops": ops},
                        {"step": "commit", "write": "e", "element": "B"},
                    ],
                },
                {"kind": "dma", "name": "store", "read": "e", "write": "y"},
            ],
        }
    )
    inputs = make_inputs(kernel, None, 0, random=False)
    out = reference_outputs(kernel, inputs, axes_of(kernel), bounded=False)["y"]
    numbers = decode(inputs["x"], "f32").astype(np.float64)
    assert np.allclose(out.values, wanted(numbers), rtol=1e-6)
