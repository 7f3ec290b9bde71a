"""The periods of a run as series over time.

Rule 1: time is the length of all periods so far, from the first one shown. Gaps between two runs do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.record import PeriodRecord
from drover.load.arrays import Floats, Ints, frozen

METRICS: Final = ("batches", "batch_seconds", "slowest_batch", "slowest_node", "rows", "routed_bytes", "replication")


@dataclass(frozen=True, slots=True, eq=False)
class PeriodSeries:
    """The measured periods, oldest first."""

    periods: Ints  # (p,) numbers
    times: Floats  # (p,) seconds from the start of the first period to the end of each
    loads: Floats  # (p, n) load of node i over its capacity; NaN while the node did not exist
    metrics: Mapping[str, Floats]  # (p,) each, by the names in METRICS; NaN where nothing was measured

    @property
    def seconds(self) -> float:
        """The length of all periods."""
        return float(self.times[-1]) if len(self.times) else 0.0

    @property
    def nodes(self) -> int:
        """The largest number of nodes."""
        return int(self.loads.shape[1])

    def total(self, name: str) -> float:
        """Return the sum of a metric over all periods."""
        return float(np.nansum(self.metrics[name]))

    def mean(self, name: str) -> float:
        """Return the mean of a metric over all batches; 0 if there were none."""
        values = self.metrics[name]
        weights = np.nan_to_num(self.metrics["batches"])
        known = np.isfinite(values) & (weights > 0)
        return float(np.average(values[known], weights=weights[known])) if known.any() else 0.0

    def time_of(self, period: int) -> float:
        """Return when a period ended; for a period that is not shown, the end of the last one before it."""
        index = int(np.searchsorted(self.periods, period, side="right")) - 1
        return float(self.times[index]) if index >= 0 else 0.0


def period_series(records: Sequence[PeriodRecord]) -> PeriodSeries:
    """Return the series of records. A record without a length, such as an approval, is not a period."""
    found = [record for record in records if record.figures.get("seconds", 0.0) > 0]
    nodes = max((len(record.loads) for record in found), default=0)
    loads = np.full((len(found), nodes), np.nan)
    for row, record in zip(loads, found, strict=True):
        row[: len(record.loads)] = record.loads
    metrics = {name: np.array([record.figures.get(name, np.nan) for record in found], dtype=float) for name in METRICS}
    # A period without rows reports a replication of 0, which would pull the mean below 1.
    metrics["replication"] = np.where(metrics["replication"] > 0, metrics["replication"], np.nan)
    lengths = np.array([record.figures["seconds"] for record in found], dtype=float)
    periods = np.array([record.period for record in found], dtype=np.int64)
    return PeriodSeries(
        frozen(periods),
        frozen(np.cumsum(lengths)),
        frozen(loads),
        {name: frozen(values) for name, values in metrics.items()},
    )
