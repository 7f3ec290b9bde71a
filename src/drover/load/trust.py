"""What a row costs, from before a change and after it: what was known stays known where nothing speaks against it.

Rule 1: a change of rates says nothing of costs. A few periods after it give the loads of nodes three times as exactly
if the costs of before count, too. Rule 2: where the cost after the change differs by more than chance allows, only what
came after it counts: batches of another size, or another kind of rows, may cost more or less each.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats
from drover.load.columns import Columns
from drover.network.model import Network
from drover.network.operators import Join

KNOWN: Final = 5  # periods before the change that are needed to know how much a cost varies
CHANCE: Final = 3.0  # standard errors by which costs before and after may differ


def rows_into(told: Columns, network: Network) -> Floats:
    """Return the rows that came into each operator in each period, (operators, h)."""
    starts = np.cumsum([0, *(len(operator.inputs) for operator in network.order)])[:-1]
    return np.asarray(np.add.reduceat(told.took, starts, axis=0)) if len(starts) else np.zeros_like(told.busy)


def costs_in(told: Columns, network: Network) -> Floats:
    """Return the busy seconds per row in of each operator in each period, (operators, h); NaN where no row came in."""
    rows = rows_into(told, network)
    return np.asarray(np.divide(told.busy, rows, out=np.full(rows.shape, np.nan), where=rows > 0))


def trust(told: Columns, network: Network, fresh: int) -> Floats:
    """Return, (operators,), by what to multiply the loads of the last `fresh` periods; `told` has those before, too.

    Joins are left alone: what a row costs there depends on the rates.
    """
    costs = costs_in(told, network)
    before, after = costs[:, : costs.shape[1] - fresh], costs[:, costs.shape[1] - fresh :]
    (n, old, scatter), (k, new, _) = _moments(before), _moments(after)
    linear = np.array([not isinstance(operator, Join) for operator in network.order], dtype=np.bool_)
    likely = CHANCE * scatter * np.sqrt(1 / np.maximum(n, 1) + 1 / np.maximum(k, 1))
    agree = linear & (n >= KNOWN) & (k > 0) & (new > 0) & (np.abs(new - old) <= likely)
    pooled = (n * old + k * new) / np.maximum(n + k, 1)
    return np.where(agree, pooled / np.where(new > 0, new, 1.0), 1.0)


def _moments(costs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return number, mean and standard deviation of the known costs of each operator, (operators,) each; 0 if none."""
    known = ~np.isnan(costs)
    count = known.sum(axis=1).astype(np.float64)
    filled = np.where(known, costs, 0.0)
    mean = filled.sum(axis=1) / np.maximum(count, 1)
    square = np.where(known, filled - mean[:, None], 0.0) ** 2
    return count, mean, np.sqrt(square.sum(axis=1) / np.maximum(count - 1, 1))
