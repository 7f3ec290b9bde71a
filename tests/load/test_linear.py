"""The linear model: what each unit costs per row of each variable, and how few variables that takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import LoadError
from drover.load.linear import linear_model
from drover.load.profile import Origin, Profile, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.network.build import Builder
from drover.network.model import Network
from drover.network.operators import Join
from tests.load.networks import COLUMNS, each_alone, example_3, example_9, profile
from tests.strategies import networks
from tests.strategies.values import Draw

NUMBERS = st.one_of(st.just(0.0), st.floats(0.01, 10.0))


@st.composite
def profiles(draw: Draw, *, varying: bool = True) -> Profile:
    network = draw(networks(max_operators=8, max_sources=3))
    rates = {source.name: draw(NUMBERS) for source in network.sources}
    said = {
        operator.name: Behaviour(
            draw(NUMBERS), {name: draw(NUMBERS) for name in operator.outputs}, varying and draw(st.booleans())
        )
        for operator in network.operators
    }
    return make_profile(network, [(Origin.GIVEN, Statistics(rates, said))])


def by_table(network: Network) -> dict[str, str]:
    """Units as the placement has them: what touches a table is one."""
    return {operator.name: operator.table or operator.name for operator in network.operators}


def test_example_3() -> None:
    costs = {"o1": 14.0, "o2": 6.0, "o3": 9.0, "o4": 14.0}
    model = linear_model(profile(example_3(), {}, costs, {"o1": 0.5, "o3": 0.25}), each_alone(example_3()))
    assert model.variables == ("r1", "r2")
    np.testing.assert_allclose(model.coefficients, [[14.0, 0.0], [3.0, 0.0], [0.0, 9.0], [0.0, 3.5]])


def test_example_8_a_selectivity_that_varies_takes_one_variable() -> None:
    chain = example_3()
    costs = dict.fromkeys(("o1", "o2", "o3", "o4"), 2.0)
    model = linear_model(profile(chain, {"r1": 10.0}, costs, {"o1": 0.5}, varying=("o1",)), each_alone(chain))
    assert model.variables == ("r1", "r2", "o1")
    np.testing.assert_allclose(model.coefficients, [[2.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
    np.testing.assert_allclose(model.rates, [10.0, 1000.0, 5.0])


def test_example_9_a_join_is_its_output_rate() -> None:
    network = example_9()
    costs = dict.fromkeys((f"o{j}" for j in range(1, 7)), 1.0) | {"o5": 3.0}
    model = linear_model(profile(network, {}, costs, {"o2": 0.5, "o5": 0.25}), each_alone(network))
    assert model.variables == ("r1", "r2", "o5")
    np.testing.assert_allclose(model.coefficients[4], [0.0, 0.0, 12.0])  # c5 / s5
    np.testing.assert_allclose(model.coefficients[5], [0.0, 0.0, 1.0])


def fork(*, union_cost: float = 1.0) -> tuple[Network, dict[str, float]]:
    """Three filters; unions of the first and the third, and of the second and the third."""
    builder = Builder("fork")
    source = builder.source("s", COLUMNS, time="ts")
    a, b, c = (source.filter(name, "k > 0") for name in "abc")
    a.union("ac", c).output()
    b.union("bc", c).output()
    return builder.build(), dict.fromkeys("abc", 1.0) | {"ac": union_cost, "bc": 2 * union_cost}


def merge() -> tuple[Network, dict[str, float]]:
    builder = Builder("merge")
    source = builder.source("s", COLUMNS, time="ts")
    a, b = (source.filter(name, "k > 0") for name in "ab")
    a.union("both", b).filter("after", "k > 1").output()
    return builder.build(), {"both": 1.0, "after": 1.0}


def ends() -> tuple[Network, dict[str, float]]:
    builder = Builder("ends")
    builder.source("s", COLUMNS, time="ts").filter("a", "k > 0").output()
    return builder.build(), {"a": 1.0}


@pytest.mark.parametrize(
    ("make", "varying", "added"),
    [
        pytest.param(ends, ("a",), (), id="what only leaves the network loads nobody"),
        pytest.param(merge, ("a", "b"), ("a + b",), id="streams that only a union reads are one variable"),
        pytest.param(merge, ("a",), ("a",), id="a stream beside a linear one"),
        pytest.param(merge, ("a", "b", "both"), ("a + b", "both"), id="a union that varies too"),
        pytest.param(fork, ("a", "b", "c"), ("a + c", "b + c"), id="a mixture of two is counted in with both"),
        pytest.param(lambda: fork(union_cost=0.0), ("a", "b", "c"), (), id="streams that load nobody"),
        pytest.param(merge, (), (), id="a linear network needs none"),
    ],
)
def test_no_more_variables_than_needed(
    make: Callable[[], tuple[Network, dict[str, float]]], varying: tuple[str, ...], added: tuple[str, ...]
) -> None:
    network, costs = make()
    found = profile(network, {"s": 8.0}, costs, {"a": 0.5, "b": 0.25, "c": 0.75}, varying)
    model = linear_model(found, each_alone(network))
    assert model.variables[model.sources :] == added
    loads = found.loads()
    np.testing.assert_allclose(model.loads, [float(loads[unit]) for unit in model.units])


def test_links_between_nodes_keep_streams_separate() -> None:
    network, costs = merge()
    model = linear_model(profile(network, {}, costs, {}, ("a", "b")), each_alone(network), with_streams=True)
    assert model.variables == ("s", "a", "b")
    np.testing.assert_allclose(model.streams["both"], [0.0, 1.0, 1.0])


@given(profiles())
@settings(max_examples=60)
def test_the_model_gives_the_ideal_loads(found: Profile) -> None:
    unit_of = by_table(found.network)
    model = linear_model(found, unit_of)
    loads = dict.fromkeys(model.units, 0.0)
    for operator, load in found.loads().items():
        loads[unit_of[operator]] += float(load)
    np.testing.assert_allclose(model.loads, list(loads.values()), rtol=1e-6, atol=1e-9)
    assert (model.coefficients >= 0).all()


@given(profiles())
@settings(max_examples=60)
def test_streams_are_sums_of_variables(found: Profile) -> None:
    model = linear_model(found, by_table(found.network), with_streams=True)
    for stream, rate in found.stream_rates().items():
        assert model.streams[stream] @ model.rates == pytest.approx(float(rate), rel=1e-6, abs=1e-9)


@given(profiles(), st.floats(0.1, 10.0))
@settings(max_examples=60)
def test_coefficients_hold_at_other_rates_and_varying_selectivities(found: Profile, factor: float) -> None:
    network = found.network
    other = profile(
        network,
        {name: factor * rate + 1 for name, rate in found.rates.items()},
        found.costs,
        {
            stream: value * (factor if operator.name in found.varying and not isinstance(operator, Join) else 1)
            for operator in network.operators
            for stream in operator.outputs
            for value in (found.selectivities[stream],)
        },
        tuple(found.varying),
    )
    before, after = (linear_model(each, by_table(network)) for each in (found, other))
    assert before.variables == after.variables
    np.testing.assert_allclose(before.coefficients, after.coefficients, rtol=1e-6, atol=1e-9)


@given(profiles(varying=False), st.floats(0.1, 10.0))
@settings(max_examples=60)
def test_without_joins_loads_grow_in_step_with_rates(found: Profile, factor: float) -> None:
    if any(isinstance(operator, Join) for operator in found.network.operators):
        return
    assert linear_model(found, by_table(found.network)).variables == tuple(found.rates)
    grown = found.loads({name: factor * rate for name, rate in found.rates.items()})
    for operator, load in found.loads().items():
        assert float(grown[operator]) == pytest.approx(factor * float(load))


def test_an_operator_without_a_unit_is_refused() -> None:
    with pytest.raises(LoadError, match="operator 'o2' has no unit"):
        linear_model(make_profile(example_3()), {"o1": "o1"})
