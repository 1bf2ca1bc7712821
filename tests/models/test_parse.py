"""The parser: what it reads, where it points when it cannot, and that nothing else escapes from it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.cells import all_cells
from models.mapping import Axis, Broadcast, Mapping, MappingError, Modulo, Pad, Padding, Pair, Resize, Stride, text
from models.parse import MAX_DEPTH, MAX_TERMS, Scope, parse
from tests import strategies
from tests.strategies import AXES

A, B = Axis("A", 8), Axis("B", 6)
SIZES = {"A": 8, "B": 6, "_x": 2}


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("A", A),
        ("  A\t", A),
        ("4", Broadcast(4)),
        ("A, B", Pair(A, B)),
        ("A, B,", Pair(A, B)),
        ("A, B, 2", Pair(A, Pair(B, Broadcast(2)))),
        ("[A, B], 2", Pair(Pair(A, B), Broadcast(2))),
        ("(A)", A),
        ("[(A), [B,]]", Pair(A, B)),
        ("A / 2 % 4", Modulo(Stride(A, 2), 4)),
        ("A % 4 / 2", Stride(Modulo(A, 4), 2)),
        ("A/2%4=3", Resize(Modulo(Stride(A, 2), 4), 3)),
        ("A # 9", Pad(A, 9, Padding.TOP)),
        ("A #{*} 9", Pad(A, 9, Padding.TOP)),
        ("A #{0} 9", Pad(A, 9, Padding.ZERO)),
        ("A #{!}9", Pad(A, 9, Padding.BOTTOM)),
        ("A # 16 / 4, A # 16 % 4", Pair(Stride(Pad(A, 16), 4), Modulo(Pad(A, 16), 4))),
        ("[A, B] / 6", Stride(Pair(A, B), 6)),
    ],
)
def test_reads(source: str, tree: Mapping):
    assert parse(source, SIZES) == tree


def test_names_of_layouts_and_constants():
    scope = Scope(axes=SIZES, layouts={"Row": Pair(A, B)}, constants={"N": 4, "ROW": 12})
    assert parse("{Row} % {ROW}, A / {N}", scope) == Pair(Modulo(Pair(A, B), 12), Stride(A, 4))
    assert parse("{N}, A", scope) == Pair(Broadcast(4), A)


@pytest.mark.parametrize(
    ("source", "rule", "column"),
    [
        ("", "mapping_syntax", 1),
        ("A /", "mapping_syntax", 4),
        ("A / B", "mapping_syntax", 5),
        ("A ! 2", "mapping_syntax", 3),
        ("A B", "mapping_syntax", 3),
        ("[A, A", "mapping_syntax", 6),
        ("[A)", "mapping_syntax", 3),
        ("A]", "mapping_syntax", 2),
        (", A", "mapping_syntax", 1),
        ("A,, B", "mapping_syntax", 3),
        ("A / {M}", "mapping_syntax", 5),
        ("A, Q", "unknown_axis", 4),
        ("A, {Q}", "unknown_layout", 4),
        ("A, 0", "size_out_of_range", 4),
        ("A # 9223372036854775808", "size_out_of_range", 5),
        ("B, A / 3", "stride_must_divide", 6),
        ("B, A % 3", "modulo_must_divide", 6),
        ("A # 7", "padding_must_grow", 3),
        ("A = 9", "resize_must_shrink", 3),
    ],
)
def test_points_at_what_is_wrong(source: str, rule: str, column: int):
    with pytest.raises(MappingError) as fault:
        parse(source, SIZES)
    assert (fault.value.rule, fault.value.column) == (rule, column)
    assert fault.value.message


@pytest.mark.parametrize("value", [0, -3, 2**63])
def test_declared_numbers_are_sizes_too(value: int):
    scope = Scope(axes={"A": value, "B": 6}, constants={"N": value})
    for source in ("A", "{N}", "B # {N}"):
        with pytest.raises(MappingError) as fault:
            parse(source, scope)
        assert fault.value.rule == "size_out_of_range"


@pytest.mark.parametrize("open_close", ["[]", "()"])
def test_nesting_up_to_the_limit_and_past_it(open_close: str):
    opening, closing = open_close
    assert parse(opening * MAX_DEPTH + "A" + closing * MAX_DEPTH, SIZES) == A
    with pytest.raises(MappingError) as fault:
        parse(opening * (MAX_DEPTH + 1) + "A" + closing * (MAX_DEPTH + 1), SIZES)
    assert (fault.value.rule, fault.value.column) == ("mapping_too_deep", MAX_DEPTH + 1)


def test_operators_nest_as_brackets_do():
    assert parse("A" + " / 1" * MAX_DEPTH, SIZES).size == 8
    for source in ("A" + " / 1" * (MAX_DEPTH + 1), "[" * 33 + "A" + (" / 1" * 31 + "]") * 33):
        with pytest.raises(MappingError) as fault:
            parse(source, SIZES)
        assert fault.value.rule == "mapping_too_deep"


def test_layouts_in_layouts_may_not_nest_too_deep():
    layout: Mapping = A
    for _ in range(3):
        layout = parse("{L}" + " / 1" * 20, Scope(layouts={"L": layout}))
    with pytest.raises(MappingError) as fault:
        parse("{L}" + " / 1" * 20, Scope(layouts={"L": layout}))
    assert fault.value.rule == "mapping_too_deep"


def test_many_terms_up_to_the_limit_and_past_it():
    many = parse(", ".join(["1"] * MAX_TERMS), {})
    assert many.size == 1
    assert all_cells(many).kind.tolist() == [0]
    for source in (", ".join(["1"] * (MAX_TERMS + 1)), "1," * 30_000):
        with pytest.raises(MappingError) as fault:
            parse(source, {})
        assert fault.value.rule == "mapping_too_long"


def test_sizes_up_to_the_limit_and_past_it():
    axes = {"A": 2**31, "B": 2**31}
    assert parse("A, B", axes).size == 2**62
    for source in ("A, B, 2", "A, [B, 4]", "[A, B], A", ", ".join(["A"] * 200)):
        with pytest.raises(MappingError) as fault:
            parse(source, axes)
        assert fault.value.rule == "mapping_too_large"
        assert fault.value.column > 0


@given(strategies.mappings())
def test_printed_text_reads_back_with_the_same_cells(e: Mapping):
    again = parse(text(e), AXES)
    assert again.size == e.size
    assert all_cells(again).same_as(all_cells(e)).all()
    assert text(again) == text(e)


FRAGMENTS = st.sampled_from(
    ["A", "B", "Q", "[", "]", "(", ")", ",", "/", "%", "=", "#", "#{0}", "#{!}", "#{*}", "{N}", "1", "2", "8", " ", "é"]
)


@example("A #{0")
@example("{A}")
@example("٣")  # a digit, but not one of the grammar
@example("A\x1c")
@given(st.one_of(st.text(max_size=40), st.lists(FRAGMENTS, max_size=20).map("".join)))
def test_any_text_is_a_mapping_or_a_fault_with_a_place(source: str):
    try:
        e = parse(source, Scope(axes=SIZES, constants={"N": 2}))
    except MappingError as error:
        fault: MappingError | None = error
    else:
        fault = None
        assert e.size >= 1
    assert fault is None or (fault.rule and 1 <= fault.column <= len(source) + 1)
