"""Load over time: a series per unit, and how series vary together [Xing05].

Rule 1: variance and covariance are those of the population. Rule 2: the correlation of a constant series is 0, where
constant means up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Floats, Ints, frozen
from drover.load.columns import columns_of
from drover.load.linear import units_of
from drover.load.profile import Profile
from drover.load.rates import Rate, rows_in
from drover.load.window import Window
from drover.network.model import Network

CONSTANT: Final = 1e-9  # a deviation below this share of the largest value is rounding


@dataclass(frozen=True, slots=True, eq=False)
class LoadSeries:
    """The load of every unit in every period."""

    units: tuple[str, ...]  # m
    values: Floats  # (m, h) busy seconds per second of unit j in period t

    def __post_init__(self) -> None:
        """Store a read-only copy; raise LoadError if the shape is wrong."""
        if self.values.ndim != 2 or len(self.values) != len(self.units):
            raise LoadError(
                f"values has shape {self.values.shape}, but there are {len(self.units)} units. Give one row per unit."
            )
        object.__setattr__(self, "values", frozen(self.values))


def measured_series(
    window: Window, profile: Profile, unit_of: Mapping[str, str], *, factor: Floats | None = None
) -> LoadSeries:
    """Return the ideal loads of the units in the periods of a window.

    Rates are source rates times the measured selectivities along the path; costs are those of the period. While no node
    is behind, the ideal load is the measured busy time. If a node is behind, it includes the cost of the rows that
    wait. An operator without a sample gets its values from the profile. `factor`, (operators,) in order, multiplies the
    loads; see `carryover_factors`.
    """
    network = profile.network
    periods = window.periods
    columns = columns_of(window, network)
    streams: dict[str, Rate] = {  # (h,) each: all periods in one walk
        name: np.array([each.sources[name] / each.seconds if name in each.sources else rate for each in periods])
        for name, rate in profile.rates.items()
    }
    took, gave, busy = (each / columns.seconds for each in (columns.took, columns.gave, columns.busy))
    seen = _seen(network, took, profile.gains)
    known = seen > 0
    # Avoids a division by 0; these entries are replaced below.
    divisor = np.where(known, seen, 1.0)
    ideal = np.zeros_like(seen)  # rows per second
    port = 0
    for row, operator in enumerate(network.order):
        ideal[row] = rows_in(operator, streams, profile.gains)
        for name in operator.outputs:
            # An operator that had rows shows its selectivity; otherwise the profile's is used.
            ratio = np.where(known[row], gave[port] / divisor[row], profile.selectivities[name])
            streams[name] = ratio * ideal[row]
            port += 1
    costs = np.array([profile.costs[operator.name] for operator in network.order]).reshape(-1, 1)
    # Busy time without input is the cost of closing windows.
    loads = np.where(known, busy * ideal / divisor, costs * ideal + busy)
    if factor is not None:
        loads *= factor[:, None]
    units = units_of(network, unit_of)
    numbers = {unit: number for number, unit in enumerate(units)}
    values = np.zeros((len(units), len(periods)))
    np.add.at(values, [numbers[unit_of[operator.name]] for operator in network.order], loads)
    return LoadSeries(units, values)


def _seen(network: Network, took: Floats, gains: Mapping[str, float]) -> Floats:
    """Return the rows per second that each operator received, (operators, h), as `rows_in` counts them."""
    found = np.empty((len(network.order), took.shape[1]))
    port = 0
    for row, operator in enumerate(network.order):
        count = len(operator.inputs)
        if count == 1:
            found[row] = took[port]
        else:
            found[row] = rows_in(operator, dict(zip(operator.inputs, took[port : port + count], strict=True)), gains)
        port += count
    return found


def given_series(profile: Profile, rates: Mapping[str, Sequence[float]], unit_of: Mapping[str, str]) -> LoadSeries:
    """Return the ideal loads under series of source rates; a source without a series keeps its rate in the profile."""
    lengths = {len(values) for values in rates.values()}
    if len(lengths) > 1:
        raise LoadError(
            f"series have {', '.join(map(str, sorted(lengths)))} periods, but all must have the same number. "
            "Cut the longer ones."
        )
    h = lengths.pop() if lengths else 0
    sources: dict[str, Rate] = {
        name: np.asarray(rates[name], dtype=np.float64) if name in rates else np.full(h, rate)
        for name, rate in profile.rates.items()
    }
    units = units_of(profile.network, unit_of)
    rows = {unit: row for row, unit in enumerate(units)}
    values = np.zeros((len(units), h))
    for operator, load in profile.loads(sources).items():
        values[rows[unit_of[operator]]] += load
    return LoadSeries(units, values)


def node_series(values: Floats, node_of: Ints, nodes: int) -> Floats:
    """Return, (n, h), the sums over the units of each node; `values` is (m, h), `node_of` (m,)."""
    sums = np.zeros((nodes, values.shape[1]))
    np.add.at(sums, node_of, values)
    return sums


def covariance(values: Floats) -> Floats:
    """Return, (m, m), the population covariance of series, (m, h): the Gram matrix of their deviations."""
    h = values.shape[1]
    if h == 0:
        return np.zeros((len(values), len(values)))
    deviations = values - values.mean(axis=1, keepdims=True)
    found: Floats = deviations @ deviations.T / h
    return found


def gram(values: Floats, balance: float = 0.0) -> Floats:
    """Return, (m, m), covariance plus `balance` times the product of the means.

    Summed over the pairs of units on one node it is that node's variance plus `balance` times its squared mean load.
    """
    means = values.mean(axis=1) if values.shape[1] else np.zeros(len(values))
    found: Floats = covariance(values) + balance * np.outer(means, means)
    return found


def correlations(values: Floats) -> Floats:
    """Return, (m, m), the correlation of every pair of series, (m, h); 0 wherever one of them is constant."""
    found = covariance(values)
    deviation = np.sqrt(np.diag(found))
    tallest = np.abs(values).max(axis=1, initial=0.0)
    deviation = np.where(deviation <= CONSTANT * tallest, 0.0, deviation)
    scale = np.outer(deviation, deviation)
    rho: Floats = np.divide(found, scale, out=np.zeros_like(found), where=scale > 0)
    return np.clip(rho, -1.0, 1.0)


def correlation(one: Floats, other: Floats) -> float:
    """Return the correlation of two series, (h,) each; 0 if one of them is constant."""
    return float(correlations(np.stack([one, other]))[0, 1])


def deviation_bound(values: Floats, nodes: int) -> float:
    """Return std(X) / n, where X is the sum of all series: a lower bound of the mean standard deviation of node loads.

    This is theorem 1 of [Xing05]. By the triangle inequality it also holds for unbalanced plans.
    """
    return float(values.sum(axis=0).std()) / nodes if values.shape[1] else 0.0
