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
SAMPLE: Final = 16  # candidates by time are counted for one probing row of this many


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


def count_by_time(times: Ints, low: Ints, high: Ints) -> int:
    """Return about how many candidates `by_time` would give, from a sample of the probing rows."""
    ranked = np.sort(times)
    some = slice(None, None, SAMPLE)
    end = np.searchsorted(ranked, high[some], "right")
    return SAMPLE * int((end - np.searchsorted(ranked, low[some], "left")).sum())


def by_band(
    times: Ints, low: Ints, high: Ints, width: int, keys: Floats, least: Floats, most: Floats
) -> CandidateRanges:
    """Return the rows with a key, (n,), between `least` and `most`, (p,), within rounding, that are about in time.

    That is: in a bucket of length `width` that `low` to `high`, (p,), touch. `high - low` is at most `width`, so that
    there are at most two. The first bucket begins with the first row, so rows of less than a `width` are in one bucket.
    NaN is NULL, which is in no band.
    """
    known = np.flatnonzero(~np.isnan(keys))
    if not len(known):
        return _filled(known, known, known, known)
    known = known[np.argsort(keys[known], kind="stable")]
    ranked = keys[known]
    times = times[known]
    first = int(times.min())
    last = (int(times.max()) - first) // width  # bucket
    probe = np.flatnonzero((high >= first) & (low < first + (last + 1) * width) & ~np.isnan(least) & ~np.isnan(most))
    margin = MARGIN * np.maximum(_size(least[probe]), _size(most[probe]))
    below, above = _positions(ranked, least[probe] - margin, most[probe] + margin)
    if last == 0:
        return _filled(known, probe, below, above)
    spans = (low[probe] - first) // width, (high[probe] - first) // width
    buckets, ends, there = _numbered((times - first) // width, np.stack(spans, axis=1))
    there[:, 1] &= ends[:, 0] != ends[:, 1]
    # One number by which rows are sorted by bucket, and by key within it.
    step = len(known) + 1
    rank = np.searchsorted(ranked, ranked, "left")
    places = buckets * step + rank
    sorted_by = np.argsort(places, kind="stable")
    places = places[sorted_by]
    which = np.nonzero(there)[0]
    bucket = ends[there]
    start = np.searchsorted(places, bucket * step + below[which], "left")
    end = np.searchsorted(places, bucket * step + above[which], "left")
    return _filled(known[sorted_by], probe[which], start, end)


def _positions(ranked: Floats, least: Floats, most: Floats) -> tuple[Ints, Ints]:
    """Return how many sorted numbers, (n,), are below `least`, (p,), and how many are at most `most`, (p,).

    Each number is looked up among the sorted bounds, not the other way round. For many bounds, that is three times as
    fast.
    """
    order = np.argsort(least)
    below = _counted(np.searchsorted(least[order], ranked, "right"), order)
    upper = most[order]
    if (upper[1:] < upper[:-1]).any():  # not for a distance: then both bounds have one order
        order = np.argsort(most)
        upper = most[order]
    return below, _counted(np.searchsorted(upper, ranked, "left"), order)


def _counted(places: Ints, order: Ints) -> Ints:
    """Return for each bound how many numbers belong before it; `places` are those of the numbers among the bounds."""
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(np.bincount(places, minlength=len(order) + 1)[:-1])
    return found


def _numbered(buckets: Ints, ends: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return buckets, (n,), counted from 0, the same of `ends`, (p, 2), and which of these are among them, (p, 2).

    There is at least one bucket. Those in between are counted, too, unless times are so far apart that products of
    numbers would not fit.
    """
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
