"""Equivalence of mappings of 2^30 cells, from text that was read before; nothing is remembered between rounds.

Run with `pytest benchmarks --benchmark-enable`. The bound the project wants is one millisecond.
"""

from __future__ import annotations

import pytest

from models.factors import clear_caches, contiguous_walk, divide, equivalent
from models.mapping import Mapping, text
from models.parse import parse

HUGE = {"A": 2**10, "B": 2**10, "C": 2**10}
SMALL = {"A": 2**3, "B": 2**3, "C": 2**3}
TERMS = "A / {h}, A / 2 % {q}, A % 2, B / {h}, B / 2 % {q}, B % 2, C / 2, C % 2"
SWAPPED = "A / {h}, A / 2 % {q}, A % 2, B / {h}, B % 2, B / 2 % {q}, C / 2, C % 2"
PADDED = "A / {h}, A % {h}, B / {h}, B % {h} / 2, B % 2, C / {h}, C % {h} / 2, C % 2"


def spelled(source: str, axes: dict[str, int]) -> Mapping:
    h = axes["A"] // 2
    return parse(source.format(h=h, q=h // 2), axes)


@pytest.mark.parametrize("axes", [SMALL, HUGE], ids=["2^9", "2^30"])
@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [(TERMS, PADDED, True), (TERMS, SWAPPED, False)],
    ids=["equal", "unequal"],
)
def test_equivalence_of_eight_terms(benchmark, axes, left, right, answer):
    a, b = spelled(left, axes), spelled(right, axes)

    def anew() -> tuple[tuple[Mapping, Mapping], dict[str, object]]:
        clear_caches()
        return (parse(text(a), axes), parse(text(b), axes)), {}  # a tree remembers its size

    found = benchmark.pedantic(equivalent, setup=anew, rounds=200)
    assert found is answer


@pytest.mark.parametrize("axes", [SMALL, HUGE], ids=["2^9", "2^30"])
def test_division(benchmark, axes):
    whole, part = spelled(TERMS, axes), spelled("A % {h}, C % 2", axes)

    def uncached() -> Mapping | None:
        clear_caches()
        return divide(whole, part)

    left = benchmark(uncached)
    assert left is not None
    assert left.size * part.size == whole.size


@pytest.mark.parametrize("axes", [SMALL, HUGE], ids=["2^9", "2^30"])
def test_walk(benchmark, axes):
    target, source = [spelled(SWAPPED, axes), spelled("{h}", axes)], spelled(TERMS, axes)

    def uncached() -> list[tuple[int, int]] | None:
        clear_caches()
        return contiguous_walk(target, source)

    assert benchmark(uncached) is not None
