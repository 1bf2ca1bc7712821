"""Rules that only a whole pass can break: legal, broken by one change, legal right beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.passes import PassResult
from tests.planner.pass_cases import (
    CAST_IN,
    CAST_OUT,
    COLLECT,
    CONTRACTION,
    TO_TRF,
    commit,
    evaluated,
    fetch,
    layout,
    rules_of,
    tensors,
)

COPY = [fetch(), COLLECT, commit()]
ZERO_POINT = [
    fetch(packet="K"),
    {"step": "fetch_zero_point_sub", "dtype": "i9", "zero_point": 3},
    COLLECT,
]
BYTES = tensors(x=layout("x", "dm", "i8", "M, K"), w=layout("w", "trf", "i8", "K", lane="N"))
PRODUCT = commit(element="M, N")
FROM_BYTES = [{"step": "contract_outer", "with": "w", "time": "M", "packet": "K"}, *CONTRACTION[1:]]
WIDE = [fetch(packet="B % 8", time="M, B / 8"), CAST_IN, COLLECT]
LIFTED = tensors(x=layout("x", "dm", "bf16", "I, M, B", slice="A / 2, 2"))
TWO = {"read": ("x", "y"), "interleave": "I"}
PAIR = [fetch(time="M, I"), COLLECT, commit(element="M, I, B")]
TILE = {"tensor": "x", "tile": "M", "length": 2, "start": "0"}


def into(element: str, **changed: object) -> dict[str, object]:
    return commit(write={"tensor": "out", "tile": "M", "length": 2, "start": "0"}, element=element, **changed)


def held(element: str) -> dict:
    return tensors(out=layout("out", "dm", "bf16", element))


HALF = fetch(time="M = 2")

RULE_CASES: dict[str, Callable[[], PassResult]] = {
    "illegal_next_step.feasible": lambda: evaluated(COPY),
    "illegal_next_step.broken": lambda: evaluated([fetch(), COLLECT, CAST_IN, commit()]),
    "illegal_next_step.beside": lambda: evaluated([*WIDE, CAST_OUT, commit()]),
    "pass_without_store.feasible": lambda: evaluated(COPY),
    "pass_without_store.broken": lambda: evaluated([fetch(), COLLECT]),
    "pass_without_store.beside": lambda: evaluated([fetch(), COLLECT, TO_TRF]),
    "zero_point_without_contraction.feasible": lambda: evaluated([*ZERO_POINT, *FROM_BYTES, PRODUCT], BYTES),
    "zero_point_without_contraction.broken": lambda: evaluated([*ZERO_POINT, commit(element="M, K")], BYTES),
    "zero_point_without_contraction.beside": lambda: evaluated([ZERO_POINT[0], COLLECT, commit(element="M, K")], BYTES),
    "sub_context_step.feasible": lambda: evaluated([fetch(), COLLECT, *CONTRACTION, PRODUCT]),
    "sub_context_step.broken": lambda: evaluated([fetch(), COLLECT, *CONTRACTION, PRODUCT], context="sub"),
    "sub_context_step.beside": lambda: evaluated(COPY, context="sub"),
    "sub_commit_cast.feasible": lambda: evaluated([*WIDE, commit(cast="bf16")], context="main"),
    "sub_commit_cast.broken": lambda: evaluated([*WIDE, commit(cast="bf16")], context="sub"),
    "sub_commit_cast.beside": lambda: evaluated([*WIDE, CAST_OUT, commit()], context="sub"),
    "slice_count.feasible": lambda: evaluated(COPY),
    "slice_count.broken": lambda: evaluated(COPY, tensors(x=layout("x", "dm", "bf16", "M, B", slice="A / 8"))),
    "slice_count.beside": lambda: evaluated(COPY, tensors(x=layout("x", "dm", "bf16", "M, B", slice="A / 4"))),
    "cluster_count.feasible": lambda: evaluated(COPY),
    "cluster_count.broken": lambda: evaluated(COPY, tensors(x=layout("x", "dm", "bf16", "M, B", cluster="1 # 4"))),
    "cluster_count.beside": lambda: evaluated(COPY, tensors(x=layout("x", "dm", "bf16", "M, B", cluster="1"))),
    "no_mode_left.feasible": lambda: evaluated(COPY, fixed={"context": "sub"}),
    "no_mode_left.broken": lambda: evaluated(COPY, fixed={"context": "dma"}),
    "no_mode_left.beside": lambda: evaluated(COPY, fixed={"context": "main"}),
    "fetch_placement.feasible": lambda: evaluated([fetch(slice="A"), COLLECT, commit()]),
    "fetch_placement.broken": lambda: evaluated([fetch(slice="A % 16, A / 16"), COLLECT, commit()]),
    "fetch_placement.beside": lambda: evaluated([fetch(slice="A / 2, I"), COLLECT, commit()], LIFTED),
    "tile_digit.feasible": lambda: evaluated([HALF, COLLECT, commit(element="M = 2, B")], read=TILE),
    "tile_digit.broken": lambda: evaluated([HALF, COLLECT, commit(element="M = 2, B")], read=TILE | {"tile": "Q"}),
    "tile_digit.beside": lambda: evaluated(
        [fetch(time="M", packet="B = 8"), COLLECT, commit(element="M, B = 8")], read=TILE | {"tile": "B", "length": 8}
    ),
    "tile_overrun.feasible": lambda: evaluated([HALF, COLLECT, commit(element="M = 2, B")], read=TILE),
    "tile_overrun.broken": lambda: evaluated([fetch(), COLLECT, commit()], read=TILE),
    "tile_overrun.beside": lambda: evaluated(COPY, read=TILE | {"length": 4}),
    "interleave.feasible": lambda: evaluated(PAIR, **TWO),
    "interleave.broken": lambda: evaluated(PAIR, tensors(y=layout("y", "dm", "bf16", "B, M")), **TWO),
    "interleave.beside": lambda: evaluated(
        [fetch(time="I, M"), COLLECT, commit(element="M, I, B")],
        tensors(y=layout("y", "dm", "bf16", "M / 2, M % 2, B")),
        **TWO,
    ),
    "short_not_contiguous.feasible": lambda: evaluated([fetch(), COLLECT, TO_TRF | {"via": "short"}]),
    "short_not_contiguous.broken": lambda: evaluated(
        [fetch(time="M % 2, M / 2"), COLLECT, TO_TRF | {"via": "short", "lane": "M % 2, M / 2"}]
    ),
    "short_not_contiguous.beside": lambda: evaluated(
        [fetch(time="M % 2, M / 2"), COLLECT, TO_TRF | {"via": "pipeline", "lane": "M % 2, M / 2"}]
    ),
    "operand_split.feasible": lambda: evaluated([fetch(), COLLECT, *CONTRACTION, PRODUCT]),
    "operand_split.broken": lambda: evaluated(
        [fetch(), COLLECT, *CONTRACTION, PRODUCT],
        tensors(w=layout("w", "trf", "bf16", "B", lane="N", slice="A % 2, A / 2")),
    ),
    "operand_split.beside": lambda: evaluated(
        [fetch(), COLLECT, *CONTRACTION, PRODUCT],
        tensors(w=layout("w", "trf", "bf16", "B", lane="N", slice="A / 2, A % 2")),
    ),
    "relu_needs_cast.feasible": lambda: evaluated([*WIDE, commit(cast="bf16", relu=True)]),
    "relu_needs_cast.broken": lambda: evaluated([*WIDE, commit(relu=True)]),
    "relu_needs_cast.beside": lambda: evaluated([*WIDE, commit()]),
    "commit_slice_mismatch.feasible": lambda: evaluated([fetch(), COLLECT, commit(slice="A")]),
    "commit_slice_mismatch.broken": lambda: evaluated([fetch(), COLLECT, commit(slice="A % 16, A / 16")]),
    "commit_slice_mismatch.beside": lambda: evaluated([fetch(), COLLECT, commit(slice="A / 16, A % 16")]),
    "tile_layout.feasible": lambda: evaluated([HALF, COLLECT, into("M, B")], held("M, B"), read=TILE),
    "tile_layout.broken": lambda: evaluated([HALF, COLLECT, into("M, B")], held("B, M"), read=TILE),
    "tile_layout.beside": lambda: evaluated([HALF, COLLECT, into("M / 2, M % 2, B")], held("M, B"), read=TILE),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rule(case: str):
    rule, _, part = case.rpartition(".")
    found = RULE_CASES[case]()
    if part == "broken":
        assert rule in rules_of(found)
        assert not found.modes
    else:
        assert rules_of(found) == set()
        assert found.modes
