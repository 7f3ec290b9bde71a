"""Windows as arrays: the same as sample by sample, and what costs from before a change are worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.columns import columns_of, measured_in
from drover.load.sample import Sample
from drover.load.trust import trust
from drover.load.window import Window, measured
from drover.network.model import Network
from tests.load.networks import example_3, example_9
from tests.strategies import networks
from tests.strategies.values import Draw


@st.composite
def windows(draw: Draw) -> tuple[Network, Window]:
    """Some samples of some operators in some periods."""
    network = draw(networks())
    window = Window(5)
    count = st.integers(0, 50)
    for number in range(draw(st.integers(0, 4))):
        sources = {source.name: float(draw(count)) for source in network.sources if draw(st.booleans())}
        samples = [
            Sample(
                one.name,
                {name: float(draw(count)) for name in one.inputs},
                {name: float(draw(count)) for name in one.outputs},
                draw(st.floats(0, 2)),
            )
            for one in network.operators
            if draw(st.booleans())
        ]
        window = window.push(number, draw(st.sampled_from([0.5, 1.0, 3.0])), sources, samples)
    return network, window


@given(windows())
@settings(max_examples=60)
def test_arrays_say_what_samples_say(drawn: tuple[Network, Window]) -> None:
    network, window = drawn
    plain, found = measured(window), measured_in(window, network)
    assert found.rates == plain.rates
    assert found.series == plain.series
    assert set(found.operators) == set(plain.operators)
    for name, behaviour in plain.operators.items():
        assert found.operators[name].cost == pytest.approx(behaviour.cost)
        assert found.operators[name].selectivity == pytest.approx(behaviour.selectivity)
        assert found.operators[name].found_at == pytest.approx(behaviour.found_at)


def test_a_period_is_read_anew_for_another_network() -> None:
    window = Window().push(1, 1.0, {"r1": 5.0}, [Sample("o1", {"r1": 5.0}, {"o1": 4.0}, 0.5)])
    assert columns_of(window, example_3()).busy.sum() == 0.5
    assert columns_of(window, example_9()).took.shape[0] == 7
    assert columns_of(window, example_3()).took.shape[0] == 4


def costing(network: Network, costs: dict[str, list[float]]) -> Window:
    """A window in which rows cost so much, period by period; 100 rows come into each input."""
    window = Window(100)
    for number in range(len(next(iter(costs.values())))):
        samples = [
            Sample(
                one.name,
                dict.fromkeys(one.inputs, 100.0),
                dict.fromkeys(one.outputs, 100.0),
                costs[one.name][number] * 100 * len(one.inputs),
            )
            for one in network.operators
            if one.name in costs
        ]
        window = window.push(number, 1.0, {}, samples)
    return window


def test_costs_of_before_count_where_they_agree_and_only_there() -> None:
    network, rng = example_3(), default_rng(0)
    usual = rng.normal(1.0, 0.05, 20).tolist()
    new = [1.05, 1.03]
    window = costing(network, {"o1": [*usual, *new], "o2": [*usual, 1.5, 1.5]})
    told = columns_of(window, network)
    factor = dict(zip((one.name for one in network.order), trust(told, network, 2), strict=True))
    assert factor["o1"] == pytest.approx(np.mean([*usual, *new]) / np.mean(new))
    assert factor["o2"] == 1  # it costs more than chance allows
    assert factor["o4"] == 1  # nothing is known of it
    few = columns_of(costing(network, {"o1": [1.0, 1.01, 0.99, *new]}), network)
    assert (trust(few, network, 2) == 1).all()  # too little was known before


def test_what_a_join_costs_per_row_depends_on_rates_and_is_left_alone() -> None:
    network = example_9()
    window = costing(network, {"o5": [1.0, 1.1] * 6 + [1.04, 1.04]})
    assert (trust(columns_of(window, network), network, 2) == 1).all()
