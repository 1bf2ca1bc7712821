"""Rules of contraction."""

from __future__ import annotations

from models.faults import Rule

RULES: tuple[Rule, ...] = ()
