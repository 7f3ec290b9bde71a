"""Statistics measured on a running network: every batch becomes a period of the load window.

Rule 1: a period lasts from one commit to the next. So rates are per second of wall-clock time and include waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from drover.load.statistics import Statistics
from drover.load.window import Window, measured
from drover.network.model import Network
from drover.spark.facts import BatchFacts, samples_of

PERIODS: Final = 60  # the last batches, which count; older ones are forgotten


class Meter:
    """Keeps the last batches of a run and computes the load that they show; pass it to `Handle.on_batch`."""

    def __init__(self, network: Network, clock: Callable[[], float] = time.monotonic) -> None:
        self._network = network
        self._clock = clock
        self._last = clock()
        self._window = Window(PERIODS)

    def __call__(self, facts: BatchFacts) -> None:
        """Take in a batch."""
        before = self._last
        self._last = self._clock()
        rows = {source.name: float(facts.rows_in.get(source.name, 0)) for source in self._network.sources}
        # Two batches may end within one tick of the clock, but a period must have a length.
        seconds = max(self._last - before, 1e-6)
        self._window = self._window.push(facts.batch, seconds, rows, samples_of(self._network, facts))

    def statistics(self) -> Statistics:
        """Return the rates of sources, and the cost and selectivity of every operator that had rows."""
        return measured(self._window)
