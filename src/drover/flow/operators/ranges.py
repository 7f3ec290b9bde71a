"""Sort-based probing: the candidates of a row are a contiguous range of the other side, once that is sorted.

Rule 1: the result is a superset of the pairs; the caller applies the predicate. Rule 2: memory is bounded: candidates
come in pieces of at most `most`, even if a single row has more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bounds are floats, but the predicate may be computed in any type. This fraction is larger than any rounding error.
MARGIN: Final = 1e-6
MOST: Final = 1 << 62  # half of the range of an int64


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRanges:
    """For each of p ranges, the probing row and its candidates `order[start:end]`."""

    order: Ints  # (n,) rows of the other side, sorted
    probe: Ints  # (p,)
    start: Ints  # (p,)
    end: Ints  # (p,)

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return int((self.end - self.start).sum())


def by_time(times: Ints, low: Ints, high: Ints) -> CandidateRanges:
    """Return the rows with a time, (n,), between `low` and `high`, (p,), both included."""
    order = np.argsort(times, kind="stable")
    ranked = times[order]
    start = np.searchsorted(ranked, low, "left")
    end = np.searchsorted(ranked, high, "right")
    return _filled(order, np.arange(len(low)), start, end)


def by_band(
    times: Ints, low: Ints, high: Ints, width: int, keys: Floats, least: Floats, most: Floats
) -> CandidateRanges:
    """Return the rows with a key, (n,), between `least` and `most`, (p,), within rounding, that are about in time.

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
    order = known[sorted_by]
    places = places[sorted_by]
    margin = MARGIN * np.maximum(_size(least), _size(most))
    below = np.searchsorted(ranked, least - margin, "left")
    above = np.where(np.isnan(least) | np.isnan(most), below, np.searchsorted(ranked, most + margin, "right"))
    probe = np.nonzero(there)[0]
    bucket = ends[there]
    start = np.searchsorted(places, bucket * step + below[probe], "left")
    end = np.searchsorted(places, bucket * step + above[probe], "left")
    return _filled(order, probe, start, end)


def _numbered(buckets: Ints, ends: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return buckets, (n,), counted from 0, the same of `ends`, (p, 2), and which of these are among them, (p, 2).

    Those in between are counted, too, unless times are so far apart that products of numbers would not fit.
    """
    if not len(buckets):
        return buckets, ends, np.zeros(ends.shape, dtype=np.bool_)
    first = int(buckets.min())
    last = int(buckets.max())
    if (last - first + 1) * (len(buckets) + 1) <= MOST:
        return buckets - first, ends - first, (ends >= first) & (ends <= last)
    distinct, numbered = np.unique(buckets, return_inverse=True)
    found = np.searchsorted(distinct, ends).clip(max=len(distinct) - 1)
    return numbered, found, distinct[found] == ends


def _size(bounds: Floats) -> Floats:
    """Return how large numbers are; 0 where they are not finite."""
    return np.where(np.isfinite(bounds), np.abs(bounds), 0.0)


def _filled(order: Ints, probe: Ints, start: Ints, end: Ints) -> CandidateRanges:
    kept = start < end
    return CandidateRanges(order, probe[kept], start[kept], end[kept])


def pieces(stretches: CandidateRanges, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield candidates, (q,) probing rows and (q,) rows of the other side, in pieces of at most `most`."""
    lengths = stretches.end - stretches.start
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, most):
        number = np.arange(begin, min(begin + most, total))
        which = np.searchsorted(ends, number, "right")
        offset = number - (ends[which] - lengths[which])
        yield stretches.probe[which], stretches.order[stretches.start[which] + offset]
