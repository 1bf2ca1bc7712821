"""Relabelling: same sizes per level, and position by position the same cell or a name for a broadcast."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from models.cells import cells
from models.faults import FaultError
from models.layout import TensorLayout
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines.base import Ground, Outcome
from planner.engines.reshape import law
from tests.planner.registers.kernels import planned

AXES = {"A": 8, "B": 4, "E": 4, "L": 256}


def relabelled(old: str, new: str, level: str = "slice", file: str = "vrf") -> Outcome:
    def layout(text: str) -> TensorLayout:
        mappings = {"slice": parse("A", AXES), "element": parse("E", AXES)} | {level: parse(text, AXES)}
        return TensorLayout("t", file, "f32", mappings["element"], slice=mappings["slice"])  # type: ignore[arg-type]

    return law(Ground(load_hardware(), AXES), layout(old), layout(new))


RULE_CASES: dict[str, Callable[[], Outcome]] = {
    "reshape_size_mismatch.feasible": lambda: relabelled("L", "L / 4, L % 4"),
    "reshape_size_mismatch.broken": lambda: relabelled("L", "L / 4"),
    "reshape_size_mismatch.beside": lambda: relabelled("L / 4", "L / 16, L / 4 % 4"),
    "reshape_cells_differ.feasible": lambda: relabelled("256", "L"),
    "reshape_cells_differ.broken": lambda: relabelled("L", "L % 4, L / 4"),
    "reshape_cells_differ.beside": lambda: relabelled("64, L % 4", "A, 8, L % 4"),
}


@pytest.mark.parametrize("case", RULE_CASES)
def test_rules(case):
    rule, _, part = case.rpartition(".")
    found = [f.rule for f in RULE_CASES[case]().findings]
    assert found == ([rule] if part == "broken" else [])


TEXTS = [
    "A",
    "A / 2, A % 2",
    "A % 2, A / 2",
    "A / 4, A / 2 % 2, A % 2",
    "8",
    "2, B",
    "B, 2",
    "2, 4",
    "B # 8",
    "A / 2 # 8",
    "4 # 8",
]


@pytest.mark.parametrize(("old", "new"), list(product(TEXTS, TEXTS)))
def test_against_the_cells_one_by_one(old, new):
    """Cells by enumeration: same index along the old axes; other axes where the old mapping is a broadcast."""
    before, after = (cells(parse(t, AXES), np.arange(8)) for t in (old, new))
    same = before.same_as(after).all()
    axes = set(before.index)
    carried = all(np.array_equal(before.index[a], after.index[a]) for a in axes & set(after.index))
    padded_alike = np.array_equal(before.kind, after.kind)
    # a new axis may stand only where the old mapping counts through a broadcast: then old and new axes are told apart
    named = padded_alike and carried and axes <= set(after.index)
    legal = bool(same or named)
    assert (relabelled(old, new).findings == ()) == legal, (old, new)


def test_a_relabelled_operand_is_read_as_the_new_layout_says():
    plan = planned("reshape_operand")
    stored, relabelled_entry = (next(e for e in plan.memory if e.tensor == n) for n in ("b_all", "b_rows"))
    assert relabelled_entry.shares == "b_all"
    assert (relabelled_entry.address, relabelled_entry.start, relabelled_entry.end) == (
        stored.address,
        stored.start,
        stored.end,
    )
    assert relabelled_entry.slice == "L / 4"
    assert plan.verification is not None
    assert plan.verification.ok


def test_without_the_relabelling_the_operand_is_refused():
    def edit(text: str) -> str:
        lines = [line for line in text.splitlines() if "reshape:" not in line]
        return "\n".join(lines).replace("operand: b_rows", "operand: b_all")

    with pytest.raises(FaultError) as error:
        planned("reshape_operand", edit)
    assert {f.rule for f in error.value.faults} == {"operand_split"}
    assert "256" in str(error.value)
