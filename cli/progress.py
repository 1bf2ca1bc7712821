"""Progress of long work on standard error, and how long each part of it took."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field

from cli.talk import Talk

_REDRAW_SECONDS = 0.1


@dataclass(slots=True)
class Progress:
    """Hears what the planner is doing. On a terminal one line is redrawn, elsewhere each phase is one line."""

    talk: Talk
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time of every phase so far."""
    _phase: str = ""
    _since: float = field(default_factory=time.monotonic)
    _drawn: float = 0.0
    _width: int = 0

    def __call__(self, phase: str, share: float | None) -> None:
        """Takes a phase such as `solving` and, where it is known, the share of it that is done, 0 to 1."""
        now = time.monotonic()
        changed = phase != self._phase
        if changed:
            self._account(now)
            self._phase = phase
        if self.talk.quiet:
            return
        if not _is_terminal():
            if changed:
                self.talk.say(f"{phase} ...")
        elif changed or now - self._drawn > _REDRAW_SECONDS:
            self._drawn = now
            self._draw(phase if share is None else f"{phase} {share:4.0%}")

    def end(self) -> None:
        """Closes the last phase and wipes the line."""
        self._account(time.monotonic())
        self._phase = ""
        if self._width:
            self._draw("")
            print("\r", end="", file=sys.stderr, flush=True)  # noqa: T201 - leaves the cursor at the margin
            self._width = 0

    def _account(self, now: float) -> None:
        if self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._since = now

    def _draw(self, text: str) -> None:
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)  # noqa: T201 - not a whole line
        self._width = len(text)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
