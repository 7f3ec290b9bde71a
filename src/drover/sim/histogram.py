"""Percentiles from histograms of fixed size.

Rule 1: the width of a bucket grows with its values, so that a percentile is off by at most 1/128 of itself, however
long the run. `event_kernels.bucket` chooses the bucket.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drover.load.arrays import Floats
from drover.sim.world import BUCKETS, LOWEST, OCTAVE


def middles() -> Floats:
    """Return, (BUCKETS,), the middle of each bucket, seconds."""
    index = np.arange(BUCKETS)
    mantissa = 0.5 + (index % OCTAVE + 0.5) / (2 * OCTAVE)
    return np.ldexp(mantissa, index // OCTAVE + LOWEST)


MIDDLES = middles()


def percentiles(counts: Floats, shares: Sequence[float]) -> list[float]:
    """Return the percentiles, in seconds, for shares in [0, 1]; NaN if nothing was counted."""
    upto = np.cumsum(counts)
    if not upto[-1]:
        return [float("nan")] * len(shares)
    return [float(value) for value in MIDDLES[np.searchsorted(upto, np.asarray(shares) * upto[-1])]]
