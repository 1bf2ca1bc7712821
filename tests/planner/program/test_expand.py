"""Expansions against numpy: what the passes of a statement compute, step by step, is what the statement says."""

import numpy as np
import pytest

from planner.program.expand import ProgramError, Scope, expand
from planner.program.grammar import parse_statement
from planner.program.operations import Einsum, Value

SIZES = {"R": 3, "C": 5}
UNARY = {"Exp": np.exp, "Sqrt": np.sqrt, "Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v)), "Log": np.log}
BINARY = {
    "AddF": np.add,
    "SubF": np.subtract,
    "MulF": np.multiply,
    "DivF": np.divide,
    "Add": np.add,
    "Max": np.maximum,
    "Min": np.minimum,
}
FOLDS = {"Add": np.add.reduce, "Max": np.maximum.reduce, "Min": np.minimum.reduce}


def scope():
    values = {n: Value(n, "bf16", a) for n, a in {"x": ("R", "C"), "z": ("R", "C"), "w": ("C",), "v": ("R",)}.items()}
    return Scope(dict(SIZES), values, {})


def expanded(text):
    return expand(parse_statement(text), scope())


def arrays():
    rng = np.random.default_rng(7)
    return {
        "x": rng.uniform(0.5, 2, (3, 5)),
        "z": rng.uniform(0.5, 2, (3, 5)),
        "w": rng.uniform(1, 2, 5),
        "v": rng.uniform(1, 2, 3),
    }


def aligned(value, own, axes):
    return value.reshape([SIZES[a] if a in own else 1 for a in axes])


def run(node):
    known = arrays()
    shapes = {n: node.values[n].axes for n in known}
    for one in node.passes:
        axes, value = one.source.axes, known[one.source.name]
        for part in ("before", "behind"):
            for step in getattr(one, part):
                if step.unary:
                    value = UNARY[step.op](value)
                    continue
                other = value if step.operand is None else step.operand
                if isinstance(other, str):
                    other = aligned(known[other], shapes[other], axes)
                value = BINARY[step.op](other, value) if step.mode == "10" else BINARY[step.op](value, other)
            if part == "before" and one.reduced is not None:
                value = FOLDS[one.reduction](value, axis=axes.index(one.reduced))
                axes = tuple(a for a in axes if a != one.reduced)
        assert axes == one.out.axes
        known[one.out.name], shapes[one.out.name] = value, axes
    return known[node.out.name]


A = arrays()
X, Z, W, V = A["x"], A["z"], A["w"], A["v"]
SHARES = np.exp(X - X.max(1, keepdims=True))


@pytest.mark.parametrize(
    ("text", "wanted", "passes"),
    [
        ("y = softmax(x, C)", SHARES / SHARES.sum(1, keepdims=True), 3),
        ("y = rmsnorm(x, w, C, 0.25)", X / np.sqrt((X * X).mean(1, keepdims=True) + 0.25) * W, 3),
        ("y = exp(sub(x, z))", np.exp(X - Z), 1),
        ("y = sub(1.0, x)", 1 - X, 1),
        ("y = div(2.0, add(x, w))", 2 / (X + W), 1),
        ("y = sum(mul(x, x) -> [R])", (X * X).sum(1), 1),
        ("y = max(x -> [C])", X.max(0), 1),
        ("y = mul(mul(sigmoid(x), x), z)", 1 / (1 + np.exp(-X)) * X * Z, 1),
        ("y = sqrt(sum(x -> [R]))", np.sqrt(X.sum(1)), 2),
        ("y = tanh(sqrt(x))", np.tanh(np.sqrt(X)), 2),
        ("y = sub(v, x)", V[:, None] - X, 1),
        ("y = add(sub(x, z), w)", X - Z + W, 2),
        ("y = mul(exp(x), tanh(z))", np.exp(X) * np.tanh(Z), 2),
        ("y = maximum(div(x, z), 0.75)", np.maximum(X / Z, 0.75), 1),
        ("y = softmax(mul(x, 0.5), C)", np.exp(X / 2) / np.exp(X / 2).sum(1, keepdims=True), 4),
    ],
)
def test_the_passes_compute_what_the_statement_says(text, wanted, passes):
    node = expanded(text)
    assert len(node.passes) == passes
    np.testing.assert_allclose(run(node), wanted, rtol=1e-12)


def test_an_einsum_knows_its_axes_and_type():
    node = expanded("y = einsum(x[R, C], w -> [R])")
    assert isinstance(node, Einsum)
    assert node.out == Value("y", "bf16", ("R",))


@pytest.mark.parametrize(
    ("text", "rule", "column"),
    [
        ("y = softmux(x, C)", "program_function", 5),
        ("y = exp(q)", "program_name", 9),
        ("x = exp(x)", "program_name", 1),
        ("y = exp(x, z)", "program_argument", 5),
        ("y = exp(2.0)", "program_argument", 9),
        ("y = cast(x, bf17)", "program_argument", 5),
        ("y = einsum(x, w)", "program_argument", 5),
        ("y = exp(x[C, R])", "program_axes", 9),
        ("y = sum(x -> [])", "program_axes", 5),
        ("y = einsum(x, w -> [C])", "program_axes", 5),
        ("y = softmax(x, Q)", "program_axes", 5),
        ("y = add(w, exp(x))", "program_axes", None),
    ],
)
def test_a_fault_names_its_rule_and_place(text, rule, column):
    if column is None:
        assert run(expanded(text)).shape == (3, 5)
        return
    with pytest.raises(ProgramError) as error:
        expanded(text)
    assert (error.value.rule, error.value.column) == (rule, column)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y = transpose(x -> [C, R])", [("transpose", "bf16", ("C", "R"))]),
        ("y = lookup(x, f32)", [("lookup", "f32", ("R", "C"))]),
        ("y = exp(transpose(x -> [C, R]))", [("transpose", "bf16", ("C", "R")), ("", "bf16", ("C", "R"))]),
    ],
)
def test_transposes_and_table_look_ups_are_passes_of_their_own(text, wanted):
    assert [(p.moves, p.out.dtype, p.out.axes) for p in expanded(text).passes] == wanted


@pytest.mark.parametrize(
    ("text", "rule"),
    [("y = transpose(x -> [C])", "program_axes"), ("y = lookup(x, 3.0)", "program_argument")],
)
def test_moves_take_what_they_need(text, rule):
    with pytest.raises(ProgramError) as error:
        expanded(text)
    assert error.value.rule == rule
