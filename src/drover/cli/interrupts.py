"""Ctrl-C as a request to stop in good order."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def catch_interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C or SIGTERM sets; a second one ends the program.

    PySpark's own handler would cancel the jobs of the running batch and print a traceback.
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
