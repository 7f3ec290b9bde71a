"""Watermarks: how far the event time of each source has come, from batch to batch.

Rule 1: as in Spark, a batch uses the watermark of the batches before it, in whole milliseconds.
Rule 2: an operator's watermark is the lowest watermark of the sources that its rows come from. A source without rows so
far holds it back; a source without event time does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drover.flow.operators import Watermarks
from drover.network.durations import Micros
from drover.network.model import Network


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """The watermark of each source before a batch, `now`, and before the previous batch, `late`.

    Microseconds since 1970, by source. A source that is absent has had no rows.
    """

    late: Mapping[str, Micros] = field(default_factory=dict)
    now: Mapping[str, Micros] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """Whether a batch without rows could close windows, because the watermark has moved."""
        return self.now != self.late

    def after(self, network: Network, latest: Mapping[str, Micros]) -> SourceProgress:
        """Return the progress after a batch; `latest` has the latest event time of every source that had rows."""
        now = dict(self.now)
        for source in network.sources:
            if source.name in latest:
                # Spark truncates both to milliseconds before it subtracts; otherwise results would differ from Spark's.
                reached = (latest[source.name] // 1000 - source.lateness // 1000) * 1000
                now[source.name] = max(reached, now.get(source.name, reached))
        return replace(self, late=self.now, now=now)


def operator_watermarks(network: Network, progress: SourceProgress) -> dict[str, Watermarks]:
    """Return the watermarks of every operator for a batch."""
    roots = network.roots()
    return {
        operator.name: watermarks_of(
            network, progress, frozenset[str]().union(*(roots[one] for one in operator.inputs))
        )
        for operator in network.operators
    }


def watermarks_of(network: Network, progress: SourceProgress, roots: frozenset[str]) -> Watermarks:
    """Return the watermarks of an operator whose rows come from these sources."""
    sources = roots & {source.name for source in network.sources if source.time is not None}
    return Watermarks(_least(sources, progress.late), _least(sources, progress.now))


def _least(sources: frozenset[str], reached: Mapping[str, Micros]) -> Micros | None:
    if not sources or any(source not in reached for source in sources):
        return None
    return min(reached[source] for source in sources)
