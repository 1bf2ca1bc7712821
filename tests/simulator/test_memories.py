"""Memories against plain dictionaries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.engines.walks import entry_walk, merged, run_elements
from simulator.memories import Block, ByteMemory, TensorRegisters, walk_end, walk_offsets
from simulator.values import CONTAINER

WALKS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), min_size=1, max_size=4).map(tuple)


def offsets(walk):
    out = [0]
    for size, stride in walk:
        out = [o + i * stride for o in out for i in range(size)]
    return out


@given(WALKS)
def test_walk_offsets_go_outermost_first(walk):
    assert walk_offsets(walk).tolist() == offsets(walk)
    assert walk_end(walk) == max(offsets(walk)) + 1


@given(WALKS)
def test_the_run_divides_every_break(walk):
    found, steps = run_elements(walk), offsets(walk)
    assert len(steps) % found == 0
    for begin in range(0, len(steps), found):
        part = steps[begin : begin + found]
        assert part == list(range(part[0], part[0] + found))


@given(WALKS)
def test_merging_changes_no_step(walk):
    entries = merged(walk)
    assert offsets(tuple(entries)) == offsets(tuple(w for w in walk if w[0] > 1))
    assert all(a[1] != b[0] * b[1] for a, b in pairwise(entries))


@pytest.mark.parametrize("entries", [[[0, 1]], [[2, -1]], [[1 << 20, 0], [1 << 20, 0]]])
def test_impossible_walks_are_refused(entries):
    with pytest.raises(ValueError, match="no walk"):
        entry_walk({"time_entries": entries}, "time")


@pytest.mark.parametrize("dtype", ["i4", "i8", "bf16", "f32"])
def test_bytes_hold_what_was_written_and_poison_elsewhere(dtype):
    memory = ByteMemory(1, 4, 64, 64)
    walk = ((2, 5), (3, 1))
    steps = walk_offsets(walk)
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 16, (4, 6)).astype(CONTAINER[dtype])
    poison = rng.random((4, 6)) < 0.3
    memory.write(8, dtype, 4, walk, Block(raw, poison))
    whole = memory.read(8, dtype, 4, ((8, 1),))
    for unit in range(4):
        for element in range(8):
            at = np.flatnonzero(steps == element)
            if len(at) and not poison[unit, at[0]]:
                assert whole.raw[unit, element] == raw[unit, at[0]]
                assert not whole.poison[unit, element]
            else:
                assert whole.poison[unit, element]


def test_a_clean_region_has_no_mask():
    memory = ByteMemory(2, 4, 64, 64)
    memory.write(0, "bf16", 4, ((8, 1),), Block(np.zeros((8, 8), np.uint16)))
    assert memory.read(0, "bf16", 4, ((8, 1),)).poison is None
    assert memory.read(0, "bf16", 4, ((9, 1),)).poison.sum() == 8


def test_a_walk_that_leaves_the_memory_is_refused():
    with pytest.raises(ValueError, match="walk goes from byte"):
        ByteMemory(1, 1, 64, 64).read(32, "f32", 1, ((9, 1),))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_flits_alternate_banks_and_fewer_lanes_use_their_neighbours_rows(lanes):
    registers = TensorRegisters(2, 8, 2, 16)
    flits, row, share = 5, 3, 8 // lanes
    raw = np.arange(2 * lanes * flits * 16, dtype=np.uint16).reshape(2, lanes, flits, 16)
    registers.store(row, lanes, Block(raw))
    held = registers.data.view(np.uint16)
    for lane in range(lanes):
        for flit in range(flits):
            logical = flit // 2
            place = held[:, lane * share + logical % share, flit % 2, row + logical // share, :16]
            assert np.array_equal(place, raw[:, lane, flit])
    back = registers.load(row, lanes, flits, 16, np.uint16, 2)
    assert back.poison is None
    assert np.array_equal(back.raw, raw)
    taken = registers.defined.any(axis=(0, 1, 2, 4))
    logical = (flits + 1) // 2
    assert np.flatnonzero(taken).tolist() == list(range(row, row + (logical + share - 1) // share))


def test_an_unwritten_row_is_poison():
    registers = TensorRegisters(1, 8, 2, 4)
    assert registers.load(0, 8, 2, 32, np.int16, 1).poison.all()
