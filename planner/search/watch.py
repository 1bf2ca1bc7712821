"""Whoever waits for a search: is told how far it came, and may stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


def _silent(_what: str, _share: float | None) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Watch:
    """`stop` ends a search with the best it has; `progress` gets what is done and its share, None where unknown."""

    stop: threading.Event = field(default_factory=threading.Event)
    progress: Callable[[str, float | None], None] = _silent

    @property
    def stopped(self) -> bool:
        """Whether the search is to end."""
        return self.stop.is_set()
