"""All rules of a schedule and of derived settings once more, from the plan alone: rule id to check.

Each check yields what it found broken. What only an execution can show is named while the plan runs: EXECUTED says
where, so that both tables together say of every rule of engines and schedules what checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator import (
    checks_banks,
    checks_claims,
    checks_contexts,
    checks_contraction,
    checks_derived,
    checks_dma,
    checks_engines,
    checks_fetch,
    checks_hazards,
    checks_memory,
    checks_plan,
    checks_reduce,
    checks_settings,
    checks_stores,
    checks_switch,
    checks_switch_custom,
    checks_times,
    checks_transpose,
    checks_vector,
)
from simulator.bench import UNFIT, Bench
from simulator.comparison import compare_output
from simulator.engines.dma import dma
from simulator.engines.dma_moves import judge_cells, judge_runs
from simulator.facts import Broken, Facts
from simulator.machine import Counted

Check = Callable[[Facts], Iterator[Broken]]

CHECKS: dict[str, Check] = {
    **checks_plan.CHECKS,
    **checks_times.CHECKS,
    **checks_contexts.CHECKS,
    **checks_hazards.CHECKS,
    **checks_memory.CHECKS,
    **checks_banks.CHECKS,
    **checks_settings.CHECKS,
    **checks_derived.CHECKS,
    **checks_claims.CHECKS,
    **checks_engines.CHECKS,
    **checks_fetch.CHECKS,
    **checks_switch.CHECKS,
    **checks_switch_custom.CHECKS,
    **checks_stores.CHECKS,
    **checks_contraction.CHECKS,
    **checks_vector.CHECKS,
    **checks_reduce.CHECKS,
    **checks_transpose.CHECKS,
    **checks_dma.CHECKS,
}
"""One check per rule id; several rules may come out of one look at the plan."""

EXECUTED: dict[str, Callable[..., object]] = {
    "unwritten_output": compare_output,
    "write_conflict": dma,
    "dma_cells_missing": judge_cells,
    "dma_cells_unwritten": judge_cells,
    "dma_axis_dropped": judge_cells,
    "dma_whole_bytes": judge_runs,
    "dma_dm_alignment": judge_runs,
}
"""What names a rule while a plan is executed; `claims.RULE_OF_STEP` names some rules of CHECKS there once more."""


def run_checks(bench: Bench, counted: Counted) -> None:
    """Checks a plan that has been executed, with the timeline of that execution."""
    facts = Facts(bench, counted.cycles, counted.stages, counted.transfers)
    for rule, check in CHECKS.items():
        try:
            for broken in check(facts):
                bench.report.add(broken.rule or rule, broken.message, broken.op, broken.found, broken.wanted)
        except (LookupError, *UNFIT) as error:
            bench.report.add("settings_mismatch", f"rule {rule} cannot be checked: {error}")
