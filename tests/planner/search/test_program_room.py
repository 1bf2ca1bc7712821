"""What a program needs of the memories at a time, and the fewest tiles: against enumeration."""

import random
from itertools import product
from math import prod

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from models.presets.load import load_hardware
from planner.readers.yaml_kernel import read_kernel
from planner.search.program_room import Kept, fewest_tiles, has_room, kept_through, may_have_room, shares
from planner.search.room import is_held, rooms

HARDWARE = load_hardware("rngd", {})
SIZES = st.dictionaries(st.sampled_from("ABC"), st.integers(1, 40), min_size=1)


def program(tmp_path, axes, tensors, statements):
    path = tmp_path / "program.yaml"
    path.write_text(yaml.safe_dump({"kernel": "k", "axes": axes, "tensors": tensors, "program": statements}))
    return read_kernel(path)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data())
def test_no_other_tiles_that_fit_are_fewer(sizes, data):
    """Every choice of shares is asked for what fits, which need not be all that is smaller."""
    every = list(product(*(shares(n) for n in sizes.values())))
    fitting = set(data.draw(st.lists(st.sampled_from(every), max_size=6)))
    found = fewest_tiles(list(sizes), sizes, lambda s: tuple(s.values()) in fitting)
    counts = [prod(-(-n // c) for n, c in zip(sizes.values(), cut, strict=True)) for cut in fitting]
    if not fitting:
        assert found is None
        return
    assert found is not None
    cut = {**sizes, **found}
    assert tuple(cut.values()) in fitting
    assert prod(-(-n // cut[a]) for a, n in sizes.items()) == min(counts)


def test_shares_are_the_divisors_and_halves_rounded_up():
    assert shares(12) == (12, 6, 4, 3, 2, 1)
    assert shares(7) == (7, 4, 2, 1)
    assert shares(1) == (1,)


def test_what_is_read_later_is_kept_through(tmp_path):
    tensors = {"x": {"dtype": "bf16", "element": "R, C"}, "v": {"dtype": "bf16", "element": "R", "role": "output"}}
    statements = [
        "p = exp(x)",
        "q = sqrt(p)",
        "r = max(q -> [R])",
        "s = add(p, r)",
        "u = add(s, q)",
        "v = einsum(u, p -> [R])",
    ]
    source = program(tmp_path, {"R": 64, "C": 16}, tensors, statements)
    found = kept_through(source.program)
    # q is made before s and read by u, as an operand beside its stream; p is read last of all, by a contraction
    assert {n: {v.name for v in kept.values} for n, kept in found.items()} == {
        "p": set(),
        "q": set(),
        "r": {"p"},
        "s": {"q"},
        "u": {"p"},
        "v": set(),
    }
    assert {n: kept.files for n, kept in found.items() if kept.values} == {"r": {"trf"}, "s": {"vrf"}, "u": {"trf"}}


STATEMENTS = {
    "y = exp(x[R, C])": {"x": "R, C", "y": "R, C"},
    "y = softmax(x[R, C], C)": {"x": "R, C", "y": "R, C"},
    "y = einsum(a[R, C], b[R, D] -> [C, D])": {"a": "R, C", "b": "R, D", "y": "C, D"},
    "y = einsum(a[R, C], b[D, C] -> [R, D])": {"a": "R, C", "b": "D, C", "y": "R, D"},
    "y = einsum(a[R, C, D], b[R, D] -> [R, C])": {"a": "R, C, D", "b": "R, D", "y": "R, C"},
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_cheap_answer_refuses_nothing_that_has_a_layout(tmp_path, statement):
    """Over sizes of all kinds and little memory; and it does refuse."""
    tensors = {n: {"dtype": "bf16", "element": e} for n, e in STATEMENTS[statement].items()}
    tensors["y"]["role"] = "output"
    (node,) = program(tmp_path, {"R": 2, "C": 2, "D": 2}, tensors, [statement]).program
    rng, refused = random.Random(statement), 0
    for _ in range(10):
        sizes = {a: rng.choice((1, 3, 16, 40, 96, 512)) for a in "RCD"}
        dm, trf = rng.choice((16, 64, 512, 4096)), rng.choice((4, 64))
        little = load_hardware("rngd", {"dm.bytes_per_slice": dm, "trf.rows_per_bank": trf})
        beside = rng.choice((0, 32, 1024))
        every = any(map(is_held, rooms(node, sizes, little, beside)))
        assert may_have_room(node, sizes, little, beside) or not every, (sizes, dm, trf, beside)
        refused += not may_have_room(node, sizes, little, beside)
        if not beside:
            assert has_room(node, Kept(), sizes, little) == every
    assert refused
