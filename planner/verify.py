"""Hands a plan to the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simulator
from models.faults import FaultError
from models.plan import Cycles, Plan, Verification
from planner.options import PlanOptions


def simulate(
    plan: Plan,
    *,
    inputs: Mapping[str, NDArray[Any]] | None = None,
    seed: int = 0,
    random: bool = False,
    sample: float | None = None,
) -> Verification:
    """Executes a plan: values against the reference, cycles against the plan, every rule once more.

    Args:
        plan: any plan, also one that was edited by hand.
        inputs: arrays by tensor name over its axes in the order of its element mapping; None draws them by `seed`.
        seed: of the drawn inputs.
        random: draw real numbers instead of integers that make equality exact.
        sample: compute and compare a random part of the outputs: a count of elements as an int, a fraction up to 1 as
            a float, drawn by `seed`; None for all.

    """
    return simulator.simulate(
        plan,
        inputs=None if inputs is None else {k: np.asarray(v) for k, v in inputs.items()},
        seed=seed,
        random=random,
        sample=sample,
    )


def verified(plan: Plan, options: PlanOptions) -> Plan:
    """A plan with its verification; one too large to be executed says that, so that the plan is not lost."""
    try:
        found = simulate(plan, seed=options.seed, random=options.random, sample=options.sample)
    except FaultError as error:
        if any(fault.rule != "plan_too_large" for fault in error.faults):
            raise
        reason = "; ".join(f"{fault.rule}: {fault.message}" for fault in error.faults)
        found = Verification(cycles=Cycles(planned=plan.makespan_cycles or 0, simulated=None, ok=False), not_run=reason)
    return plan.model_copy(update={"verification": found})
