"""The entry of `tuplan`: what runs while the rest is still being loaded."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Entry point of the command `tuplan`; an interrupt before it knows what to do ends it without a word."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: os._exit(INTERRUPTED))

    from cli.app import main as run

    run()


if __name__ == "__main__":
    main()
