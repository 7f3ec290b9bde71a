"""Periods as series over time, and series thinned out to what a drawing can show.

Rule 1: time is that of the periods laid end to end, in seconds from the first that is shown: what passed between two
runs on one checkpoint is not counted. Rule 2: thinning keeps the least, the mean and the most of what falls together,
so that no peak is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.record import Record
from drover.load.arrays import Floats, Ints, frozen

FIGURES: Final = (
    "batches",
    "batch_seconds",
    "slowest_batch",
    "slowest_node",
    "rows",
    "routed_bytes",
    "replication",
)


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The periods that were measured, oldest first."""

    periods: Ints  # (p,) numbers
    ends: Floats  # (p,) seconds since the first period began
    loads: Floats  # (p, n) load of node i over its capacity; not a number where there was no such node
    figures: dict[str, Floats]  # (p,) each: see `FIGURES`; not a number where nothing was said

    @property
    def seconds(self) -> float:
        """How long all periods took."""
        return float(self.ends[-1]) if len(self.ends) else 0.0

    @property
    def nodes(self) -> int:
        """The most nodes that there were."""
        return int(self.loads.shape[1])

    def total(self, name: str) -> float:
        """Return the sum of a figure over all periods."""
        return float(np.nansum(self.figures[name]))

    def mean(self, name: str) -> float:
        """Return the mean of a figure, over all batches; 0 if there were none."""
        values, weights = self.figures[name], np.nan_to_num(self.figures["batches"])
        known = np.isfinite(values) & (weights > 0)
        return float(np.average(values[known], weights=weights[known])) if known.any() else 0.0

    def at(self, period: int) -> float:
        """Return when a period ended, or when the last before it did."""
        index = int(np.searchsorted(self.periods, period, side="right")) - 1
        return float(self.ends[index]) if index >= 0 else 0.0


def timeline_of(records: Sequence[Record]) -> Timeline:
    """Return the series of records; one without a length, as of an approval, is no period."""
    found = [record for record in records if record.figures.get("seconds", 0.0) > 0]
    nodes = max((len(record.loads) for record in found), default=0)
    loads = np.full((len(found), nodes), np.nan)
    for row, record in zip(loads, found, strict=True):
        row[: len(record.loads)] = record.loads
    figures = {name: np.array([record.figures.get(name, np.nan) for record in found], dtype=float) for name in FIGURES}
    # A period without rows says 0, though no source went to no node; it would pull the mean below 1.
    figures["replication"] = np.where(figures["replication"] > 0, figures["replication"], np.nan)
    lengths = np.array([record.figures["seconds"] for record in found], dtype=float)
    periods = np.array([record.period for record in found], dtype=np.int64)
    frozen_figures = {name: frozen(values) for name, values in figures.items()}
    return Timeline(frozen(periods), frozen(np.cumsum(lengths)), frozen(loads), frozen_figures)


@dataclass(frozen=True, slots=True, eq=False)
class Thinned:
    """A series in at most so many columns; a column that has no value is left out."""

    at: Floats  # (c,) seconds: the last moment in the column
    low: Floats  # (c,)
    mean: Floats  # (c,)
    high: Floats  # (c,)
    column: Ints  # (c,) number of the column


def columns_of(ends: Floats, most: int) -> Ints:
    """Return, (p,), the column of each moment; every moment has its own if there are no more than `most`."""
    if len(ends) <= most:
        return np.arange(len(ends))
    span = ends[-1] - ends[0]
    columns: Ints = np.minimum(((ends - ends[0]) / span * most).astype(np.int64), most - 1)
    return columns


def thin(ends: Floats, values: Floats, most: int) -> Thinned:
    """Return a series, (p,), in at most so many columns of equal time."""
    column, known = columns_of(ends, most), np.isfinite(values)
    column, ends, values = column[known], ends[known], values[known]
    used, starts, counts = np.unique(column, return_index=True, return_counts=True)
    if not len(used):
        empty = np.zeros(0)
        return Thinned(empty, empty, empty, empty, used)
    return Thinned(
        ends[starts + counts - 1],
        np.minimum.reduceat(values, starts),
        np.add.reduceat(values, starts) / counts,
        np.maximum.reduceat(values, starts),
        used,
    )
