"""Operations that are alike are searched once, and get the options that each would have got for itself."""

from dataclasses import replace

import pytest
import yaml

from models.presets.load import load_hardware
from planner.readers.yaml_kernel import read_kernel, read_kernel_text
from planner.search import alike, together
from planner.search.alike import Alike, bare
from planner.search.laws import Laws, Place
from planner.search.options import Finder
from planner.search.programs import ProgramSearch
from planner.search.together import Together
from solver import Options

HARDWARE = load_hardware("rngd", {})
TENSORS = {
    "x": {"dtype": "bf16", "element": "R, C"},
    "exp": {"dtype": "bf16", "element": "R, C"},
    "w": {"dtype": "bf16", "element": "C"},
    "v": {"dtype": "bf16", "element": "C"},
    "z": {"dtype": "bf16", "element": "R, C", "role": "output"},
}


def finder_of(tmp_path, *statements):
    path = tmp_path / "program.yaml"
    axes = {"R": 64, "C": 128}
    path.write_text(yaml.safe_dump({"kernel": "k", "axes": axes, "tensors": TENSORS, "program": list(statements)}))
    source = read_kernel(path)
    hbm = {n: Place(t.element) for n, t in source.kernel.tensors.items()}
    return source.program, Finder(Laws(HARDWARE, axes), hbm, frozenset({"z"}), most=4)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a = rmsnorm(x, w, C)", "b = rmsnorm(exp, v, C)"),
        ("a = softmax(mul(x, 0.5), C)", "b = softmax(mul(exp, 0.5), C)"),
        ("a = einsum(x, w -> [R])", "b = einsum(exp, v -> [R])"),
        ("a = add(x, x)", "b = add(exp, exp)"),
    ],
)
def test_the_second_gets_what_it_would_find_itself(tmp_path, monkeypatch, first, second):
    nodes, finder = finder_of(tmp_path, first, second, "z = exp(x)")
    asked = []
    whole = Finder.options
    monkeypatch.setattr(alike.Finder, "options", lambda self, node: asked.append(node) or whole(self, node))
    found = Alike(finder)
    options = [found.options(node) for node in nodes[:2]]
    assert len(asked) == 1
    for node, of_node in zip(nodes, options, strict=False):
        assert of_node == whole(replace(finder), node)
        assert of_node


@pytest.mark.parametrize(
    "second",
    [
        "b = add(x, exp)",  # two tensors, not one twice
        "b = sub(x, x)",
        "b = add(x, mul(x, 0.5))",
        "z = add(x, x)",  # stored
        "b = add(b0, b0)",  # lies in no HBM
    ],
)
def test_what_differs_is_searched_for_itself(tmp_path, monkeypatch, second):
    statements = ["b0 = exp(x)", "a = add(x, x)", second]
    nodes, finder = finder_of(tmp_path, *statements, *([] if second.startswith("z") else ["z = exp(x)"]))
    asked = []
    whole = Finder.options
    monkeypatch.setattr(alike.Finder, "options", lambda self, node: asked.append(node) or whole(self, node))
    found = Alike(finder)
    for node in nodes[1:3]:
        assert found.options(node) == whole(replace(finder), node)
    assert len(asked) == 2


# Windows ----------------------------------------------------------------------------------------------------


def layers_of(count, other=0):
    tensors = {"h0": {"dtype": "bf16", "element": "R, C"}, f"h{count}": {**TENSORS["z"]}}
    functions = {i: "exp" if i % 2 else "tanh" for i in range(1, count + 1)} | ({other: "sqrt"} if other else {})
    statements = [f"h{i} = {function}(h{i - 1})" for i, function in functions.items()]
    axes = {"R": 64, "C": 128}
    text = yaml.safe_dump({"kernel": "k", "axes": axes, "tensors": tensors, "program": statements})
    source = read_kernel_text(text)
    return ProgramSearch(source.kernel, list(source.program), HARDWARE, Options(1))


def windows_of(monkeypatch, count):
    """The search of so many layers four operations at a time, and the windows that were chosen by the solver."""
    monkeypatch.setattr(together, "MOST_TOGETHER", 4)
    asked = []
    propose = Together._propose
    monkeypatch.setattr(
        Together, "_propose", lambda self, selection: asked.append(tuple(selection.options)) or propose(self, selection)
    )
    one = layers_of(count)  # each window has a second
    finder = Alike(Finder(one.laws, one.hbm, one.outputs, most=3))
    chosen = Together(one, {node.out.name: finder.options(node) for node in one.nodes}, 1).run()
    assert chosen is not None
    return chosen, asked


def test_windows_of_layers_that_repeat_are_chosen_once(monkeypatch):
    chosen, asked = windows_of(monkeypatch, 12)
    # Five windows begin two operations apart; the first reads HBM, the last stores, the others are alike in twos.
    assert asked[0] == ("h1", "h2", "h3", "h4")
    assert asked[-1] == ("h9", "h10", "h11", "h12")
    assert len(asked) < 5
    written = {op.steps[-1].write for op in chosen.judged.kernel.ops if op.kind == "pass"}
    assert {f"h{i}_dm" for i in range(1, 13)} <= written


@pytest.mark.parametrize(("other", "alike_at"), [(0, {2, 4, 6}), (8, {2}), (4, {4, 6})])
def test_a_layer_that_differs_is_not_alike(other, alike_at):
    one = layers_of(12, other)
    keys = {at: bare(one.nodes[at : at + 4], one.hbm, one.outputs).key for at in (2, 4, 6)}
    usual = bare(layers_of(12).nodes[2:6], one.hbm, one.outputs).key
    assert {at for at, key in keys.items() if key == usual} == alike_at
