"""The page on vector ops lists what the planner judges by: no op, operation, ALU or type more or less."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.vector_ops import VectorOp
from planner.engines import inter_slice_reduce, intra_slice_reduce
from planner.engines.vector_alu import assign
from planner.engines.vector_table import OPERATIONS, OPS, STAGES

PAGE = (Path(__file__).parents[3] / "docs" / "vector-ops.md").read_text(encoding="utf-8")
WAYS = {"wide": "8", "narrow": "4"}
REDUCERS = {"intra_slice_reduce": (intra_slice_reduce.OPS, "4"), "inter_slice_reduce": (inter_slice_reduce.OPS, "8")}


def table(columns: int) -> list[list[str]]:
    """Rows of the page's table of so many columns, without head and rule."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("|")]
    cells = [[cell.strip().replace("`", "") for cell in row] for row in rows]
    return [row for row in cells if len(row) == columns and row[0] != "stage" and not row[0].startswith("---")]


LISTED = table(7)


@pytest.mark.parametrize("row", LISTED, ids=lambda r: "-".join(r[1:3] + r[5:6]))
def test_a_listed_operation_runs_where_the_page_says(row: list[str]):
    stage, op, operation, alu, ways, dtype, source = row
    assert source in ("chain", "seed 004", "ring")
    if op in REDUCERS:
        ops, wanted = REDUCERS[op]
        assert (operation in ops[dtype], ways, alu) == (True, wanted, "of its own")
        return
    form = OPS[op]
    assert (form.stage, WAYS[form.ways]) == (stage, ways)
    choices = alu.split(", ")
    for choice in choices:
        (assigned,) = assign([VectorOp(name=op, op=operation, value=operation, alu=choice)], dtype)
        assert assigned.findings == ()
        assert (assigned.operation, assigned.alu) == (operation, choice)
    (free,) = assign([VectorOp(name=op, op=operation, value=operation)], dtype)
    assert free.alu == choices[0]


def test_every_operation_is_listed():
    listed = {(row[1].removesuffix("_zip"), row[5], row[2]) for row in LISTED}
    wanted = {(name, dtype, op) for (name, dtype), ops in OPERATIONS.items() for op in ops}
    wanted |= {(name, dtype, op) for name, (ops, _) in REDUCERS.items() for dtype, all_ in ops.items() for op in all_}
    assert listed == wanted
    assert len(LISTED) == len(wanted)


def test_ops_without_an_operation():
    rows = {row[1]: row for row in table(5)}
    named = {name for name in OPS if not name.endswith("_zip")} - {name for name, _ in OPERATIONS} - set(REDUCERS)
    assert set(rows) == named
    for name, (stage, _, ways, dtype, _) in rows.items():
        form = OPS[name]
        moved = WAYS[form.ways] if form.ways == form.out_ways else f"{WAYS[form.ways]} to {WAYS[form.out_ways]}"
        types = f"{form.takes[0]} to {form.gives}" if form.gives else ", ".join(form.takes)
        assert (stage, ways, dtype) == (form.stage, moved, types)


def test_the_order_of_stages():
    assert ", ".join(STAGES) in " ".join(PAGE.split())
