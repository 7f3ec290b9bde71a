from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.load.columns import columns_of
from drover.load.cost_carryover import carryover_factors, costs_in, rows_into
from drover.load.sample import Sample
from drover.load.window import Window
from drover.network.model import Network
from tests.load.networks import example_3, example_9


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


def test_earlier_costs_count_only_where_they_agree() -> None:
    network = example_3()
    rng = default_rng(0)
    usual = rng.normal(1.0, 0.05, 20).tolist()
    new = [1.05, 1.03]
    window = costing(network, {"o1": [*usual, *new], "o2": [*usual, 1.5, 1.5]})
    columns = columns_of(window, network)
    factor = dict(zip((one.name for one in network.order), carryover_factors(columns, network, 2), strict=True))
    assert factor["o1"] == pytest.approx(np.mean([*usual, *new]) / np.mean(new))
    assert factor["o2"] == 1  # it costs more than chance allows
    assert factor["o4"] == 1  # nothing is known of it
    few = columns_of(costing(network, {"o1": [1.0, 1.01, 0.99, *new]}), network)
    assert (carryover_factors(few, network, 2) == 1).all()  # too little was known before


def test_costs_of_joins_depend_on_rates_and_are_not_carried_over() -> None:
    network = example_9()
    window = costing(network, {"o5": [1.0, 1.1] * 6 + [1.04, 1.04]})
    assert (carryover_factors(columns_of(window, network), network, 2) == 1).all()


def test_rows_of_all_inputs_count() -> None:
    network = example_9()
    columns = columns_of(costing(network, {"o5": [1.0, 1.0], "o1": [2.0, 2.0]}), network)
    rows = dict(zip((one.name for one in network.order), rows_into(columns, network).tolist(), strict=True))
    assert rows["o5"] == [200.0, 200.0]
    assert rows["o1"] == [100.0, 100.0]
    assert rows["o6"] == [0.0, 0.0]


def test_a_cost_is_busy_time_per_row_and_unknown_without_rows() -> None:
    network = example_3()
    columns = columns_of(costing(network, {"o1": [1.0, 3.0]}), network)
    costs = dict(zip((one.name for one in network.order), costs_in(columns, network), strict=True))
    assert costs["o1"].tolist() == [1.0, 3.0]
    assert np.isnan(costs["o2"]).all()


@pytest.mark.parametrize(
    ("before", "after", "agrees"),
    [
        pytest.param([0.9, 1.0, 1.1, 1.0, 1.0], [1.0], True, id="five periods are enough"),
        pytest.param([0.9, 1.0, 1.1, 1.0], [1.02], False, id="four periods are too few"),
        pytest.param([0.9, 1.0, 1.1, 1.0, 1.0], [1.2], True, id="within three standard errors"),
        pytest.param([0.9, 1.0, 1.1, 1.0, 1.0], [1.3], False, id="beyond three standard errors"),
        pytest.param([0.9, 1.0, 1.1, 1.0, 1.0], [0.0], False, id="no cost afterwards"),
    ],
)
def test_when_costs_agree(before: list[float], after: list[float], agrees: bool) -> None:
    network = example_3()
    columns = columns_of(costing(network, {"o1": [*before, *after]}), network)
    factor = dict(zip((one.name for one in network.order), carryover_factors(columns, network, 1), strict=True))["o1"]
    assert factor == pytest.approx(np.mean([*before, *after]) / after[0] if agrees else 1.0)
