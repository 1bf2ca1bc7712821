import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.program.grammar import MAX_CHARACTERS, MAX_DEPTH, GrammarError, parse_statement
from planner.program.tree import Call, Number, Ref


def test_an_einsum_with_axes_and_a_type():
    statement = parse_statement("s = einsum(q[Q, D], k[K, D] -> f32[Q, K])")
    call = statement.expression
    assert (statement.name, call.function, call.dtype, call.axes) == ("s", "einsum", "f32", ("Q", "K"))
    assert call.arguments == (Ref("q", ("Q", "D"), 12), Ref("k", ("K", "D"), 21))


def test_calls_nest_and_numbers_are_constants():
    call = parse_statement("y = mul(exp(x), -2.5e-1)").expression
    assert call.arguments == (Call("exp", (Ref("x", None, 13),), None, None, 9), Number(-0.25, 17))


def test_no_axes_behind_the_arrow_is_a_scalar():
    assert parse_statement("d = einsum(x[K], y[K] -> [])").expression.axes == ()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("= f(x)", 1),
        ("y f(x)", 3),
        ("y = f(x", 8),
        ("y = f(x))", 9),
        ("y = f(x,)", 9),
        ("y = f(x[A B])", 11),
        ("y = f(x; y)", 8),
        ("y = x", 5),
        ("y = f(x -> )", 12),
        ("y = f()", 7),
    ],
)
def test_a_fault_stands_at_the_first_token_that_does_not_fit(text, column):
    with pytest.raises(GrammarError) as error:
        parse_statement(text)
    assert error.value.column == column


def test_deep_and_long_statements_are_refused():
    deep = "y = " + "exp(" * (MAX_DEPTH + 2) + "x" + ")" * (MAX_DEPTH + 2)
    with pytest.raises(GrammarError, match="levels"):
        parse_statement(deep)
    with pytest.raises(GrammarError, match="characters"):
        parse_statement("y = f(x" + " " * MAX_CHARACTERS + ")")


@given(st.text(alphabet="yfxAB=(),[]->1.5e \t;#{}", max_size=40))
def test_any_text_is_a_statement_or_a_grammar_fault(text):
    column = fault_column(text)
    assert column is None or 1 <= column <= len(text) + 1


def fault_column(text):
    try:
        parse_statement(text)
    except GrammarError as error:
        return error.column
    return None
