"""Ideal rates: how many rows per second every stream carries if no node is overloaded.

Rule 1: rates follow from those of the sources and from selectivities alone, so that an overloaded operator does not
hide the load of those after it [Xing05].
Rule 2: a rate is a number or an array, one entry per case; all cases are worked out in one walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from drover.load.arrays import Floats
from drover.network.model import Network
from drover.network.operators import Join, Operator

Rate: TypeAlias = float | Floats  # rows per second


def rows_in(operator: Operator, streams: Mapping[str, Rate], gains: Mapping[str, float]) -> Rate:
    """Return the rows per second that cost and selectivity of an operator refer to.

    For a join, whose work grows with the product of its rates, that is gain x left x right; for all others their sum.
    """
    if isinstance(operator, Join):
        return gains[operator.name] * streams[operator.left] * streams[operator.right]
    first, *others = (streams[stream] for stream in operator.inputs)
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


def find_gains(
    network: Network,
    sources: Mapping[str, float],
    selectivities: Mapping[str, float],
    found_at: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Return, for each join, the gain that makes gain x left x right its rows in, where its numbers were found.

    Cost and selectivity of a join are per row in, at the rates in `found_at`, by join and input, or at those that
    follow from the sources; the length of its window is part of the gain. An idle side is taken to be as fast as the
    other one, or to have one row per second.
    """
    gains: dict[str, float] = {}
    streams: dict[str, Rate] = dict(sources)
    for operator in network.order:
        if isinstance(operator, Join):
            rates = found_at.get(operator.name, streams)
            left, right = (float(rates.get(side, 0.0)) for side in operator.inputs)
            left, right = left or right or 1.0, right or left or 1.0
            rows = left if operator.left == operator.right else left + right  # a stream with itself comes in once
            gains[operator.name] = rows / (left * right)
        rate = rows_in(operator, streams, gains)
        for output in operator.outputs:
            streams[output] = selectivities[output] * rate
    return gains
