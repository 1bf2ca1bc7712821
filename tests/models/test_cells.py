"""Cells by enumeration, against an oracle that goes position by position on plain integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

from models.cells import KIND_NAMES, Cells, all_cells, cells, tensor_cells
from models.mapping import Axis, Mapping, Modulo, Pad, Padding, Pair, Stride
from models.parse import parse
from tests import strategies
from tests.models import oracle


def at(found: Cells, place: tuple[int, ...]) -> oracle.Cell:
    kind = int(found.kind[place])
    if kind:
        return KIND_NAMES[kind]
    values = {name: int(np.broadcast_to(v, found.kind.shape)[place]) for name, v in found.index.items()}
    return tuple(sorted((name, v) for name, v in values.items() if v))


@given(strategies.mappings())
def test_every_cell_of_any_mapping(e: Mapping):
    assume(oracle.one_spelling(e))
    found = all_cells(e)
    assert [at(found, (p,)) for p in range(e.size)] == [oracle.cell(e, p) for p in range(e.size)]


@given(strategies.tensors())
def test_every_cell_of_a_tensor_of_two_mappings(tensor: tuple[Mapping, Mapping]):
    a, b = tensor
    found = all_cells(a, b)
    # a prime step visits every digit of a large tensor without visiting every cell
    step = 1 if a.size * b.size < 600 else 13
    for p in range(0, a.size * b.size, step):
        i, j = divmod(p, b.size)
        assert at(found, (i, j)) == oracle.tensor_cell([(a, i), (b, j)])


@pytest.mark.parametrize("kind", Padding)
def test_digits_of_one_padded_expression_add_up_over_three_mappings(kind: Padding):
    r = Pad(Axis("R", 13), 32, kind)
    found = all_cells(Stride(r, 16), Modulo(Stride(r, 4), 4), Modulo(r, 4))
    total = np.arange(2)[:, None, None] * 16 + np.arange(4)[:, None] * 4 + np.arange(4)
    assert np.array_equal(found.kind == 0, total < 13)
    assert np.array_equal(np.broadcast_to(found.index["R"], total.shape)[total < 13], total[total < 13])


def test_digits_of_a_bare_axis_past_its_size_are_padding_top():
    found = all_cells(Pair(Axis("A", 10), Axis("A", 10)))
    assert [at(found, (p,)) for p in (9, 10, 19, 99)] == [
        (("A", 9),),
        (("A", 1),),
        "padding_top",
        "padding_top",
    ]


def test_major_padding_wins_also_inside_a_pair_that_is_read_by_digits():
    # the minor part is nested deeper, so it must not be looked at first for that reason
    e = parse("[A #{0} 4, [B # 3 #{!} 5 # 6]] / 3, [A #{0} 4, [B # 3 #{!} 5 # 6]] % 2", {"A": 3, "B": 2})
    found = all_cells(e)
    for p in range(e.size):
        total = p // 2 * 3 + p % 2
        a, b = divmod(total, 6)
        wanted = "padding_zero" if a >= 3 else None
        if wanted is None and b >= 2:
            wanted = "padding_top" if b in (2, 5) else "padding_bottom"
        assert at(found, (p,)) == (wanted or tuple((n, v) for n, v in (("A", a), ("B", b)) if v)), p


def test_out_of_bounds_on_either_side():
    found = cells(Axis("A", 4), np.array([-1, 0, 3, 4]))
    assert [KIND_NAMES.get(k, "live") for k in found.kind.tolist()] == [
        "out_of_bounds",
        "live",
        "live",
        "out_of_bounds",
    ]


def test_an_absent_axis_stands_at_zero():
    a = cells(parse("A % 1, B", {"A": 4, "B": 3}), np.arange(3))
    b = tensor_cells([(parse("B", {"B": 3}), np.arange(3))])
    assert a.same_as(b).all()
    assert not cells(parse("A", {"A": 3}), np.arange(3)).same_as(b)[1:].any()
