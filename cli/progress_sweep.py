"""Progress of a sweep on standard error: done, failed, left, and the time it has taken."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cli.talk import Talk

if TYPE_CHECKING:
    from planner import Tally

REMARK_SECONDS = 10.0
"""Where standard error is no terminal, a line so often."""


@dataclass(slots=True)
class SweepProgress:
    """Hears how far a sweep is."""

    talk: Talk
    _since: float = field(default_factory=time.monotonic)
    _told: float = 0.0
    _last: str = ""
    _width: int = 0

    def __call__(self, tally: Tally) -> None:
        """Takes how many variants have a plan, have none, and are left."""
        now = time.monotonic()
        text = f"{tally.done} done, {tally.failed} failed, {tally.left} left, {now - self._since:.0f} s"
        if self.talk.quiet:
            return
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)  # noqa: T201 - not a whole line
            self._width = len(text)
        elif now - self._told > REMARK_SECONDS:
            self._told = now
            self.talk.say(text)
        self._last = text

    def end(self) -> None:
        """Leaves the last state as a line of its own."""
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)  # noqa: T201 - wipes the line
        if self._last:
            self.talk.say(self._last)
