"""What the law accepts, the simulator's ring carries out: random layouts, random legal parameters of every kind."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from models.mapping import text
from simulator.bench import Run
from simulator.claims import mismatches
from simulator.engines.snoop import custom, expand, regular
from simulator.engines.switch import switch
from simulator.streams import Flow
from tests.planner.engines.switch_oracle import codes, held_names
from tests.planner.engines.switch_pairs import SWITCH_AXES, SwitchPair, switch_pair
from tests.planner.engines.test_switch_law import judged, shown
from tests.simulator.bench import SPATIAL, make_run, make_stage

AXES = {**SWITCH_AXES, "P": 256, "Q": 16, "G": 2, "H": 2, "I": 2, "J": 2, "K": 2, "L": 2}


def flow_of(run: Run, pair: SwitchPair, names: list[str]) -> Flow:
    """Every value is the number of its cell, padding is negative."""
    levels = (pair.in_slice, pair.in_time, pair.packet)
    identity = run.layouts.identity((*SPATIAL, text(pair.in_slice)), (text(pair.in_time), text(pair.packet)))
    return Flow("i32", codes(names, *levels), None, identity)


def carried_out(pair: SwitchPair) -> str | None:
    """Runs a pair that the law accepts and compares cells, values, bitmap and ring; gives its kind, None if refused."""
    outcome = judged(pair)
    if not outcome.ok:
        return None
    run, names, settings = make_run(AXES), held_names(pair), outcome.settings
    out_texts = (text(pair.out_slice), text(pair.out_time), text(pair.packet))
    stage = make_stage("switch", "i32", *out_texts, **settings)
    out = switch(run, stage, flow_of(run, pair, names))
    claimed = run.layouts.identity((*SPATIAL, out_texts[0]), out_texts[1:]).only(out.cells.index)
    assert mismatches(out.cells, claimed) is None, shown(pair)
    wanted = codes(names, pair.out_slice, pair.out_time, pair.packet)
    assert out.raw.shape == wanted.shape, shown(pair)
    assert (out.raw == wanted)[wanted >= 0].all(), shown(pair)
    assert_ring(run, pair, settings)
    return pair.config.kind


def assert_ring(run: Run, pair: SwitchPair, settings: dict[str, object]) -> None:
    """The simulator's own bitmap and ring size are those of the law."""
    bitmap = settings["bitmap"]
    assert isinstance(bitmap, dict)
    stated = expand(bitmap, pair.out_slice.size)
    if pair.config.kind == "CustomBroadcast":
        before, after = (
            (text(a), text(b)) for a, b in ((pair.in_slice, pair.in_time), (pair.out_slice, pair.out_time))
        )
        found = custom(run.layouts, before, after)
        assert found.flaw(stated) is None, shown(pair)
        assert found.ring(stated) == settings["ring_size"], shown(pair)
        return
    own = regular(pair.config.model_dump(), pair.out_slice.size)
    live = run.layouts.inner(text(pair.out_slice)).kind.reshape(-1) == 0
    assert np.array_equal(stated[live], own[live]), shown(pair)


def run_through(seeds: range) -> Counter[str | None]:
    counts: Counter[str | None] = Counter()
    for seed in seeds:
        random = Random(seed)
        counts[carried_out(switch_pair(random, mutate=random.random() < 0.2))] += 1
    return counts


def test_what_the_law_accepts_the_ring_carries_out() -> None:
    counts = run_through(range(50_000, 50_250))
    kinds = {kind for kind in counts if kind is not None}
    assert len(kinds) == 7
    assert sum(n for kind, n in counts.items() if kind is not None) >= 150


@pytest.mark.long
def test_what_the_law_accepts_the_ring_carries_out_at_length() -> None:
    counts = run_through(range(60_000, 66_000))
    print(dict(counts))  # noqa: T201 - what was carried out
    assert min(n for kind, n in counts.items() if kind is not None) >= 300
