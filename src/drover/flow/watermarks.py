"""Watermarks: how far the event time of each source has come, from batch to batch.

Rule 1: as in Spark, a batch uses the watermark of the batches before it, in whole milliseconds.
Rule 2: an operator's watermark is the lowest watermark of the sources that its rows come from. A source without rows so
far holds it back; a source without event time does not count.
Rule 3: an operator that holds its input stops the watermarks of all readers downstream of it, whoever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from drover.flow.operators import Watermarks
from drover.flow.parking import WatermarkCaps, holders_of
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
                # A batch may have only old rows, but a watermark never goes back: windows that it closed stay closed.
                now[source.name] = max(reached, now.get(source.name, reached))
        return replace(self, late=self.now, now=now)


class WatermarkTable:
    """The watermarks of one batch, for readers of any streams: operators, instances of joins, and queries."""

    def __init__(self, network: Network, progress: SourceProgress, caps: WatermarkCaps | None = None) -> None:
        self._progress = progress
        self._caps = WatermarkCaps() if caps is None else caps
        self._roots = network.roots()
        self._timed = {source.name for source in network.sources if source.time is not None}
        # An operator without event time holds back nothing, as a source without it.
        capping = {
            operator.name
            for operator in network.operators
            if operator.name in self._caps.late and self._sources(operator.inputs)
        }
        self._holders = holders_of(network, capping)

    def of(self, streams: Iterable[str]) -> Watermarks:
        """Return the watermarks of a reader of these streams of the network."""
        read = tuple(streams)
        sources = self._sources(read)
        holders = frozenset[str]().union(*(self._holders[stream] for stream in read))
        return Watermarks(
            _capped(_least(sources, self._progress.late), holders, self._caps.late),
            _capped(_least(sources, self._progress.now), holders, self._caps.now),
        )

    def _sources(self, streams: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._roots[stream] for stream in streams)) & self._timed


def operator_watermarks(
    network: Network, progress: SourceProgress, caps: WatermarkCaps | None = None
) -> dict[str, Watermarks]:
    """Return the watermarks of every operator for a batch."""
    table = WatermarkTable(network, progress, caps)
    return {operator.name: table.of(operator.inputs) for operator in network.operators}


def _least(sources: frozenset[str], reached: Mapping[str, Micros]) -> Micros | None:
    # A source without rows so far holds the operator back: its first row may have any time (rule 2).
    if not sources or any(source not in reached for source in sources):
        return None
    return min(reached[source] for source in sources)


def _capped(reached: Micros | None, holders: frozenset[str], caps: Mapping[str, Micros | None]) -> Micros | None:
    for holder in holders & caps.keys():
        cap = caps[holder]
        if reached is None or cap is None:
            return None
        reached = min(reached, cap)
    return reached
