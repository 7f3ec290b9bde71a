"""Statistics measured on a running network: what each batch did becomes a period of the load window.

Rule 1: a period lasts from one commit to the next, so that rates are those of the wall clock and count waiting, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from drover.load.sample import samples_of
from drover.load.statistics import Statistics
from drover.load.window import Window, measured
from drover.network.model import Network
from drover.spark.periods import totals_of

PERIODS: Final = 60  # batches that count; what was before them is forgotten


class Meter:
    """A listener of a run that keeps the last batches and says what load they show."""

    def __init__(self, network: Network, clock: Callable[[], float] = time.monotonic) -> None:
        self._network = network
        self._clock = clock
        self._last = clock()
        self._window = Window(PERIODS)

    def __call__(self, figures: Mapping[str, Any]) -> None:  # Any: JSON, as in `recentProgress`
        """Take in a batch."""
        before, self._last = self._last, self._clock()
        rows = {source.name: figures["rowsIn"].get(source.name, 0) for source in self._network.sources}
        totals = totals_of(figures)
        seconds = max(self._last - before, 1e-6)
        self._window = self._window.push(figures["batch"], seconds, rows, samples_of(self._network, rows, totals))

    def statistics(self) -> Statistics:
        """Return what was measured: rates of sources, and cost and selectivity of operators that had rows."""
        return measured(self._window)
