"""Ctrl-C as a wish to stop, not as an accident."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Give an event that is set at the first Ctrl-C or SIGTERM; a second one ends the program.

    PySpark's own answer to Ctrl-C cancels the jobs of the running batch and says so in a traceback.
    """
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001 - Python's signature
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
