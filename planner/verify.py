"""Hands a plan to the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simulator
from models.plan import Plan, Verification


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
