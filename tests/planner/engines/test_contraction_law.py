"""The contraction's reducers against enumeration, and the TRF sequencer on the book's figures."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.layout import Stream, TensorLayout
from models.mapping import ONE, Axis, pair
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines import contraction, contraction_outer
from planner.engines.base import Ground
from planner.engines.contraction_outer import OuterConfig

HARDWARE = load_hardware()


@given(st.lists(st.tuples(st.integers(2, 5), st.booleans()), min_size=1, max_size=5))
def test_inner_time_counts_what_survives_inside_of_the_outermost_sum(factors: list[tuple[int, bool]]):
    axes = [(Axis(f"X{i}", size), is_summed) for i, (size, is_summed) in enumerate(factors)]
    time = pair(*(a for a, _ in axes))
    out = pair(*(a for a, is_summed in axes if not is_summed))
    first = next((i for i, (_, is_summed) in enumerate(axes) if is_summed), len(axes))
    wanted = prod(a.size for a, is_summed in axes[first:] if not is_summed)
    assert contraction.inner_time(time, out) == wanted


@pytest.mark.parametrize(
    ("trf", "time", "packet", "read", "entries"),
    [
        # book, TRF sequencer: K is read whole, M re-reads it
        ("K", "M", "K", 32, [[32, 0]]),
        # a packet broadcast L outside of 16 elements, O and M in Time
        ("O, K % 16", "O, M", "L, K % 16", 16, [[2, 16], [32, 0]]),
    ],
)
def test_trf_sequencer(trf: str, time: str, packet: str, read: int, entries: list[list[int]]):
    axes = {"K": 32, "L": 2, "M": 32, "N": 8, "O": 2}

    def at(text: str):
        return parse(text, axes)

    operand = TensorLayout("w", "trf", "bf16", at(trf), lane=at("N"))
    inner = "L" if "L" in packet else "K / 16"
    stream = Stream("bf16", ONE, ONE, ONE, at(f"{time}, {inner}"), at("K % 16"))
    outcome = contraction_outer.law(Ground(HARDWARE, axes), stream, operand, OuterConfig(at(time), at(packet)))
    assert outcome.findings == ()
    assert outcome.settings["read_elements"] == read
    assert outcome.settings["trf_time_entries"] == entries
    assert outcome.steps == at(time).size


def test_operand_pairs_are_those_of_the_multipliers():
    legal = {
        (a, b)
        for a in contraction_outer.OPERAND_FAMILIES
        for b in contraction_outer.OPERAND_FAMILIES
        if contraction_outer.operands(a, b)[1] is None
    }
    ints = {(a, b) for row in (("i4", "i5"), ("i8", "i9")) for a in row for b in row}
    assert legal == ints | {("f8e4m3", "f8e4m3"), ("f8e5m2", "f8e5m2"), ("bf16", "bf16")}
