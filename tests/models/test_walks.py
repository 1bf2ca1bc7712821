"""The sequencer's question, against enumeration: each step of the walk meets the cell that the stream names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.cells import LIVE, cells
from models.factors import contiguous_walk
from models.mapping import Broadcast, Mapping, Modulo, Pad, Stride, axis_names, pair, terms
from models.parse import parse
from tests import strategies
from tests.strategies import divisors

AXES = {"A": 32, "B": 12, "C": 10, "D": 61, "L": 240, "R": 13, "X": 4}


def walked(entries: Sequence[tuple[int, int]], size: int) -> np.ndarray:
    """The source position of every step; the missing outer steps of size 1 change nothing."""
    out = np.zeros(1, dtype=np.int64)
    for n, stride in entries:
        out = (out[:, None] + np.arange(n) * stride).ravel()
    assert out.size == size
    return out


def check(target: Mapping, source: Mapping, entries: Sequence[tuple[int, int]]) -> None:
    at = walked(entries, target.size)
    stream = cells(target, np.arange(target.size))
    live = stream.kind == LIVE
    read = cells(source, at[live])
    assert (read.kind == LIVE).all()
    for name in axis_names(source) & set(stream.index):
        wanted = np.broadcast_to(stream.index[name], live.shape)[live]
        assert np.array_equal(np.broadcast_to(read.index.get(name, np.int64(0)), wanted.shape), wanted)
    for (_, stride), (size, inner) in pairwise(entries):
        assert stride != size * inner


@settings(max_examples=300)
@given(strategies.layouts(), strategies.layouts())
def test_whatever_is_walked_meets_the_cells(target: Mapping, source: Mapping):
    entries = contiguous_walk([target], source)
    if entries is not None:
        check(target, source, entries)


@given(strategies.mappings(), strategies.mappings())
def test_whatever_is_walked_meets_the_cells_of_any_mapping(target: Mapping, source: Mapping):
    entries = contiguous_walk([target], source)
    if entries is not None:
        check(target, source, entries)


@settings(max_examples=300)
@given(strategies.layouts(), st.randoms(), st.data())
def test_digits_of_the_source_in_any_order_can_be_walked(source: Mapping, random: Random, data: st.DataObject):
    parts: list[Mapping] = [Broadcast(data.draw(st.integers(1, 3)))]
    for term in terms(source):
        n = data.draw(st.sampled_from(divisors(term.size)))
        parts += [Stride(term, n), Modulo(term, n)]
    random.shuffle(parts)
    at = data.draw(st.integers(0, len(parts)))
    entries = contiguous_walk([pair(*parts[:at]), pair(*parts[at:])], source)
    assert entries is not None
    check(pair(*parts), source, entries)


@settings(max_examples=300)
@given(strategies.layouts(), st.randoms(), st.data())
def test_digits_that_are_padded_on_their_own_can_be_walked(source: Mapping, random: Random, data: st.DataObject):
    digits: list[Mapping] = []
    for term in terms(source):
        n = data.draw(st.sampled_from(divisors(term.size)))
        digits += [Stride(term, n), Modulo(term, n)]
    held = [d if data.draw(st.booleans()) else Pad(d, d.size + data.draw(st.integers(1, 4))) for d in digits]
    read = [d if data.draw(st.booleans()) else Pad(d, d.size + data.draw(st.integers(1, 4))) for d in digits]
    random.shuffle(read)
    entries = contiguous_walk([pair(*read)], pair(*held))
    assert entries is not None, f"{pair(*read)} of {pair(*held)}"
    check(pair(*read), pair(*held), entries)


@pytest.mark.parametrize(
    ("target", "source", "entries"),
    [
        (["A / 2", "A % 2 # 4"], "A / 2, A % 2 # 4", [(64, 1)]),
        (["A / 2", "A % 2 # 8"], "A / 2, A % 2 # 4", [(16, 4), (8, 1)]),
        (["A"], "A / 2, A % 2 # 4", [(16, 4), (2, 1)]),
        (["A / 8 % 2", "A / 16", "A % 8"], "A / 8 % 2 # 3, A / 16, A % 8 # 12", [(4, 12), (8, 1)]),
        (["X % 2", "X / 2 # 5"], "[X / 2, B] # 30, X % 2 # 3", [(2, 1), (5, 36)]),
        (["A", "B"], "A, B", [(384, 1)]),
        (["B", "A"], "A, B", [(12, 1), (32, 12)]),
        (["A / 8", "A % 8"], "A", [(32, 1)]),
        (["A"], "A % 4, A / 4", [(8, 1), (4, 8)]),
        (["A", "D"], "A, D # 64", [(32, 64), (61, 1)]),
        (["A", "D # 64"], "A, D # 64", [(2048, 1)]),
        (["A", "D # 64"], "A, D", [(32, 61), (64, 1)]),
        (["D # 64 / 16", "A", "D # 64 % 16"], "A, D # 64", [(4, 16), (32, 64), (16, 1)]),
        (["X", "A"], "A", [(4, 0), (32, 1)]),
        (["A", "X"], "A", [(32, 1), (4, 0)]),
        (["4", "2", "A % 8"], "A", [(8, 0), (8, 1)]),
        (["L % 60 = 4"], "L", [(4, 1)]),
        (["L / 60", "L % 60 = 4"], "L", [(4, 60), (4, 1)]),
        (["L % 60 = 4", "B"], "L, B", [(48, 1)]),
        (["A / 2"], "A", [(16, 2)]),
        (["A", "1 # 8"], "A", [(32, 1), (8, 1)]),
        (["R # 16"], "R # 16 % 4, R # 16 / 4", [(4, 1), (4, 4)]),
        (["[A, B] / 6", "[A, B] % 6"], "A, B", [(384, 1)]),
        (["[A, C] % 4", "[A, C] / 4"], "A, C", [(4, 1), (80, 4)]),
        (["[A, C] % 4", "[A, C] / 4"], "B, A, C", [(4, 1), (80, 4)]),
        (["1"], "A", []),
        (["A = 7"], "B, A", [(7, 1)]),
        (["A", "B = 7"], "B, A", [(32, 1), (7, 32)]),
    ],
)
def test_walk_of(target: list[str], source: str, entries: list[tuple[int, int]]):
    stream, buffer = [parse(t, AXES) for t in target], parse(source, AXES)
    assert contiguous_walk(stream, buffer) == entries
    check(pair(*stream), buffer, entries)


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("A", "A % 8"),  # the source holds a part of A only
        ("A", "A / 8"),
        ("C", "C # 12 / 4"),
        ("[A, C] % 4, [A, C] / 4", "C, A"),  # the pair is not one run there
        ("A = 6", "A % 4, A / 4"),  # six steps over two digits of four
        ("B % 3, B / 3", "B % 4, B / 4"),  # 2 + 6 carries over the digits of four
    ],
)
def test_what_cannot_be_walked(target: str, source: str):
    assert contiguous_walk([parse(target, AXES)], parse(source, AXES)) is None
