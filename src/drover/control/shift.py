"""Where a window breaks: the load of before a lasting change says nothing of what comes.

Rule 1: what a source often does is no change: bursts that were seen before count as its noise.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats
from drover.load.window import Window

FRESH: Final = (2, 3)  # periods after a change in which it is looked for: one alone may be an outlier
KNOWN: Final = 5  # periods before it that are needed to know what is usual
FAR: Final = 4.0  # standard deviations
USUAL: Final = 0.1  # of the mean: a source is taken to vary by at least this much


def rates_of(window: Window) -> Floats:
    """Return the rate of every source in every period, (d, h); 0 where a source was not there."""
    names = sorted({name for period in window.periods for name in period.sources})
    found = [[period.sources.get(name, 0.0) / period.seconds for period in window.periods] for name in names]
    return np.array(found).reshape(len(names), len(window.periods))


def changed(rates: Floats) -> int | None:
    """Return in which period, rates being (d, h), the load changed for good, or None if it did not of late.

    It did if the last periods of a source are all far from all that was seen of it, on the same side.
    """
    h = int(rates.shape[1])
    for count in FRESH:
        before, after = rates[:, : h - count], rates[:, h - count :]
        if before.shape[1] < KNOWN:
            continue
        mean = before.mean(axis=1, keepdims=True)
        scale = FAR * np.maximum(before.std(axis=1, keepdims=True), USUAL * mean)
        above = after > np.maximum(mean + scale, before.max(axis=1, keepdims=True))
        below = after < np.minimum(mean - scale, before.min(axis=1, keepdims=True))
        if above.all(axis=1).any() or below.all(axis=1).any():
            return h - count
    return None
