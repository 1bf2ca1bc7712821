"""The closed form of a store's wait for banks against the banks cycle by cycle."""

from __future__ import annotations

import random
from itertools import product

import pytest

from models.presets.load import load_hardware
from planner.engines.bank_contention import Reads, Store, delay, misses, reads_of
from simulator.engines.banks import Switches, Writes, run_banks, walk
from tests.planner.registers.kernels import op, planned, stage

HARDWARE = load_hardware()
ROWS = HARDWARE.trf.cache_rows
WHOLE = Switches()
UNITS, REUSES, SWEEPS = (1, 2, 4, 5, 8, 16), (1, 2, 3), (1, 2, 5)
STORES = [
    Store(flits, interval, per_lane, offset)
    for flits, interval, offset, per_lane in product((1, 5, 16, 33), (1, 4), (-9, 0, 1, 3, 17), (7, 16))
]


def simulated(reads: Reads, store: Store, switches: Switches = WHOLE):
    width = 64 if reads.wide else 32
    offsets = list(walk([(reads.sweeps, 0), (reads.units, reads.step * width), (reads.reuse, 0)]))
    return run_banks(
        offsets, width, Writes(store.flits, store.flits_per_lane, store.interval, store.offset), HARDWARE, switches
    )


@pytest.mark.parametrize(("units", "reuse", "wide", "step"), list(product(UNITS, REUSES, (False, True), (1, 2, 3))))
def test_the_closed_form_is_the_count(units, reuse, wide, step):
    for sweeps, store in product(SWEEPS, STORES):
        reads = Reads(units, reuse, sweeps, wide, step)
        found, counted = delay(reads, store, ROWS), simulated(reads, store)
        assert misses(reads, ROWS) == counted.misses, (reads, store)
        if found.exact:
            assert found.cycles == counted.delay, (reads, store)
        else:
            assert found.cycles >= counted.delay, (reads, store)


def test_regular_patterns_are_exact():
    """Whole rows of an element, read in order: as many rows as the cache or few beyond twice that, either width."""
    for units, reuse, sweeps, wide in product((2, 4, 8, 16, 32), REUSES, SWEEPS, (False, True)):
        if wide or units != 2 * ROWS + 2:
            for store in (s for s in STORES if wide or s.flits_per_lane % 2 == 0):
                assert delay(Reads(units, reuse, sweeps, wide), store, ROWS).exact, (units, reuse, sweeps, wide)


def test_other_walks_are_bounded():
    draw = random.Random(4)
    exact = 0
    for _ in range(3000):
        wide = draw.random() < 0.5
        unit = 64 if wide else 32
        sizes = [draw.choice((1, 2, 3, 4, 8, 16)) for _ in range(draw.randint(0, 3))]
        walked = [(n, draw.choice((0, 1, 2, 3, 4, 8, 16)) * unit // 2) for n in sizes]
        reads = reads_of(walked, unit // 2, "bf16", HARDWARE)
        store = Store(draw.choice((1, 5, 33)), draw.choice((1, 4)), draw.choice((7, 16)), draw.choice((-5, 0, 3)))
        offsets = [2 * o for o in walk(walked)]
        writes = Writes(store.flits, store.flits_per_lane, store.interval, store.offset)
        counted = run_banks(offsets, unit, writes, HARDWARE)
        found = delay(reads, store, ROWS)
        exact += found.exact
        assert reads.cycles == len(offsets)
        assert misses(reads, ROWS) >= counted.misses
        assert found.cycles == counted.delay if found.exact else found.cycles >= counted.delay
    assert exact > 1000


def test_what_the_seed_says():
    """Each miss of a wide read stalls the store, a narrow one does not; a hit leaves the bank free."""
    store = Store(flits=256, interval=1, flits_per_lane=16)
    wide = delay(Reads(units=64, reuse=4, wide=True), store, ROWS)
    assert wide.cycles == 64
    narrow = delay(Reads(units=256, wide=False), store, ROWS)
    assert narrow.cycles <= 1
    cached = delay(Reads(units=4, sweeps=64, wide=True), store, ROWS)
    assert cached.cycles == 4


@pytest.mark.parametrize("wide", [False, True])
def test_the_cache_counts(wide):
    reads, store = Reads(units=4, reuse=4, sweeps=16, wide=wide), Store(64, 1, 16)
    with_cache, without = simulated(reads, store), simulated(reads, store, Switches(cache=False))
    assert (with_cache.misses, without.misses) == (4, reads.cycles)
    assert without.waits > with_cache.waits
    assert without.delay > with_cache.delay


def test_the_alternation_counts():
    reads, store = Reads(units=64), Store(32, 1, 16)
    alternating, not_so = simulated(reads, store), simulated(reads, store, Switches(alternation=False))
    assert alternating.waits <= 1
    assert not_so.waits == 64
    assert not_so.delay == 64


def test_walks_of_small_elements_stay_in_a_flit():
    # 16 bf16 elements one by one lie in one flit: a read of one place, sixteen times
    assert reads_of([(4, 0), (32, 1)], 1, "bf16", HARDWARE) == Reads(units=2, reuse=16, sweeps=4)
    assert reads_of([(8, 32)], 32, "bf16", HARDWARE) == Reads(units=8, wide=True)
    assert reads_of([], 16, "bf16", HARDWARE) == Reads(units=1)


def test_the_plan_reports_the_wait_and_leaves_cycles_alone():
    plan = planned("tiled_matmul")
    (note,) = [n for n in plan.notes if n.topic == "banks"]
    assert note.text.startswith("store_b waits")
    assert "matmul reads" in note.text
    assert op(plan, "store_b[1]").cycles == 263 + 2048
    reads = Reads(**stage(plan, "matmul[0]", "contract_outer").settings["trf_reads"])
    # 64 rows of A, 2 x 16 wide reads each; neighbours 128 bytes apart, so no row is found again
    assert (reads.cycles, reads.wide, misses(reads, ROWS)) == (64 * 2 * 16, True, 64 * 32)


def test_where_the_hardware_counts_contention_stores_last_longer():
    plan = planned("tiled_matmul", settings={"trf.contention": 1})
    assert plan.verification is not None
    assert plan.verification.ok, plan.verification.violations
    held = {s.settings.get("bank_reserve_cycles") for stages in plan.programs.values() for s in stages[-1:]}
    assert plan.makespan_cycles is not None
    assert plan.makespan_cycles > (planned("tiled_matmul").makespan_cycles or 0)
    assert any(isinstance(h, int) and h > 0 for h in held)
