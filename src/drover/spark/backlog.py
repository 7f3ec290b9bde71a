"""Rows that wait at the sources, as far as Spark's progress tells.

Rule 1: unknown is not 0. A source that does not say how far it is behind makes the sum unknown only if all are silent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from drover.network.durations import Micros

UNKNOWN: Final = -1.0
RECENT: Final = 86_400.0  # seconds; a watermark further behind is of old data, and its distance says nothing
BEHIND: Final = "avgOffsetsBehindLatest"  # of Kafka: the mean over partitions
ROWS: Final = ("numRowsOutstanding", "numRecordsOutstanding")


@dataclass(slots=True)
class SourceWatch:
    """How far a run is behind its sources: rows that wait, and the watermark of the slowest source."""

    backlog: Callable[[], float] = lambda: UNKNOWN  # rows that wait now
    watermark: Micros | None = None  # in the last batch

    def lag(self, now: float) -> dict[str, float]:
        """Return how many seconds the watermark is behind `now`, seconds since 1970, if its event time is recent."""
        seconds = None if self.watermark is None else now - self.watermark / 1e6
        return {} if seconds is None or not 0 <= seconds < RECENT else {"watermark_lag": round(seconds, 3)}


def backlog_of(progress: Mapping[str, Any] | None) -> float:  # Any: JSON of Spark
    """Return the rows that wait at all sources together, by the progress of Spark's last batch; -1 if none tells."""
    found = [rows for source in (progress or {}).get("sources", ()) if (rows := _waiting(source)) is not None]
    return sum(found) if found else UNKNOWN


def _waiting(source: Mapping[str, Any]) -> float | None:
    metrics = source.get("metrics") or {}
    end = _offset(source.get("endOffset"))
    if BEHIND in metrics:
        return float(metrics[BEHIND]) * max(_count(end), 1)
    for name in ROWS:
        if name in metrics:
            return float(metrics[name])
    latest = _offset(source.get("latestOffset"))
    if isinstance(end, (int, float)) and isinstance(latest, (int, float)) and latest >= end:
        # Offsets of the rate source are seconds; others with plain numbers count rows.
        rate = float(source.get("inputRowsPerSecond") or 0.0) if "Rate" in str(source.get("description")) else 1.0
        return (latest - end) * rate
    return None


def _offset(given: object) -> object:
    """Return an offset, which some versions of Spark write as text."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return None


def _count(offset: object) -> int:
    """Return the partitions of an offset of Kafka: numbers by topic and partition."""
    if not isinstance(offset, Mapping):
        return 1
    return sum(len(topic) if isinstance(topic, Mapping) else 1 for topic in offset.values())
