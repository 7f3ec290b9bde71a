"""Time that passes only because somebody looks at it, so that equal seeds see equal times."""

from __future__ import annotations

import time
from dataclasses import dataclass

START = 1_700_000_000.0  # seconds since 1970
TICK = 0.001  # seconds from one look to the next


@dataclass(slots=True)
class VirtualClock:
    """Has the functions of the module `time`, and may take its place."""

    now: float = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def monotonic(self) -> float:
        """Return seconds since the start."""
        self.now += TICK
        return self.now

    perf_counter = monotonic
    process_time = monotonic

    def time(self) -> float:
        """Return seconds since 1970."""
        return START + self.monotonic()

    def strftime(self, form: str) -> str:
        """Return the time in words."""
        return time.strftime(form, time.gmtime(self.time()))
