"""Ctrl-C and SIGTERM: the first asks for the best result so far, the second ends at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from cli.talk import INTERRUPTED

T = TypeVar("T")
GRACE_SECONDS = 10.0
"""How long work may go on after a first interrupt before the last result it announced is taken."""
AGAIN_SECONDS = 0.5
"""A signal that comes sooner after the first is the same one: `timeout` signals a process and then its group."""
_POLL_SECONDS = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_interruptible(
    work: Callable[[], T], stop: threading.Event, on_first: Callable[[], None], grace_seconds: float
) -> T | None:
    """Runs `work` in a thread of its own and sets `stop` at the first signal; a second one ends the process.

    Native code (the solver) runs for long without giving Python's main thread a chance to run its signal handlers;
    beside it the main thread stays free to hear them.

    Returns:
        What `work` returned; None when it did not end within the grace time after a signal. Then it is still
        running, and the process must be ended with `end_at_once`.

    """
    first = 0.0

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if not stop.is_set():
            first = time.monotonic()
            stop.set()
            on_first()
        elif time.monotonic() - first > AGAIN_SECONDS:
            os._exit(INTERRUPTED)

    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="work")
    with _handlers(hear):
        future = executor.submit(work)
        executor.shutdown(wait=False)
        while not future.done() and not stop.is_set():
            wait([future], timeout=_POLL_SECONDS)
        if stop.is_set():
            wait([future], timeout=grace_seconds)
    return future.result() if future.done() else None


def end_at_once() -> None:
    """Ends the process with the status of an interrupt, without waiting for a thread that is still busy."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(INTERRUPTED)


@contextmanager
def terminate_like_interrupt() -> Iterator[threading.Event]:
    """Makes SIGTERM raise KeyboardInterrupt as SIGINT does, in the main thread, for the time of a command.

    The event tells that a signal was heard: native code that is interrupted while it loads raises what it likes.
    """
    heard = threading.Event()

    def hear(_number: int, _frame: FrameType | None) -> None:
        heard.set()
        raise KeyboardInterrupt

    with _handlers(hear):
        yield heard


@contextmanager
def _handlers(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, previous in old.items():
            signal.signal(number, previous)
