"""Walks of a transfer against the enumeration of both sides, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from models.cells import all_cells
from models.layout import TensorLayout
from models.mapping import Mapping, axis_names
from models.parse import parse
from planner.engines.dma_access import Access, Ends, access, levels
from planner.engines.dma_forms import Undecided
from planner.engines.dma_runs import elements_per_unit, find_runs, table
from tests.strategies import dma_ends

SLICES = 256


def hbm(element: Mapping) -> TensorLayout:
    return TensorLayout("h", "hbm", "bf16", element)


def dm(element: Mapping, slice: Mapping, cluster: Mapping) -> TensorLayout:
    return TensorLayout("d", "dm", "bf16", element, cluster=cluster, slice=slice)


def live_cells(layout: TensorLayout, names: list[str]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Cell by position (one number per level), in walking order."""
    cells = all_cells(*levels(layout).values())
    index = [np.broadcast_to(cells.index.get(n, np.int64(0)), cells.kind.shape) for n in names]
    return {tuple(at): tuple(int(i[tuple(at)]) for i in index) for at in np.argwhere(cells.kind == 0).tolist()}


def enumerated(here: TensorLayout, there: TensorLayout) -> tuple[list[tuple[int, int, int]], set, set]:
    """Runs (unit, start, length) of a load, the destination's cells and the source's."""
    names = sorted(axis_names(there.element))
    holds: dict[tuple[int, ...], int] = {}
    for at, cell in live_cells(there, names).items():
        holds.setdefault(cell, at[-1])
    wanted = live_cells(here, names)
    runs: list[list[int]] = []
    for (_, cluster, slice, _), cell in wanted.items():
        if cell not in holds:
            continue
        unit, at = cluster * SLICES + slice, holds[cell]
        if runs and runs[-1][0] == unit and runs[-1][1] + runs[-1][2] == at:
            runs[-1][2] += 1
        else:
            runs.append([unit, at, 1])
    return [(u, s, n) for u, s, n in runs], set(wanted.values()), set(holds)


def walked(found: Access) -> list[tuple[int, int, int]]:
    runs = table(find_runs(found))
    return list(zip(runs.unit.tolist(), runs.start.tolist(), runs.length.tolist(), strict=True))


LAYOUTS = {
    "whole": ({"A": 2048}, "A", "A % 8", "A / 8", "1 # 2"),
    "padded": ({"A": 2000}, "A", "[A # 2048] % 8", "[A # 2048] / 8", "1 # 2"),
    "last block partial": ({"A": 2003}, "A", "[A # 2048] % 8", "[A # 2048] / 8", "1 # 2"),
    "rows in runs": ({"A": 999, "H": 3}, "A, H", "[A # 1024] % 4, H", "[A # 1024] / 4", "1 # 2"),
    "rows apart": ({"A": 999, "H": 3}, "H, A", "H, [A # 1024] % 4", "[A # 1024] / 4", "1 # 2"),
    "transposed, padded": ({"A": 512, "H": 5}, "A, H", "H # 8, A % 2", "A / 2", "1 # 2"),
    "padding in DM": ({"A": 512, "H": 5}, "A, H", "A % 2, H # 8", "A / 2", "1 # 2"),
    "padding in HBM": ({"A": 512, "H": 5}, "A, H # 8", "A % 2, H", "A / 2", "1 # 2"),
    "named broadcast": ({"A": 64, "B": 4, "X": 4}, "A, B", "B", "X, A", "1 # 2"),
    "two clusters": ({"A": 64, "B": 4}, "B, A", "A % 8, B", "A / 16 # 64", "A / 8 % 2"),
    "broadcast": ({"A": 64, "B": 8}, "B, A", "A, B % 2", "64", "B / 2 % 2"),
    "one slice": ({"A": 64}, "A", "A", "1 # 256", "1 # 2"),
    "digits of a pair": ({"A": 60, "B": 4}, "A, B", "[A, B] % 4", "[A, B] / 4 # 64", "1 # 2"),
    "digits apart": ({"A": 60, "B": 4}, "A / 4, B, A % 4", "A % 12, B", "A / 12 # 64", "1 # 2"),
    "pair padded": ({"A": 60, "B": 4}, "A, B", "[[A, B] # 256] % 16", "[[A, B] # 256] / 16 # 64", "1 # 2"),
    "first part": ({"A": 64}, "A", "[A = 40] % 4", "[A = 40] / 4 # 64", "1 # 2"),
    "modulo padded": ({"A": 64}, "A / 4, A % 4", "A % 4 # 8", "A / 4 # 64", "1 # 2"),
    "source too small": ({"A": 64}, "A = 40", "A % 4", "A / 4 # 64", "1 # 2"),
    "digit missing": ({"A": 64}, "A / 4", "A % 4", "A / 4 # 64", "1 # 2"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_walk_of_a_layout(name):
    axes, *texts = LAYOUTS[name]
    element, *on_chip = (parse(t, axes) for t in texts)
    check(hbm(element), dm(*on_chip))


@settings(max_examples=150, deadline=None)
@given(dma_ends())
def test_walk_of_any_layout(ends):
    element, on_chip = ends
    check(hbm(element), dm(*on_chip))


def check(there: TensorLayout, here: TensorLayout) -> None:
    """Runs, live elements and both judgements against the enumeration."""
    try:
        load, store = (access(Ends(here, there, writes, SLICES)) for writes in (False, True))
    except Undecided:
        return
    runs, wanted, held = enumerated(here, there)
    assert bool(load.missing) == (not wanted <= held)
    unplaced = any(a not in axis_names(there.element) for m in levels(here).values() for a in axis_names(m))
    absent = axis_names(there.element) - {a for m in levels(here).values() for a in axis_names(m)}
    assert bool(load.dropped) == bool(absent)
    if unplaced:
        assert store.dropped
    elif not absent and not store.dropped:
        assert bool(store.unwritten) == (not held <= wanted)
    if not load.missing:
        assert walked(load) == runs
        units, sizes = elements_per_unit(find_runs(load))
        lengths: dict[int, int] = {}
        for unit, _, length in runs:
            lengths[unit] = lengths.get(unit, 0) + length
        assert dict(zip(units.tolist(), sizes.tolist(), strict=True)) == lengths


def test_common_padding_is_walked_as_cells():
    axes = {"A": 64, "H": 60}
    found = access(
        Ends(
            dm(parse("H # 64", axes), parse("A", axes), parse("1 # 2", axes)),
            hbm(parse("A, H # 64", axes)),
            True,
            SLICES,
        )
    )
    assert find_runs(found).length == 64
    assert not found.unwritten


def test_a_new_axis_of_hbm_is_written_once_per_value():
    axes = {"A": 64, "X": 3, "H": 8}
    found = access(
        Ends(dm(parse("H", axes), parse("A", axes), parse("1 # 2", axes)), hbm(parse("X, A, H", axes)), True, SLICES)
    )
    assert not found.unwritten
    assert not found.dropped
    runs = table(find_runs(found))
    assert sorted(runs.start.tolist()) == list(range(0, 3 * 64 * 8, 8))


def test_borders_that_do_not_divide_are_not_decided():
    axes = {"A": 12, "B": 4}
    source = hbm(parse("A / 3, B, A % 3", axes))
    target = dm(parse("A % 4, B", axes), parse("A / 4 # 64", axes), parse("1 # 2", axes))
    with pytest.raises(Undecided):
        access(Ends(target, source, False, SLICES))
