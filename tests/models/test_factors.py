"""Normal form, simplification and equivalence, against enumeration."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.cells import all_cells, cells
from models.factors import (
    Digit,
    Free,
    Padded,
    equivalent,
    from_factors,
    normal,
    simplify,
)
from models.mapping import Axis, Mapping, Modulo, Pad, Padding, Pair, Resize, Stride, pair, terms, text
from models.parse import parse
from tests import strategies
from tests.strategies import AXES, divisors

BIG = {"A": 2**30, "B": 2**20 * 3, "C": 13, "R": 13, "D": 61, "E": 8}


def same(a: Mapping, b: Mapping) -> bool:
    return a.size == b.size and bool(all_cells(a).same_as(all_cells(b)).all())


@settings(max_examples=300)
@given(strategies.mappings())
@example(parse("A, 1 #{!} 2, A", {"A": 4}))
@example(parse("A, 1 #{0} 2, A", {"A": 4}))
def test_normal_form_has_the_same_cells(e: Mapping):
    assert same(e, from_factors(normal(e)))


@given(strategies.layouts())
def test_normal_form_of_layouts_has_the_same_cells(e: Mapping):
    assert same(e, from_factors(normal(e)))


@given(strategies.mappings())
def test_normal_form_is_stable_and_prints_to_itself(e: Mapping):
    again = parse(text(from_factors(normal(e))), AXES)
    assert equivalent(again, e) is True


@given(strategies.mappings())
def test_simplified_is_no_longer_and_has_the_same_cells(e: Mapping):
    short = simplify(e)
    assert same(e, short)
    assert len(text(short)) <= len(text(e))


@given(strategies.mappings(), strategies.mappings())
def test_equivalence_is_that_of_the_cells(a: Mapping, b: Mapping):
    assert equivalent(a, b) is same(a, b)


@given(strategies.layouts(), st.randoms())
def test_equivalence_of_reordered_terms_is_that_of_the_cells(a: Mapping, random: Random):
    parts = list(terms(a))
    random.shuffle(parts)
    assert equivalent(a, pair(*parts)) is same(a, pair(*parts))


@settings(max_examples=300)
@given(strategies.tensors())
def test_normal_form_beside_other_mappings_holds_in_their_company(tensor: tuple[Mapping, Mapping]):
    a, b = tensor
    new_a, new_b = from_factors(normal(a, (b,))), from_factors(normal(b, (a,)))
    assert all_cells(a, b).same_as(all_cells(new_a, new_b)).all()


@given(strategies.mappings())
def test_identities_of_the_domain(e: Mapping):
    one = parse("1", {})
    for n in divisors(e.size)[:6]:
        assert equivalent(Pair(Stride(e, n), Modulo(e, n)), e) is True
    for other in (Stride(e, 1), Pad(e, e.size), Resize(e, e.size), Pair(e, one), Pair(one, e)):
        assert normal(other) == normal(e)
    assert normal(Modulo(e, 1)) == normal(one) == ()


@given(strategies.layouts(), strategies.layouts())
def test_projections_of_a_pair(a: Mapping, b: Mapping):
    assert equivalent(Stride(Pair(a, b), b.size), a) is True
    assert equivalent(Modulo(Pair(a, b), b.size), b) is True
    assert equivalent(Pair(Pair(a, b), Axis("Z", 2)), Pair(a, Pair(b, Axis("Z", 2)))) is True


A, C, D, R = Axis("A", 2**30), Axis("C", 13), Axis("D", 61), Axis("R", 13)


@pytest.mark.parametrize(
    ("expr", "factors"),
    [
        ("A / 1024, A % 1024", (Digit(A, 1, 2**30),)),
        ("A % 1024, A / 1024", (Digit(A, 1, 1024), Digit(A, 1024, 2**20))),
        ("C, D # 64", (Digit(C, 1, 13), Padded((Digit(D, 1, 61),), 64, Padding.TOP))),
        ("[C, D] % 61", (Digit(D, 1, 61),)),
        ("[C, D] = 61", (Digit(D, 1, 61),)),
        ("[C, 4] / 4", (Digit(C, 1, 13),)),
        ("R # 32 % 8", (Digit(R, 1, 8),)),
        ("R # 32 / 8 # 256", (Padded((Digit(R, 8, 2),), 256, Padding.TOP),)),
        ("R # 32 / 16", (Padded((), 2, Padding.TOP),)),
        ("1 # 2, R # 16", (Padded((Digit(R, 1, 13),), 32, Padding.TOP),)),
        ("1 #{0} 2, R # 16", (Padded((), 2, Padding.ZERO), Padded((Digit(R, 1, 13),), 16, Padding.TOP))),
        ("4, 2, 1, 8", (Free(64),)),
        ("E % 8 / 2 % 2", (Digit(Axis("E", 8), 2, 2),)),
        ("[C, E] # 128", (Padded((Digit(C, 1, 13),), 16, Padding.TOP), Digit(Axis("E", 8), 1, 8))),
    ],
)
def test_normal_form_of(expr: str, factors: object):
    assert normal(parse(expr, BIG)) == factors


def test_a_digit_that_reaches_padding_only_with_another_mapping_stays_padded_beside_it():
    low, high = parse("R #{0} 32 % 8", BIG), parse("R #{0} 32 / 8", BIG)
    assert normal(low) == (Digit(R, 1, 8),)
    assert normal(low, (high,)) == (Digit(Pad(R, 32, Padding.ZERO), 1, 8),)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("A, C # 16", "A / 8, A % 8, C # 16 / 4, C # 16 % 4", True),
        ("A # 1073742000", "A # 1073742000 / 16, A # 1073742000 % 16", True),
        ("A #{0} 2147483648", "A # 2147483648", False),
        ("[A, C] / 13", "A", True),
        ("[A, C] % 2, A", "A, [A, C] % 2", False),
        ("A / 2, A % 2, B", "A, B / 3, B % 3", True),
        ("A, B", "B, A", False),
        ("A # 1610612736", "A / 4 # 402653184, A % 4", True),
        ("A = 536870912", "A # 2147483648 % 536870912", True),
    ],
)
def test_equivalence_of_huge_mappings(a: str, b: str, answer: bool):
    assert equivalent(parse(a, BIG), parse(b, BIG)) is answer


def test_huge_mappings_are_never_enumerated(monkeypatch: pytest.MonkeyPatch):
    tried: list[int] = []
    real = cells

    def counting(e: Mapping, at: np.ndarray) -> object:
        tried.append(at.size)
        return real(e, at)

    monkeypatch.setattr("models.cells.cells", counting)
    assert equivalent(parse("A # 2147483648", BIG), parse("A #{0} 2147483648", BIG)) is False
    assert 0 < sum(tried) < 500


def test_what_factors_and_probes_cannot_tell_is_not_decided():
    # two spellings of one thing: digits that overlap, beyond what may be enumerated
    a, b = parse("A, A % 2, A % 2", BIG), parse("A, A % 2, A % 2, 1", BIG)
    assert equivalent(a, b) is True
    odd = parse("[B, R] / 3, [B, R] % 3 % 3", {"B": 3 * 2**20, "R": 13})
    assert equivalent(odd, parse("B, R", BIG)) is True
    straddling = parse("[B, R] % 6, [B, R] / 6", {"B": 3 * 2**20, "R": 13})
    other = parse("[B, R] % 6, [B / 2, B % 2, R] / 6 ", {"B": 3 * 2**20, "R": 13})
    assert equivalent(straddling, other) is True
    wider = parse("[[B, R] # 41943040] % 8, [[B, R] # 41943040] / 8", {"B": 3 * 2**20, "R": 13})
    shifted = parse("[[B, R] # 83886080] % 8, [[B, R] # 83886080] % 41943040 / 8", {"B": 3 * 2**20, "R": 13})
    assert equivalent(wider, shifted) is not False


@example(parse("A, A", {"A": 4}))
@given(strategies.mappings())
def test_probing_never_calls_equal_mappings_different(e: Mapping):
    again = parse(text(e), AXES)
    at = np.arange(e.size, dtype=np.int64)
    assert cells(e, at).same_as(cells(again, at)).all()
    assert equivalent(e, again) is True
