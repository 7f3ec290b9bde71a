"""Where a window breaks: the load of before a lasting change says nothing of what comes.

Rule 1: what a source often does is no change: bursts that were seen before count as its noise. Rule 2: a change of what
rows cost is looked for in the loads of nodes: there it matters, and what chance does to single operators evens out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.columns import Columns
from drover.load.trust import costs_in, rows_into
from drover.load.window import Window
from drover.network.model import Network

FRESH: Final = (2, 3)  # periods after a change in which it is looked for: one alone may be an outlier
SOONEST: Final = FRESH[0]
KNOWN: Final = 5  # periods before it that are needed to know what is usual
FAR: Final = 4.0  # standard deviations
USUAL: Final = 0.1  # of the mean: a source is taken to vary by at least this much

DEARER: Final = 3  # periods in which costs are to be others: busy time is a noisier measure than a count of rows
TELLING: Final = 10  # periods before it
LITTLE: Final = 0.05  # of a node's capacity: half of what nodes may differ by; a smaller change can wait for the window


def rates_of(window: Window) -> Floats:
    """Return the rate of every source in every period, (d, h); 0 where a source was not there."""
    names = sorted({name for period in window.periods for name in period.sources})
    found = [[period.sources.get(name, 0.0) / period.seconds for period in window.periods] for name in names]
    return np.array(found).reshape(len(names), len(window.periods))


def node_costs(told: Columns, network: Network, node_of: Ints, capacity: Floats) -> Floats:
    """Return how full each node would be at the latest rates by the costs of each period, (n, h).

    `node_of`, (operators,) in order, is -1 where an operator has no node. A period in which no row came to an operator
    tells nothing of its cost, and the mean of the others stands in.
    """
    costs = costs_in(told, network)
    known = ~np.isnan(costs)
    mean = np.where(known, costs, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    rates = (rows_into(told, network) / told.seconds)[:, -DEARER:].mean(axis=1)  # (operators,)
    loads = np.where(known, costs, mean[:, None]) * rates[:, None]
    found = np.zeros((len(capacity), costs.shape[1]))
    there = node_of >= 0
    np.add.at(found, node_of[there], loads[there])
    return np.asarray(found / capacity[:, None])


def changed(rates: Floats) -> int | None:
    """Return in which period, rates being (d, h), the load changed for good, or None if it did not of late.

    It did if the last periods of a source are all far from all that was seen of it, on the same side.
    """
    for count in FRESH:
        before = rates[:, : rates.shape[1] - count]
        if before.shape[1] >= KNOWN and _left(rates, count, FAR * USUAL * before.mean(axis=1)):
            return int(rates.shape[1]) - count
    return None


def repriced(loads: Floats) -> int | None:
    """Return in which period costs changed for good, `loads` being those of nodes at equal rates, (n, h); or None."""
    h = int(loads.shape[1])
    if h - DEARER < TELLING or not _left(loads, DEARER, np.full(len(loads), LITTLE)):
        return None
    return h - DEARER


def _left(values: Floats, count: int, least: Floats) -> bool:
    """Return whether the last `count` values of a row are all far from all before them, and by at least `least`."""
    before, after = values[:, : values.shape[1] - count], values[:, values.shape[1] - count :]
    mean = before.mean(axis=1, keepdims=True)
    scale = np.maximum(FAR * before.std(axis=1, keepdims=True), least[:, None])
    above = after > np.maximum(mean + scale, before.max(axis=1, keepdims=True))
    below = after < np.minimum(mean - scale, before.min(axis=1, keepdims=True))
    return bool(above.all(axis=1).any() or below.all(axis=1).any())
