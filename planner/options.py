"""What a user may ask of a plan beside the kernel itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan: limits, seeds, and what is done besides solving.

    `alternatives`: price the other values of every choice, each by a solve of its own. `why`: price what each rule and
    operation on the chain of the makespan would buy if it gave way. `verify`: execute the plan in the simulator;
    `random` draws real numbers for that instead of seeded integers, `sample` compares a random part of the outputs: a
    count of elements as an int, a fraction up to 1 as a float. `corrections`: look for changes that make an
    infeasible kernel fit.
    """

    time_limit_seconds: float = 60.0
    workers: int = 1
    seed: int = 0
    alternatives: bool = True
    why: bool = False
    verify: bool = True
    random: bool = False
    sample: float | None = None
    corrections: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """Changes to a kernel or the hardware for one plan.

    `axes` replaces declared sizes, `settings` hardware numbers by dotted path, `fixed` and `forbidden` values of
    choices by `op.field` (`store_b.context`, `w_vrf.buffers`).
    """

    axes: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    forbidden: tuple[tuple[str, str], ...] = ()
