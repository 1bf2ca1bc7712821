"""Rules of programs: legal, broken by one change, legal right beside it."""

from functools import partial

import pytest

from models.faults import FaultError
from models.presets.load import load_hardware
from planner.readers.yaml_kernel import read_kernel_text
from planner.search.lower import lowered
from solver import Options

HARDWARE = load_hardware("rngd", {})
HEAD = """kernel: p
axes: {{R: {rows}, C: {columns}}}
tensors:
  x: {{dtype: bf16, element: "R, C"}}
  y: {{dtype: bf16, element: "{out}", role: output}}
program:
  - {statement}
"""
STORE = """kernel: s
axes: {R: 256, C: 64}
tensors:
  x: {dtype: bf16, element: "R, C"}
  y: {dtype: bf16, element: "R, C", role: output}
ops:
  - {dma: load, read: x, write: x_dm, slice: "R", element: "C"}
  - {dma: store, read: READ, write: y, passes: auto}
"""


def read(statement, out="R, C", rows=8, columns=16):
    """Rules that reading a program breaks."""
    return broken(HEAD.format(statement=statement, out=out, rows=rows, columns=columns))


def searched(statement, **sizes):
    """Rules that a search for its layouts breaks."""
    return broken(HEAD.format(statement=statement, out="R, C", **{"rows": 8, "columns": 16} | sizes), search=True)


def broken(text, *, search=False):
    try:
        source = read_kernel_text(text)
        if search:
            lowered(source, HARDWARE, Options(2, 1, 0))
    except FaultError as error:
        return {f.rule for f in error.faults}
    return set()


def stored(place):
    return broken(STORE.replace("READ", place), search=True)


def three(rule, judge, feasible, illegal, beside):
    return {
        f"{rule}.feasible": partial(judge, **feasible),
        f"{rule}.broken": partial(judge, **illegal),
        f"{rule}.beside": partial(judge, **beside),
    }


def texts(*statements):
    return [{"statement": s} for s in statements]


RULE_CASES = (
    three("program_syntax", read, *texts("y = exp(x)", "y = exp(x", "y = exp(x[R, C])"))
    | three("program_name", read, *texts("y = add(x, x)", "y = add(x, z)", "y = add(x, 1.0)"))
    | three("program_function", read, *texts("y = exp(x)", "y = expo(x)", "y = sqrt(x)"))
    | three("program_argument", read, *texts("y = exp(x)", "y = exp(x, x)", "y = mul(x, x)"))
    | three("program_axes", read, *texts("y = softmax(x, C)", "y = softmax(x, Q)", "y = softmax(x, R)"))
    | three(
        "program_does_not_fit",
        searched,
        {"statement": "y = exp(x)"},
        # a slice of 512 KB holds no 256th of a row of 256 MB, which is 1 MB
        {"statement": "y = softmax(x, C)", "rows": 1, "columns": 2**27},
        {"statement": "y = softmax(x, C)", "columns": 256},
    )
    | three(
        "program_no_layout",
        searched,
        {"statement": "y = exp(x)"},
        {"statement": '{do: "y = exp(x)", element: "C, R"}'},
        {"statement": '{do: "y = exp(x)", element: "R, C"}'},
    )
    | three(
        "passes_auto",
        stored,
        {"place": "x_dm"},
        {"place": '{tensor: x_dm, tile: "C", length: 64}'},
        {"place": "x_dm"},
    )
)


@pytest.mark.parametrize("case", RULE_CASES)
def test_a_rule_is_broken_by_its_change_alone(case):
    rule, _, part = case.partition(".")
    assert RULE_CASES[case]() == ({rule} if part == "broken" else set())
