"""Rules of inter slice reduce."""

from __future__ import annotations

from models.faults import Rule

RULES: tuple[Rule, ...] = ()
