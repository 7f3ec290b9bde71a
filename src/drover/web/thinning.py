"""Series over time, reduced to as many points as a chart can show.

Rule 1: thinning keeps the minimum, mean and maximum of each interval, so that no peak is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class ThinnedSeries:
    """A series in a limited number of intervals; intervals without a value are left out."""

    times: Floats  # (c,) seconds: the last moment with a value in the interval
    low: Floats  # (c,)
    mean: Floats  # (c,)
    high: Floats  # (c,)
    interval: Ints  # (c,) number of the interval


def intervals_of(times: Floats, most: int) -> Ints:
    """Return, (p,), the interval of each moment: one each if there are at most `most`, else `most` of equal length."""
    if len(times) <= most:
        return np.arange(len(times))
    span = times[-1] - times[0]
    intervals: Ints = np.minimum(((times - times[0]) / span * most).astype(np.int64), most - 1)
    return intervals


def thin(times: Floats, values: Floats, most: int) -> ThinnedSeries:
    """Return a series, (p,), in at most `most` intervals; values that are not finite are left out."""
    known = np.isfinite(values)
    interval = intervals_of(times, most)[known]
    times = times[known]
    values = values[known]
    used, starts, counts = np.unique(interval, return_index=True, return_counts=True)
    if not len(used):
        empty = np.zeros(0)
        return ThinnedSeries(empty, empty, empty, empty, used)
    return ThinnedSeries(
        times[starts + counts - 1],
        np.minimum.reduceat(values, starts),
        np.add.reduceat(values, starts) / counts,
        np.maximum.reduceat(values, starts),
        used,
    )


def interval_means(times: Floats, series: Sequence[Floats], most: int) -> Iterator[tuple[float, list[float]]]:
    """Yield the end of each of at most `most` intervals, and the mean of each series, (p,), in it (NaN if unknown)."""
    interval = intervals_of(times, most)
    for each in np.unique(interval):
        inside = interval == each
        yield float(times[inside][-1]), [_mean(values[inside]) for values in series]


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
