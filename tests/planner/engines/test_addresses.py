"""Sequencer walks, what they touch, and bank runs, each against plain enumeration."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.cells import LIVE, all_cells, cells
from models.mapping import Axis, Mapping, Pad, Resize, pair
from models.presets.load import load_hardware
from planner.engines.addresses import View, bank_run, touched, walk, within_limits

HARDWARE = load_hardware()


@st.composite
def buffers(draw: st.DrawFn) -> list[Mapping]:
    """Digits of a buffer, some padded."""
    out: list[Mapping] = []
    for name in draw(st.permutations(["A", "B", "C"])):
        size = draw(st.sampled_from([2, 3, 4, 6]))
        axis = Axis(name, size)
        out.append(Pad(axis, size + draw(st.integers(1, 3))) if draw(st.booleans()) else axis)
    return out


def addresses(entries: tuple[tuple[int, int], ...]) -> list[int]:
    return [
        sum(i * s for i, (_, s) in zip(at, entries, strict=True)) for at in product(*(range(n) for n, _ in entries))
    ]


def address_of_cell(element: Mapping) -> dict[tuple[tuple[str, int], ...], int]:
    found = all_cells(element)
    index = {k: np.broadcast_to(v, found.kind.shape) for k, v in found.index.items()}
    return {
        tuple(sorted((k, int(v[p])) for k, v in index.items())): p for p in range(element.size) if found.kind[p] == LIVE
    }


@given(buffers(), st.data())
def test_at_every_live_position_the_walk_stands_on_its_cell(digits: list[Mapping], data: st.DataObject):
    element = pair(*digits)
    stream = pair(*data.draw(st.permutations(digits)), *data.draw(st.sampled_from([[], [Axis("X", 2)]])))
    found = walk(stream, Axis("Z", 1), element)
    assert found is not None
    at = addresses(found.merged)
    where = address_of_cell(element)
    held = cells(stream, np.arange(stream.size))
    for position in range(stream.size):
        if held.kind[position] == LIVE:
            cell = {k: int(np.broadcast_to(v, held.kind.shape)[position]) for k, v in held.index.items()}
            cell.pop("X", None)
            assert at[position] == where[tuple(sorted(cell.items()))]


@given(buffers(), st.integers(1, 3), st.data())
def test_what_is_touched(digits: list[Mapping], length: int, data: st.DataObject):
    element = pair(*digits)
    tile = data.draw(st.sampled_from(digits))
    length = min(length, tile.inner.size if isinstance(tile, Pad) else tile.size)
    order = data.draw(st.permutations(digits))
    stream = pair(*(Resize(d, length) if d == tile else d for d in order))
    found = walk(stream, Axis("Z", 1), element)
    assert found is not None
    inner = pair(*digits[digits.index(tile) + 1 :])
    view = View(tile, "0", length, inner.size, tile.size)
    seen = touched(found.merged, element, view)
    assert (seen.missed, seen.outside) == (0, 0)
    whole = touched(found.merged, element)
    live = np.flatnonzero(np.broadcast_to(all_cells(element).kind, (element.size,)) == LIVE)
    assert whole.missed == len(set(live.tolist()) - set(addresses(found.merged)))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0, 4, 8, 16, 64, 128, 256])), min_size=1, max_size=3),
    st.sampled_from([4, 8, 16]),
)
def test_bank_runs(outer: list[tuple[int, int]], access: int):
    entries = (*outer, (access, 1))
    hits = []
    for address in addresses(tuple(outer)):
        first, last = address * 2 // 8, (address * 2 + access * 2 - 1) // 8
        hits.append({b % 16 for b in range(first, last + 1)})
    longest = max(len(list(run)) for bank in range(16) for hit, run in groupby(bank in h for h in hits) if hit)
    assert bank_run(entries, access, "bf16", HARDWARE) == longest


def test_a_large_entry_is_split_into_legal_ones():
    entries, findings = within_limits([(2**20, 8), (8, 1)], HARDWARE)
    assert not findings
    assert max(n for n, _ in entries) <= 65_536
    assert np.prod([n for n, _ in entries]) == 2**23
    assert addresses(((4, 8 * 65_536),)) == [0, 524_288, 1_048_576, 1_572_864]
    assert entries == ((16, 8 * 65_536), (65_536, 8), (8, 1))


def test_buffers_that_no_slice_holds_are_not_enumerated():
    element = pair(Axis("A", 2**20), Axis("B", 2**10))
    assert not touched([(2**20, 1)], element).decided
