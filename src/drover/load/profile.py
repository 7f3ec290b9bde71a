"""Profiles: everything a load model needs to know of a network, and from whom it is.

Rule 1: what is said first wins: measured before given, given before what the network declares, and that before what
is assumed. Rule 2: a profile tells of each number which of these it is.
Rule 3: a source of which only a series is known has the mean of it as its rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar

from drover.load.rates import Rate, find_gains, find_rates, rows_in
from drover.load.statistics import Behaviour, Statistics
from drover.network.model import Network
from drover.network.operators import COST_CLASSES, Operator, Switch, Synthetic, UserDefined

RATE: Final = 1_000.0  # rows per second of a source of which nothing is known
COST: Final = 1e-6  # busy seconds per row of an operator of which nothing is known
SELECTIVITY: Final = 1.0  # and its rows out per row in, so that no load after it is overlooked

V = TypeVar("V")


class Origin(StrEnum):
    """From whom a number is."""

    MEASURED = "measured"
    GIVEN = "given"
    DECLARED = "declared"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Profile:
    """Rates, costs and selectivities of a whole network."""

    network: Network
    rates: Mapping[str, float]  # rows per second, by source
    costs: Mapping[str, float]  # busy seconds per row in, by operator
    selectivities: Mapping[str, float]  # rows out per row in, by output stream
    varying: frozenset[str]  # operators whose selectivity is not to be relied on
    gains: Mapping[str, float]  # by join, see `rates`; seconds
    origins: Mapping[str, Mapping[str, Origin]]  # of `rates`, `costs` and `selectivities`, by the same names

    def stream_rates(self, rates: Mapping[str, Rate] | None = None) -> dict[str, Rate]:
        """Return the ideal rate of every stream at these rates of the sources, or at those of the profile."""
        return find_rates(self.network, self.rates if rates is None else rates, self.selectivities, self.gains)

    def loads(self, rates: Mapping[str, Rate] | None = None) -> dict[str, Rate]:
        """Return the ideal load of every operator, busy seconds per second."""
        streams = self.stream_rates(rates)
        return {
            operator.name: self.costs[operator.name] * rows_in(operator, streams, self.gains)
            for operator in self.network.operators
        }

    def at(self, rates: Mapping[str, float]) -> Profile:
        """Return the same operators with other rates of some sources, which are then given.

        Unlike in `settle`, what is known of joins still holds at the old rates, and they do more at higher ones.
        """
        Statistics(rates)  # refuses what no rate can be
        known = {name: rate for name, rate in rates.items() if name in self.rates}
        origins = {**self.origins["rates"], **dict.fromkeys(known, Origin.GIVEN)}
        return replace(
            self,
            rates=MappingProxyType({**self.rates, **known}),
            origins={**self.origins, "rates": MappingProxyType(origins)},
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many rates, costs and selectivities are from whom."""
        return {what: {str(o): c for o, c in Counter(of.values()).items()} for what, of in self.origins.items()}


def settle(network: Network, said: Sequence[tuple[Origin, Statistics]] = ()) -> Profile:
    """Return the profile of a network from what was said of it, the most trusted first."""
    unknown = _unknown(network, said)
    told = [*said, (Origin.DECLARED, _declared(unknown)), (Origin.ASSUMED, _assumed(network, unknown))]
    sources = [source.name for source in network.sources]
    operators = [operator.name for operator in network.operators]
    streams = [stream for operator in network.operators for stream in operator.outputs]
    rates = _first(sources, ((origin, {**_means(each), **each.rates}) for origin, each in told))
    costs = _first(operators, ((origin, each.costs) for origin, each in told))
    selectivities = _first(streams, ((origin, each.selectivities) for origin, each in told))
    found_at = _first_told(said)
    return Profile(
        network,
        _values(rates),
        _values(costs),
        _values(selectivities),
        frozenset(name for _, each in said for name, behaviour in each.operators.items() if behaviour.varies),
        MappingProxyType(find_gains(network, _values(rates), _values(selectivities), found_at)),
        {
            what: MappingProxyType({name: origin for name, (origin, _) in found.items()})
            for what, found in (("rates", rates), ("costs", costs), ("selectivities", selectivities))
        },
    )


def _first(names: Iterable[str], told: Iterable[tuple[Origin, Mapping[str, V]]]) -> dict[str, tuple[Origin, V]]:
    """Return, in the network's order, what the first who knows says of each name."""
    found: dict[str, tuple[Origin, V]] = {}
    for origin, values in told:
        found = {name: (origin, value) for name, value in values.items()} | found
    return {name: found[name] for name in names}


def _means(statistics: Statistics) -> dict[str, float]:
    return {name: sum(values) / len(values) for name, values in statistics.series.items() if values}


def _first_told(said: Sequence[tuple[Origin, Statistics]]) -> dict[str, Mapping[str, float]]:
    """Return at which rates the numbers of operators were found, by those who say so."""
    told = [(name, each.found_at) for _, known in reversed(said) for name, each in known.operators.items()]
    return {name: rates for name, rates in told if rates}


def _values(found: Mapping[str, tuple[Origin, V]]) -> Mapping[str, V]:
    return MappingProxyType({name: value for name, (_, value) in found.items()})


def _unknown(network: Network, said: Sequence[tuple[Origin, Statistics]]) -> list[Operator]:
    """Return the operators of which nobody has said all: in a run that is measured these are few."""
    costs = {name for _, each in said for name in each.costs}
    streams = {stream for _, each in said for stream in each.selectivities}
    return [one for one in network.operators if one.name not in costs or not streams.issuperset(one.outputs)]


def _declared(operators: Iterable[Operator]) -> Statistics:
    """Return what the network itself says of some of its operators."""
    said: dict[str, Behaviour] = {}
    for operator in operators:
        if isinstance(operator, Synthetic):
            said[operator.name] = Behaviour(operator.cost, {operator.name: operator.selectivity})
        elif isinstance(operator, UserDefined):
            said[operator.name] = Behaviour(COST_CLASSES[operator.cost])
    return Statistics(operators=said)


def _assumed(network: Network, operators: Iterable[Operator]) -> Statistics:
    return Statistics(
        {source.name: RATE for source in network.sources},
        {operator.name: Behaviour(COST, _shares(operator)) for operator in operators},
    )


def _shares(operator: Operator) -> dict[str, float]:
    """Return what is assumed of an operator's outputs: each row in goes out once, in a switch to any branch alike."""
    each = SELECTIVITY / len(operator.outputs) if isinstance(operator, Switch) else SELECTIVITY
    return dict.fromkeys(operator.outputs, each)
