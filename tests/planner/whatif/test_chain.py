"""Why not faster: the chain adds up to the makespan on every example; what gives is priced by a solve of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import planner
from cli.render_chain import WORDS, chain
from models.faults import rules
from models.plan import ChainLink
from planner import PlanOptions, Request
from planner.chain import adds_up, makespan_of
from planner.explain_faster import RULE_OF, TOPIC

EXAMPLES = sorted(Path("examples").glob("*.yaml"))
QUICK = PlanOptions(alternatives=False, verify=False, time_limit_seconds=5)


@cache
def planned(path: Path) -> planner.Plan:
    return planner.plan(path, options=QUICK)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_chain_adds_up_to_the_makespan(path):
    plan = planned(path)
    frame = plan.hardware.kernel
    assert plan.chain
    assert adds_up(plan.chain)
    total = makespan_of(plan.chain, frame.first_start_cycles, frame.final_sync_cycles)
    assert total == plan.makespan_cycles
    ops = {o.name: o for o in plan.ops}
    assert all((link.start, link.end) == (ops[link.op].start, ops[link.op].end) for link in plan.chain)
    assert all(link.why in WORDS for link in plan.chain)
    assert plan.chain[0].on == ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_nothing_on_the_chain_waits_for_nothing(path):
    """Every wait has a reason that is named: the only one without cycles of its own is a fence's lag."""
    plan = planned(path)
    assert all(link.why == "fence" for link in plan.chain if link.wait_cycles)


def test_the_summary_shows_a_chain_that_adds_up():
    plan = planned(Path("examples/tiled_scale.yaml"))
    lines = [line.split() for line in chain(plan).splitlines()[1:]]
    cycles = [int(line[-1].replace(",", "")) for line in lines]
    assert sum(cycles[:-1]) == cycles[-1] == plan.makespan_cycles


def test_reasons_have_words_and_rules():
    documented = ChainLink.__doc__ or ""
    assert all(word in documented for word in WORDS)
    assert set(RULE_OF.values()) <= set(rules())
    assert set(RULE_OF) <= set(WORDS)


def test_giving_up_the_transfers_of_gemm_buys_what_hand_counting_says():
    """Loads b and a, multiply and store follow one another; half of the store's cycles are gone from the sum."""
    plan = planner.plan("examples/gemm.yaml", options=PlanOptions(why=True, verify=False, alternatives=False))
    notes = {n.text.partition(":")[0]: n.cycles for n in plan.notes if n.topic == TOPIC}
    store = next(o for o in plan.ops if o.base == "store_c")
    assert notes["transfer `store_c` in half the cycles"] == store.cycles // 2
    matmul = next(o for o in plan.ops if o.base == "matmul")
    assert notes["pass `matmul` in half the cycles"] == matmul.cycles // 2


def test_a_place_more_ends_a_wait_for_a_register_region(tmp_path):
    """Two tiles of weights that each need the whole file: the second waits for the first one's reader."""
    from tests.infeasible.kernels import chain as kernel

    path = tmp_path / "k.yaml"
    path.write_text(kernel("12"), encoding="utf-8")
    options = PlanOptions(why=True, verify=False, alternatives=False)
    tight = planner.plan(path, Request(settings={"trf.rows_per_bank": 6}), options)
    roomy = planner.plan(path, Request(settings={"trf.rows_per_bank": 12}), options)
    assert tight.makespan_cycles >= roomy.makespan_cycles
    waits = [link for link in tight.chain if link.why == "region"]
    if waits:
        assert any("region_overlap given up" in n.text for n in tight.notes if n.topic == TOPIC)
