"""Ideal rates: how many rows per second every stream carries if no node is overloaded.

Rule 1: rates follow from source rates and selectivities alone, so an overloaded operator does not hide the load of
later operators [Xing05].
Rule 2: a rate is a number, or an array with an entry per case; one walk of the network computes all cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from drover.load.arrays import Floats
from drover.network.model import Network
from drover.network.operators import Operator

Rate: TypeAlias = float | Floats  # rows per second
SMALLEST: Final = 1e-100  # rows per second; a slower side of a join counts as idle


def rows_in(operator: Operator, streams: Mapping[str, Rate], gains: Mapping[str, float]) -> Rate:
    """Return the rows per second to which cost and selectivity of an operator refer.

    For a join that is gain x left x right, because its work grows with the product of its rates. For all other
    operators it is the sum of the input rates.
    """
    first, *others = (streams[stream] for stream in operator.inputs)
    if operator.pair_windows is not None:
        return gains[operator.name] * first * others[0]
    return sum(others, start=first)


def find_rates(
    network: Network, sources: Mapping[str, Rate], selectivities: Mapping[str, float], gains: Mapping[str, float]
) -> dict[str, Rate]:
    """Return the rate of every stream."""
    streams = dict(sources)
    for operator in network.order:
        rate = rows_in(operator, streams, gains)
        for output in operator.outputs:
            streams[output] = selectivities[output] * rate
    return streams


def _idle_if_tiny(rate: float) -> float:
    # The product of two rates this small would be 0, and a gain is divided by it.
    return rate if rate > SMALLEST else 0.0


def find_gains(
    network: Network,
    sources: Mapping[str, float],
    selectivities: Mapping[str, float],
    found_at: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Return the gain of each join: with it, gain x left x right is its rows in at the rates where it was measured.

    Cost and selectivity of a join are per row in, at the rates in `found_at` (by join and input), by default at the
    rates that follow from the sources. The length of the window is part of the gain. An idle side counts as fast as the
    other one; if both are idle, each counts one row per second.
    """
    gains: dict[str, float] = {}
    streams: dict[str, Rate] = dict(sources)
    for operator in network.order:
        if operator.pair_windows is not None:
            rates = found_at.get(operator.name, streams)
            left, right = (_idle_if_tiny(float(rates.get(side, 0.0))) for side in operator.inputs)
            # A gain of two idle sides would be 0 / 0.
            left, right = left or right or 1.0, right or left or 1.0
            rows = left if len(set(operator.inputs)) == 1 else left + right  # a stream joined with itself is read once
            gains[operator.name] = rows / (left * right)
        rate = rows_in(operator, streams, gains)
        for output in operator.outputs:
            streams[output] = selectivities[output] * rate
    return gains
