"""Profiles: everything that a load model needs to know about a network, and the origin of each number.

Rule 1: measured values override given ones, given values override those that the network declares, and these override
assumptions. Rule 2: a profile has the origin of every number. Rule 3: if only a series is known of a source, its rate
is the mean of the series.
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
from drover.network.operators import OPERATORS, Operator

RATE: Final = 1_000.0  # assumed rows per second of a source
COST: Final = 1e-6  # assumed busy seconds per row of an operator
SELECTIVITY: Final = 1.0  # assumed rows out per row in; high enough not to hide the load of later operators

V = TypeVar("V")


class Origin(StrEnum):
    """The origin of a number."""

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
    varying: frozenset[str]  # operators whose selectivity varies
    gains: Mapping[str, float]  # by join, in seconds; see `rates`
    origins: Mapping[str, Mapping[str, Origin]]  # of `rates`, `costs` and `selectivities`, by the same names

    def stream_rates(self, rates: Mapping[str, Rate] | None = None) -> dict[str, Rate]:
        """Return the ideal rate of every stream at these source rates, by default those of the profile."""
        return find_rates(self.network, self.rates if rates is None else rates, self.selectivities, self.gains)

    def loads(self, rates: Mapping[str, Rate] | None = None) -> dict[str, Rate]:
        """Return the ideal load of every operator, busy seconds per second."""
        streams = self.stream_rates(rates)
        return {
            operator.name: self.costs[operator.name] * rows_in(operator, streams, self.gains)
            for operator in self.network.operators
        }

    def at(self, rates: Mapping[str, float]) -> Profile:
        """Return the profile with other rates of some sources; their origin is then GIVEN.

        Unlike in `make_profile`, the numbers of joins still refer to the old rates, so higher rates mean more pairs.
        """
        Statistics(rates)  # raises for an impossible rate
        known = {name: rate for name, rate in rates.items() if name in self.rates}
        origins = {**self.origins["rates"], **dict.fromkeys(known, Origin.GIVEN)}
        return replace(
            self,
            rates=MappingProxyType({**self.rates, **known}),
            origins={**self.origins, "rates": MappingProxyType(origins)},
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many rates, costs and selectivities have which origin."""
        return {what: {str(o): c for o, c in Counter(of.values()).items()} for what, of in self.origins.items()}


def make_profile(network: Network, given: Sequence[tuple[Origin, Statistics]] = ()) -> Profile:
    """Return the profile of a network from statistics with their origin, the most trusted first."""
    unknown = _unknown(network, given)
    known = [*given, (Origin.DECLARED, _declared(unknown)), (Origin.ASSUMED, _assumed(network, unknown))]
    sources = [source.name for source in network.sources]
    operators = [operator.name for operator in network.operators]
    streams = [stream for operator in network.operators for stream in operator.outputs]
    rates = _first(sources, ((origin, {**_means(each), **each.rates}) for origin, each in known))
    costs = _first(operators, ((origin, each.costs) for origin, each in known))
    selectivities = _first(streams, ((origin, each.selectivities) for origin, each in known))
    found_at = _found_at(given)
    return Profile(
        network,
        _values(rates),
        _values(costs),
        _values(selectivities),
        frozenset(name for _, each in given for name, behaviour in each.operators.items() if behaviour.varies),
        MappingProxyType(find_gains(network, _values(rates), _values(selectivities), found_at)),
        {
            what: MappingProxyType({name: origin for name, (origin, _) in found.items()})
            for what, found in (("rates", rates), ("costs", costs), ("selectivities", selectivities))
        },
    )


def _first(names: Iterable[str], known: Iterable[tuple[Origin, Mapping[str, V]]]) -> dict[str, tuple[Origin, V]]:
    """Return the first known value of each name, with its origin, in the order of the names."""
    found: dict[str, tuple[Origin, V]] = {}
    for origin, values in known:
        # The first value wins: the most trusted statistics come first (rule 1).
        found = {name: (origin, value) for name, value in values.items()} | found
    return {name: found[name] for name in names}


def _means(statistics: Statistics) -> dict[str, float]:
    return {name: sum(values) / len(values) for name, values in statistics.series.items() if values}


def _found_at(given: Sequence[tuple[Origin, Statistics]]) -> dict[str, Mapping[str, float]]:
    """Return the input rates at which the numbers of operators were found, where these are known."""
    found = [(name, each.found_at) for _, known in reversed(given) for name, each in known.operators.items()]
    return {name: rates for name, rates in found if rates}


def _values(found: Mapping[str, tuple[Origin, V]]) -> Mapping[str, V]:
    return MappingProxyType({name: value for name, (_, value) in found.items()})


def _unknown(network: Network, given: Sequence[tuple[Origin, Statistics]]) -> list[Operator]:
    """Return the operators that lack a cost or a selectivity; with measurements these are few."""
    costs = {name for _, each in given for name in each.costs}
    streams = {stream for _, each in given for stream in each.selectivities}
    return [one for one in network.operators if one.name not in costs or not streams.issuperset(one.outputs)]


def _declared(operators: Iterable[Operator]) -> Statistics:
    """Return what the network itself declares about some of its operators."""
    behaviours: dict[str, Behaviour] = {}
    for operator in operators:
        declared = OPERATORS[operator.kind].declared
        if declared is not None:
            load = declared(operator)
            selectivity = {} if load.selectivity is None else dict.fromkeys(operator.outputs, load.selectivity)
            behaviours[operator.name] = Behaviour(load.cost, selectivity)
    return Statistics(operators=behaviours)


def _assumed(network: Network, operators: Iterable[Operator]) -> Statistics:
    return Statistics(
        {source.name: RATE for source in network.sources},
        {operator.name: Behaviour(COST, _shares(operator)) for operator in operators},
    )


def _shares(operator: Operator) -> dict[str, float]:
    """Return the assumed selectivities: each row in leaves once; a switch divides its rows equally among its cases."""
    each = SELECTIVITY / len(operator.branches) if operator.branches else SELECTIVITY
    return dict.fromkeys(operator.outputs, each)
