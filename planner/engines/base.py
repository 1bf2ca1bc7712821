"""The shape that all engine laws share: configuration in, verdict with derived numbers out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a law says of one configuration.

    `findings` are the broken rules (empty: legal); `stream` is what leaves the engine (None when it cannot be told);
    `steps` its step count for the pass (cycles page); `settings` the derived numbers by the names of the case files
    and of `models.plan.Stage`; `warnings` are ids of warning rules with a sentence each.
    """

    findings: tuple[Finding, ...] = ()
    stream: Stream | None = None
    steps: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """No rule is broken."""
        return not self.findings


@dataclass(frozen=True, slots=True)
class Ground:
    """What every law may look at: the chip, the declared axes and the context the pass runs in."""

    hardware: Hardware
    axes: dict[str, int]
    context: str = "main"
