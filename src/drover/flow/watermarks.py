"""Watermarks: how far event time has come, per source, from batch to batch.

Rule 1: as in Spark, a batch sees the watermark that the batches before it made, in whole milliseconds.
Rule 2: an operator's watermark is the least of those of the sources its rows come from; a source without a row yet
holds it back, one without event time does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drover.flow.operators import Clock
from drover.network.durations import Micros
from drover.network.model import Network


@dataclass(frozen=True, slots=True)
class Progress:
    """How far each source has come before a batch: `now`, and `late`, which was `now` in the batch before.

    Microseconds since 1970 by source; a source that is missing has had no row.
    """

    late: Mapping[str, Micros] = field(default_factory=dict)
    now: Mapping[str, Micros] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """Whether a further batch would see another watermark, and so might close windows, even without rows."""
        return self.now != self.late

    def after(self, network: Network, latest: Mapping[str, Micros]) -> Progress:
        """Return the progress after a batch whose latest event times are given, for sources that had rows."""
        now = dict(self.now)
        for source in network.sources:
            if source.name in latest:
                reached = (latest[source.name] // 1000 - source.lateness // 1000) * 1000
                now[source.name] = max(reached, now.get(source.name, reached))
        return replace(self, late=self.now, now=now)


def clocks(network: Network, progress: Progress) -> dict[str, Clock]:
    """Return the clock of every operator for a batch."""
    roots = network.roots()
    return {
        operator.name: clock_of(network, progress, frozenset[str]().union(*(roots[one] for one in operator.inputs)))
        for operator in network.operators
    }


def clock_of(network: Network, progress: Progress, roots: frozenset[str]) -> Clock:
    """Return the clock of an operator whose rows come from these sources."""
    sources = roots & {source.name for source in network.sources if source.time is not None}
    return Clock(_least(sources, progress.late), _least(sources, progress.now))


def _least(sources: frozenset[str], reached: Mapping[str, Micros]) -> Micros | None:
    if not sources or any(source not in reached for source in sources):
        return None
    return min(reached[source] for source in sources)
