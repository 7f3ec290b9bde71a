"""Networks for tests of load models, of synthetic operators and joins."""

from __future__ import annotations

from collections.abc import Mapping

from drover.load.profile import Origin, Profile, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.network.build import Builder
from drover.network.model import Network

COLUMNS = {"ts": "timestamp", "k": "int"}


def each_alone(network: Network) -> dict[str, str]:
    """Every operator as a unit of its own name."""
    return {operator.name: operator.name for operator in network.operators}


def example_3() -> Network:
    """Example 3 of Xing's dissertation: r1 -> o1 -> o2, r2 -> o3 -> o4."""
    builder = Builder("example_3")
    for source, names in (("r1", ("o1", "o2")), ("r2", ("o3", "o4"))):
        stream = builder.source(source, COLUMNS, time="ts")
        for name in names:
            stream = stream.filter(name, "k > 0")
        stream.output()
    return builder.build()


def example_9() -> Network:
    """Example 9 of Xing's dissertation: two chains of two into a join, and an operator after it."""
    builder = Builder("example_9")
    left = builder.source("r1", COLUMNS, time="ts").filter("o1", "k > 0").filter("o2", "k > 0")
    right = builder.source("r2", COLUMNS, time="ts").filter("o3", "k > 0").filter("o4", "k > 0")
    left.join("o5", right, within="1 s", on=["k"]).filter("o6", "k > 0").output()
    return builder.build()


def profile(
    network: Network,
    rates: Mapping[str, float],
    costs: Mapping[str, float],
    selectivities: Mapping[str, float],
    varying: tuple[str, ...] = (),
) -> Profile:
    """A profile from plain numbers; what is left out is assumed."""
    said = {
        operator.name: Behaviour(
            costs.get(operator.name),
            {stream: selectivities[stream] for stream in operator.outputs if stream in selectivities},
            operator.name in varying,
        )
        for operator in network.operators
    }
    return make_profile(network, [(Origin.GIVEN, Statistics(rates, said))])
