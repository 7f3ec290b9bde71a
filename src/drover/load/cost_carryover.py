"""Costs per row that stay valid across a change of rates.

Rule 1: a change of rates does not change costs. With the costs from before the change, a few periods after it give node
loads three times as precisely. Rule 2: if the cost of an operator differs by more than chance allows, only the periods
after the change count: larger batches or other rows may cost more or less each.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.load.arrays import Floats
from drover.load.columns import Columns
from drover.network.model import Network

KNOWN: Final = 5  # periods before the change that are needed to know the scatter of a cost
CHANCE: Final = 3.0  # standard errors by which the costs before and after may differ


def rows_into(columns: Columns, network: Network) -> Floats:
    """Return the rows that each operator received in each period, (operators, h)."""
    starts = np.cumsum([0, *(len(operator.inputs) for operator in network.order)])[:-1]
    return np.asarray(np.add.reduceat(columns.took, starts, axis=0)) if len(starts) else np.zeros_like(columns.busy)


def costs_in(columns: Columns, network: Network) -> Floats:
    """Return the busy seconds per row of each operator in each period, (operators, h); NaN without rows."""
    rows = rows_into(columns, network)
    return np.asarray(np.divide(columns.busy, rows, out=np.full(rows.shape, np.nan), where=rows > 0))


def carryover_factors(columns: Columns, network: Network, fresh: int) -> Floats:
    """Return the factors, (operators,), for the loads of the last `fresh` periods; `columns` also has earlier ones.

    The factor of a join is 1: its cost per row depends on the rates.
    """
    costs = costs_in(columns, network)
    before = costs[:, : costs.shape[1] - fresh]
    after = costs[:, costs.shape[1] - fresh :]
    (n, old, scatter) = _moments(before)
    (k, new, _) = _moments(after)
    linear = np.array([operator.pair_windows is None for operator in network.order], dtype=np.bool_)
    likely = CHANCE * scatter * np.sqrt(1 / np.maximum(n, 1) + 1 / np.maximum(k, 1))
    agree = linear & (n >= KNOWN) & (k > 0) & (new > 0) & (np.abs(new - old) <= likely)
    # Many periods before the change and few after it: together they scatter least.
    pooled = (n * old + k * new) / np.maximum(n + k, 1)
    return np.where(agree, pooled / np.where(new > 0, new, 1.0), 1.0)


def _moments(costs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return number, mean and standard deviation of each operator's known costs, (operators,) each; 0 without any."""
    known = ~np.isnan(costs)
    count = known.sum(axis=1).astype(np.float64)
    filled = np.where(known, costs, 0.0)
    mean = filled.sum(axis=1) / np.maximum(count, 1)
    square = np.where(known, filled - mean[:, None], 0.0) ** 2
    return count, mean, np.sqrt(square.sum(axis=1) / np.maximum(count - 1, 1))
