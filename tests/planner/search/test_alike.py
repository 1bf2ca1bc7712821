"""Operations that are alike are searched once, and get the options that each would have got for itself."""

from dataclasses import replace

import pytest
import yaml

from models.presets.load import load_hardware
from planner.readers.yaml_kernel import read_kernel
from planner.search import alike
from planner.search.alike import Alike
from planner.search.laws import Laws, Place
from planner.search.options import Finder

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
