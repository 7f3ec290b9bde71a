"""Sort-based probing: candidates of a row are a stretch of the other side, once that is sorted.

Rule 1: what comes out is a superset of the pairs; the predicate itself is applied by whoever asked.
Rule 2: memory is bounded: candidates come in pieces of at most `most`, also where a single row has more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bounds are floats, the predicate may have been computed in any type: this much of them is more than any rounding.
MARGIN: Final = 1e-6
MOST: Final = 1 << 62  # half of what fits


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """For each of p stretches the probing row and its candidates, which are `order[start:end]`."""

    order: Ints  # (n,) rows of the other side, sorted
    probe: Ints  # (p,)
    start: Ints  # (p,)
    end: Ints  # (p,)

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return int((self.end - self.start).sum())


def by_time(times: Ints, low: Ints, high: Ints) -> Stretches:
    """Return the rows with a time, (n,), between `low` and `high`, (p,), both included."""
    order = np.argsort(times, kind="stable")
    ranked = times[order]
    start, end = np.searchsorted(ranked, low, "left"), np.searchsorted(ranked, high, "right")
    return _filled(order, np.arange(len(low)), start, end)


def by_band(times: Ints, low: Ints, high: Ints, width: int, keys: Floats, least: Floats, most: Floats) -> Stretches:
    """Return the rows with a key, (n,), that is between `least` and `most`, (p,), or nearly so, and roughly in time.

    That is: in a bucket of length `width` that `low` to `high`, (p,), touch. `high - low` is at most `width`, so that
    there are at most two. NaN is NULL, which is in no band.
    """
    known = np.flatnonzero(~np.isnan(keys))
    ranked = np.sort(keys[known])
    buckets, ends, there = _numbered(times[known] // width, np.stack([low // width, high // width], axis=1))
    there[:, 1] &= ends[:, 0] != ends[:, 1]
    # One number by which rows are sorted by bucket, and by key within it.
    step = len(known) + 1
    places = buckets * step + np.searchsorted(ranked, keys[known], "left")
    sorted_by = np.argsort(places, kind="stable")
    order, places = known[sorted_by], places[sorted_by]
    margin = MARGIN * np.maximum(_size(least), _size(most))
    below = np.searchsorted(ranked, least - margin, "left")
    above = np.where(np.isnan(least) | np.isnan(most), below, np.searchsorted(ranked, most + margin, "right"))
    probe, bucket = np.nonzero(there)[0], ends[there]
    start = np.searchsorted(places, bucket * step + below[probe], "left")
    end = np.searchsorted(places, bucket * step + above[probe], "left")
    return _filled(order, probe, start, end)


def _numbered(buckets: Ints, ends: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return buckets, (n,), counted from 0, the same of `ends`, (p, 2), and which of these are among them, (p, 2).

    Those in between are counted, too, unless times are so far apart that products of numbers would not fit.
    """
    if not len(buckets):
        return buckets, ends, np.zeros(ends.shape, dtype=np.bool_)
    first, last = int(buckets.min()), int(buckets.max())
    if (last - first + 1) * (len(buckets) + 1) <= MOST:
        return buckets - first, ends - first, (ends >= first) & (ends <= last)
    distinct, numbered = np.unique(buckets, return_inverse=True)
    found = np.searchsorted(distinct, ends).clip(max=len(distinct) - 1)
    return numbered, found, distinct[found] == ends


def _size(bounds: Floats) -> Floats:
    """Return how large numbers are; 0 where they are not finite."""
    return np.where(np.isfinite(bounds), np.abs(bounds), 0.0)


def _filled(order: Ints, probe: Ints, start: Ints, end: Ints) -> Stretches:
    kept = start < end
    return Stretches(order, probe[kept], start[kept], end[kept])


def pieces(stretches: Stretches, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield candidates, (q,) probing rows and (q,) rows of the other side, in pieces of at most `most`."""
    lengths = stretches.end - stretches.start
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, most):
        number = np.arange(begin, min(begin + most, total))
        which = np.searchsorted(ends, number, "right")
        offset = number - (ends[which] - lengths[which])
        yield stretches.probe[which], stretches.order[stretches.start[which] + offset]
