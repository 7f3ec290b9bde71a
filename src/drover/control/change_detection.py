"""Lasting changes of load: periods before such a change say nothing about the periods after it.

Rule 1: a rate that a source often has is not a change. Bursts that were seen before count as noise.
Rule 2: changes of cost are looked for in node loads, not in operators. There they matter, and the noise of single
operators averages out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.load.columns import Columns
from drover.load.cost_carryover import costs_in, rows_into
from drover.load.window import Window
from drover.network.model import Network

FRESH: Final = (2, 3)  # periods after a change that must show it; a single one may be an outlier
SOONEST: Final = FRESH[0]
KNOWN: Final = 5  # periods before a change that are needed to know what is usual
FAR: Final = 4.0  # standard deviations
USUAL: Final = 0.1  # of the mean: the least standard deviation that a source is assumed to have

COST_FRESH: Final = 3  # periods after a change of cost that must show it: busy time is noisier than a count of rows
COST_KNOWN: Final = 10  # periods before it
LITTLE: Final = 0.05  # of a node's capacity, half of what even nodes differ by; a smaller change can wait


def source_rates(window: Window) -> Floats:
    """Return the rate of every source in every period, (d, h); 0 where a source is missing."""
    names = sorted({name for period in window.periods for name in period.sources})
    found = [[period.sources.get(name, 0.0) / period.seconds for period in window.periods] for name in names]
    return np.array(found).reshape(len(names), len(window.periods))


def node_costs(columns: Columns, network: Network, node_of: Ints, capacity: Floats) -> Floats:
    """Return the relative load of each node at the latest rates with the costs of each period, (n, h).

    `node_of`, (operators,) in order, is -1 for an operator without a node. A period in which an operator got no rows
    does not show its cost, so the mean of the other periods is used.
    """
    costs = costs_in(columns, network)
    known = ~np.isnan(costs)
    mean = np.where(known, costs, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    # All periods are weighed by the latest rates, so that only a change of costs can make them differ.
    rates = (rows_into(columns, network) / columns.seconds)[:, -COST_FRESH:].mean(axis=1)  # (operators,)
    loads = np.where(known, costs, mean[:, None]) * rates[:, None]
    found = np.zeros((len(capacity), costs.shape[1]))
    placed = node_of >= 0
    np.add.at(found, node_of[placed], loads[placed])
    return np.asarray(found / capacity[:, None])


def find_rate_change(rates: Floats) -> int | None:
    """Return the column of `rates`, (d, h), at which a lasting change begins; None if there is no recent change.

    A change is lasting if the last periods of a source are all far from everything before, on the same side.
    """
    for count in FRESH:
        before = rates[:, : rates.shape[1] - count]
        if before.shape[1] >= KNOWN and _departs(rates, count, FAR * USUAL * before.mean(axis=1)):
            return int(rates.shape[1]) - count
    return None


def find_cost_change(loads: Floats) -> int | None:
    """Return the column of `loads`, (n, h) at equal rates, at which a lasting change of cost begins, or None."""
    h = int(loads.shape[1])
    if h - COST_FRESH < COST_KNOWN or not _departs(loads, COST_FRESH, np.full(len(loads), LITTLE)):
        return None
    return h - COST_FRESH


def _departs(values: Floats, count: int, least: Floats) -> bool:
    """Return whether the last `count` values of some row are all far from its earlier ones; `least` is (rows,)."""
    before = values[:, : values.shape[1] - count]
    after = values[:, values.shape[1] - count :]
    mean = before.mean(axis=1, keepdims=True)
    scale = np.maximum(FAR * before.std(axis=1, keepdims=True), least[:, None])
    # Beyond every earlier value, too: a burst that was seen before is not a change, whatever the deviation says.
    above = after > np.maximum(mean + scale, before.max(axis=1, keepdims=True))
    below = after < np.minimum(mean - scale, before.min(axis=1, keepdims=True))
    return bool(above.all(axis=1).any() or below.all(axis=1).any())
