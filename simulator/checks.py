"""All rules of a schedule and of derived settings once more, from the plan alone: rule id to check.

Each check yields what it found broken; a rule that no edit of a plan can break has no place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulator import (
    checks_banks,
    checks_contexts,
    checks_contraction,
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


def run_checks(bench: Bench, counted: Counted) -> None:
    """Checks a plan that has been executed, with the timeline of that execution."""
    facts = Facts(bench, counted.cycles, counted.stages, counted.transfers)
    for rule, check in CHECKS.items():
        try:
            for broken in check(facts):
                bench.report.add(broken.rule or rule, broken.message, broken.op, broken.found, broken.wanted)
        except (LookupError, *UNFIT) as error:
            bench.report.add("settings_mismatch", f"rule {rule} cannot be checked: {error}")
