"""What is known about the load of a network: everything, a part, or nothing.

Rule 1: for every kind of operator, cost is busy seconds per row in, and selectivity is rows out per row in. For a join
they hold at the rates in `found_at`, by default at the rates that follow from the sources.
Rule 2: nothing is filled in here; see `profile`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from drover.errors import LoadError

MOST: Final = 1e18  # of any number here: products of larger ones along a network would be infinite
NUMBER_RULE: Final = f"must be finite, not below 0 and not above {MOST:g}"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Cost and selectivity of an operator, as far as they are known."""

    cost: float | None = None  # busy seconds per row in
    selectivity: Mapping[str, float] = field(default_factory=dict)  # rows out per row in, by output stream
    varies: bool = False  # whether the selectivity varies, so that it cannot be relied on
    found_at: Mapping[str, float] = field(
        default_factory=dict
    )  # input rates in rows per second at which the numbers hold


@dataclass(frozen=True, slots=True)
class Statistics:
    """Known rates, costs and selectivities; numbers below 0 and above MOST are refused."""

    rates: Mapping[str, float] = field(default_factory=dict)  # rows per second, by source
    operators: Mapping[str, Behaviour] = field(default_factory=dict)
    series: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # rows per second in each period, by source

    def __post_init__(self) -> None:
        """Raise LoadError for a number that no measurement can give."""
        _refuse("the rate of", self.rates.items())
        _refuse("the cost of", self.costs.items())
        _refuse("the selectivity of", self.selectivities.items())
        _refuse("a rate in the series of", ((name, value) for name, values in self.series.items() for value in values))

    @property
    def costs(self) -> dict[str, float]:
        """The costs that are known, by operator."""
        found = ((name, behaviour.cost) for name, behaviour in self.operators.items())
        return {name: cost for name, cost in found if cost is not None}

    @property
    def selectivities(self) -> dict[str, float]:
        """The selectivities that are known, by output stream."""
        return {
            stream: value for behaviour in self.operators.values() for stream, value in behaviour.selectivity.items()
        }


def _refuse(what: str, named: Iterable[tuple[str, float]]) -> None:
    for name, value in named:
        if not 0 <= value <= MOST:
            raise LoadError(f"{what} {name!r} is {value}, but {NUMBER_RULE}. Correct it or leave it out.")
