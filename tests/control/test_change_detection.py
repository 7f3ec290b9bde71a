"""Lasting changes: of rates, and of what rows cost on a node."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.control.change_detection import find_cost_change, find_rate_change, node_costs, source_rates
from drover.load.arrays import Floats
from drover.load.columns import columns_of
from drover.load.sample import Sample
from drover.load.window import Window
from tests.load.networks import example_3


def noisy(levels: list[float], spread: float = 0.01) -> Floats:
    """One node whose load scatters around these levels, after another that stays."""
    rng = default_rng(0)
    return np.array([rng.normal(0.5, spread, len(levels)), np.array(levels) + rng.normal(0, spread, len(levels))])


@pytest.mark.parametrize(
    ("levels", "at"),
    [
        pytest.param([0.5] * 20 + [0.65] * 3, 20, id="three periods of higher costs"),
        pytest.param([0.5] * 20 + [0.35] * 3, 20, id="or of lower ones"),
        pytest.param([0.5] * 20 + [0.65] * 2, None, id="two may be chance"),
        pytest.param([0.5] * 20 + [0.65, 0.5, 0.65], None, id="and so may three that are not in a row"),
        pytest.param([0.5] * 20 + [0.54] * 3, None, id="a little is left to the window"),
        pytest.param([0.5] * 7 + [0.65] * 3, None, id="too little is known before"),
        pytest.param([0.5, 0.65] * 10 + [0.65] * 3, None, id="what was there before is no change"),
    ],
)
def test_costs_that_change_for_good(levels: list[float], at: int | None) -> None:
    assert find_cost_change(noisy(levels)) == at


def test_a_change_has_to_stand_out_from_the_noise() -> None:
    assert find_cost_change(noisy([0.5] * 20 + [0.65] * 3, spread=0.08)) is None


def test_loads_of_nodes_are_those_of_every_period_at_the_latest_rates() -> None:
    network = example_3()
    window = Window(10)
    for number, (rows, cost) in enumerate([(10, 0.01), (0, 0.0), (40, 0.01), (40, 0.02), (40, 0.02), (40, 0.02)]):
        samples = [Sample("o1", {"r1": float(rows)}, {"o1": float(rows)}, rows * cost)]
        window = window.push(number, 2.0, {"r1": float(rows)}, samples)
    found = node_costs(columns_of(window, network), network, np.array([1, 0, 0, -1]), np.array([1.0, 0.5]))
    assert found[0].tolist() == [0.0] * 6
    # 20 rows per second; in the second period no row tells the cost, and the mean stands in.
    np.testing.assert_allclose(found[1], np.array([0.2, 0.32, 0.2, 0.4, 0.4, 0.4]) / 0.5)


def test_rates_are_known_by_their_own_noise() -> None:
    rates = default_rng(0).poisson(1000, (2, 20)).astype(float)
    assert find_rate_change(rates) is None
    assert find_rate_change(np.hstack([rates, rates[:, :2] * [[1], [3]]])) == 20
    assert find_rate_change(np.hstack([rates, rates[:, :1] * 3])) is None


def test_rates_of_sources_are_rows_per_second_by_name() -> None:
    window = Window(10).push(1, 2.0, {"b": 10.0}, []).push(2, 4.0, {"a": 4.0, "b": 20.0}, [])
    assert source_rates(window).tolist() == [[0.0, 1.0], [5.0, 5.0]]
    assert source_rates(Window(10).push(1, 2.0, {}, [])).shape == (0, 1)


@pytest.mark.parametrize(
    ("rates", "at"),
    [
        pytest.param([100] * 5 + [141] * 2, 5, id="five periods show what is usual"),
        pytest.param([100] * 4 + [141] * 2, None, id="four do not"),
        pytest.param([100] * 5 + [139] * 2, None, id="a source may always change by 40 %"),
        pytest.param([100] * 5 + [59] * 2, 5, id="a fall"),
        pytest.param([100] * 5 + [61] * 2, None, id="a small fall"),
        pytest.param([100] * 5 + [150, 200, 150], 5, id="a change that began three periods ago"),
        pytest.param([100] * 5 + [150, 200], 5, id="the earliest of several"),
        pytest.param([100] * 5 + [150, 50], None, id="on both sides"),
        pytest.param([100] * 8 + [300] + [100] * 8 + [250] * 2, None, id="a burst that was seen before"),
    ],
)
def test_rates_that_change_for_good(rates: list[float], at: int | None) -> None:
    assert find_rate_change(np.array([[7.0] * len(rates), rates])) == at


@pytest.mark.parametrize(
    ("known", "level", "at"),
    [
        pytest.param(10, 0.5501, 10, id="more than a twentieth of the capacity"),
        pytest.param(10, 0.5499, None, id="less"),
        pytest.param(9, 0.6, None, id="too little is known before"),
    ],
)
def test_the_least_change_of_cost(known: int, level: float, at: int | None) -> None:
    assert find_cost_change(np.array([[0.2] * (known + 3), [0.5] * known + [level] * 3])) == at
