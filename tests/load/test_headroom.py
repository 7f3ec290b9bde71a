"""Headroom: how far rates can grow, and who is in the way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import LoadError
from drover.load.headroom import Headroom, headroom
from drover.load.profile import make_profile
from drover.network.build import Builder
from drover.network.model import Network
from drover.network.operators import Join
from tests.load.networks import COLUMNS, each_alone, example_3, example_9, profile
from tests.strategies import networks

COSTS = {"o1": 0.01, "o2": 0.02, "o3": 0.03, "o4": 0.04}
RATES = {"r1": 10.0, "r2": 5.0}  # loads: .1, .2, .15, .2
CHAINS = {"o1": 0, "o2": 0, "o3": 1, "o4": 1}
CROSSED = {"o1": 0, "o2": 1, "o3": 1, "o4": 0}


def room(plan: dict[str, int], capacity: list[float], rates: dict[str, float] = RATES) -> Headroom:
    network = example_3()
    return headroom(profile(network, rates, COSTS, {}), each_alone(network), plan, np.array(capacity))


@pytest.mark.parametrize(
    ("plan", "capacity", "factor", "node"),
    [
        pytest.param(CHAINS, [1, 1], 1 / 0.35, 1, id="the fuller of two nodes"),
        pytest.param(CHAINS, [0.6, 1], 2.0, 0, id="a smaller node is full first"),
        pytest.param(dict.fromkeys(COSTS, 0), [1], 1 / 0.65, 0, id="one node"),
        pytest.param(CHAINS, [1, 1, 1, 1, 1, 1], 1 / 0.35, 1, id="more nodes than operators"),
        pytest.param(CHAINS, [0.15, 1], 0.5, 0, id="a node that is overloaded already: rates must shrink"),
    ],
)
def test_all_rates_together(plan: dict[str, int], capacity: list[float], factor: float, node: int) -> None:
    found = room(plan, capacity)
    assert found.all.factor == pytest.approx(factor)
    assert found.all.node == node


def test_each_source_alone() -> None:
    found = room(CROSSED, [1, 1])  # node 0: .1 r1 + .2 r2; node 1: .2 r1 + .15 r2
    first, second = found.sources
    assert [each.source for each in found.sources] == ["r1", "r2"]
    assert [each.limit for each in found.sources] == pytest.approx([42.5, 22.5])
    assert (first.node, second.node) == (1, 0)
    assert found.weakest == first
    assert first.factor == pytest.approx(4.25)


def test_the_worst_mix_is_straight_towards_a_node() -> None:
    found = room(CROSSED, [1, 1])
    assert found.worst is not None
    assert found.worst.node == 1
    step = 0.65 / (0.2**2 + 0.15**2)  # node 1 has .65 left; shares are .2 and .15
    assert found.worst.factors == pytest.approx({"r1": 1 + 0.2 * step, "r2": 1 + 0.15 * step})
    assert found.worst.change == pytest.approx(0.65 / 0.25)


@pytest.mark.parametrize(
    ("rates", "limits", "factor"),
    [
        pytest.param({"r1": 0.0, "r2": 5.0}, [1 / 0.03, 1 / 0.07], 1 / 0.35, id="a source at rest"),
        pytest.param({"r1": 0.0, "r2": 0.0}, [1 / 0.03, 1 / 0.07], math.inf, id="nothing flows"),
    ],
)
def test_sources_at_rest(rates: dict[str, float], limits: list[float], factor: float) -> None:
    found = room(CHAINS, [1, 1], rates)
    assert [each.limit for each in found.sources] == pytest.approx(limits)
    assert found.sources[0].factor == math.inf
    assert found.all.factor == pytest.approx(factor)
    assert (found.all.node is None) == math.isinf(factor)
    assert found.worst is not None
    assert math.isinf(found.worst.change) == math.isinf(factor)


def test_a_node_overloaded_by_other_sources_leaves_no_headroom() -> None:
    found = room(CHAINS, [0.25, 1])
    assert found.overloaded == (0,)
    assert found.worst is None
    assert [each.limit for each in found.sources] == [pytest.approx(25 / 3), 0.0]
    assert found.weakest is not None
    assert found.weakest.source == "r2"


def test_operators_that_cost_nothing_have_no_limit() -> None:
    network = example_3()
    free = profile(network, {}, dict.fromkeys(COSTS, 0.0), {})
    found = headroom(free, each_alone(network), CHAINS, np.ones(2))
    assert (found.all.factor, found.all.node, found.weakest) == (math.inf, None, None)


def test_a_join_grows_with_the_product_of_its_rates() -> None:
    network = example_9()
    costs = dict.fromkeys((f"o{j}" for j in range(1, 7)), 0.0) | {"o5": 0.01}
    plan = dict.fromkeys(each_alone(network), 0)
    given_profile = profile(network, {"r1": 5.0, "r2": 5.0}, costs, {"o5": 0.5})  # the join's load is .1
    found = headroom(given_profile, each_alone(network), plan, np.array([0.4]))
    assert found.all.factor == pytest.approx(2.0)
    assert [each.factor for each in found.sources] == pytest.approx([4.0, 4.0])
    assert found.worst is not None
    assert found.worst.factors == pytest.approx({"r1": 2.0, "r2": 2.0})


@given(networks(max_operators=7, max_sources=3), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_at_the_limit_one_node_is_full_and_none_is_overloaded(network: Network, n: int, seed: int) -> None:
    rng = default_rng(seed)
    known = profile(
        network,
        {source.name: float(rng.uniform(1, 9)) for source in network.sources},
        {operator.name: float(rng.uniform(0.01, 0.1)) for operator in network.operators},
        {stream: float(rng.uniform(0.1, 2)) for operator in network.operators for stream in operator.outputs},
    )
    unit_of = each_alone(network)
    plan = {unit: int(rng.integers(n)) for unit in unit_of.values()}
    capacity = rng.uniform(0.5, 20.0, size=n)
    found = headroom(known, unit_of, plan, capacity)
    assume(found.worst is not None)
    assert found.worst is not None

    def fullness(rates: dict[str, float]) -> tuple[int, float]:
        loads = np.zeros(n)
        for operator, load in known.loads(dict(rates)).items():
            loads[plan[operator]] += float(load)
        return int((loads / capacity).argmax()), float((loads / capacity).max())

    cases = [(found.all.node, {name: found.all.factor * rate for name, rate in known.rates.items()})]
    cases += [(each.node, {**known.rates, each.source: each.limit}) for each in found.sources]
    cases += [(found.worst.node, {name: rate * found.worst.factors[name] for name, rate in known.rates.items()})]
    for node, rates in cases:
        if node is not None:
            assert fullness(rates)[1] == pytest.approx(1.0, rel=1e-6)
            assert fullness({name: rate * (1 + 1e-6) for name, rate in rates.items()})[1] > 1.0


@given(networks(max_operators=7, max_sources=3), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_without_joins_no_mix_is_worse_than_the_worst(network: Network, seed: int) -> None:
    assume(not any(isinstance(operator, Join) for operator in network.operators) and network.operators)
    rng = default_rng(seed)
    known = profile(
        network,
        {s.name: float(rng.uniform(1, 9)) for s in network.sources},
        dict.fromkeys(each_alone(network), 0.01),
        {},
    )
    plan = {unit: int(rng.integers(2)) for unit in each_alone(network)}
    found = headroom(known, each_alone(network), plan, np.array([1e6, 1e6]))
    assert found.worst is not None
    assert found.worst.change <= (found.all.factor - 1) * math.sqrt(len(known.rates)) * (1 + 1e-9)
    for each in found.sources:
        assert found.worst.change <= (each.factor - 1) * (1 + 1e-9)


def test_a_plan_that_does_not_fit_is_refused() -> None:
    network = example_3()
    known = make_profile(network)
    with pytest.raises(LoadError, match="unit 'o2' has no node"):
        headroom(known, each_alone(network), {"o1": 0}, np.ones(1))
    with pytest.raises(LoadError, match=r"unit 'o1' is on node 3, but there are capacities for nodes 0 to 1"):
        headroom(known, each_alone(network), {"o1": 3}, np.ones(2))
    with pytest.raises(LoadError, match="capacity is empty"):
        headroom(known, each_alone(network), {}, np.ones(0))


def test_a_network_without_operators_has_unlimited_headroom() -> None:
    builder = Builder("n")
    builder.source("s", COLUMNS, time="ts").output()
    found = headroom(make_profile(builder.build()), {}, {}, np.ones(2))
    assert (found.all.factor, found.loads.tolist()) == (math.inf, [0.0, 0.0])
