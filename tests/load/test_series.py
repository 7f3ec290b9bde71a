"""Load series: ideal loads over time, and how they vary together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import LoadError
from drover.load.arrays import Floats
from drover.load.profile import Origin, Profile, make_profile
from drover.load.sample import Sample
from drover.load.series import (
    LoadSeries,
    correlation,
    correlations,
    covariance,
    deviation_bound,
    given_series,
    gram,
    measured_series,
    node_series,
)
from drover.load.window import Window, measured
from drover.network.model import Network
from drover.network.operators import Join
from tests.load.networks import each_alone, example_3, example_9, profile
from tests.strategies import networks
from tests.strategies.values import Draw


@st.composite
def values(draw: Draw) -> Floats:
    m = draw(st.integers(1, 6))
    h = draw(st.integers(1, 8))
    flat = draw(st.lists(st.floats(0, 10), min_size=m * h, max_size=m * h))
    return np.array(flat, dtype=np.float64).reshape(m, h)


def observed(truth: Profile, rates: list[dict[str, float]], behind: dict[str, float] | None = None) -> Window:
    """A window as a run of that profile would measure it; `behind` has the share of its rows an operator manages."""
    window = Window(len(rates))
    for number, sources in enumerate(rates):
        streams = {name: float(rate) for name, rate in sources.items()}
        samples = []
        for operator in truth.network.order:
            share = (behind or {}).get(operator.name, 1.0)
            took = {stream: share * streams[stream] for stream in operator.inputs}
            counted = sum(took.values())
            if isinstance(operator, Join):
                counted = truth.gains[operator.name] * took[operator.left] * took[operator.right]
            out = {stream: truth.selectivities[stream] * counted for stream in operator.outputs}
            streams |= out
            samples.append(Sample(operator.name, took, out, truth.costs[operator.name] * counted))
        window = window.push(number, 1.0, sources, samples)
    return window


COSTS = {"o1": 0.01, "o2": 0.02, "o3": 0.03, "o4": 0.04}


def test_an_overloaded_operator_does_not_hide_the_load_after_it() -> None:
    network = example_3()
    truth = profile(network, {"r1": 10.0, "r2": 10.0}, COSTS, {"o1": 0.5})
    window = observed(truth, [{"r1": 10.0, "r2": 10.0}, {"r1": 20.0, "r2": 10.0}], behind={"o1": 0.25})
    known = make_profile(network, [(Origin.MEASURED, measured(window))])
    series = measured_series(window, known, each_alone(network))
    np.testing.assert_allclose(series.values[:2], [[0.1, 0.2], [0.1, 0.2]])


def test_a_join_that_lags_does_not_hide_load_either() -> None:
    network = example_9()
    truth = profile(network, {"r1": 10.0, "r2": 10.0}, {"o5": 0.01, "o6": 0.02}, {"o5": 0.5})
    rates = [{"r1": 10.0, "r2": 10.0}, {"r1": 20.0, "r2": 5.0}, {"r1": 20.0, "r2": 20.0}]
    window = observed(truth, rates, behind={"o5": 0.5})
    found = measured_series(window, make_profile(network, [(Origin.MEASURED, measured(window))]), each_alone(network))
    np.testing.assert_allclose(found.values[4:], [[0.2, 0.2, 0.8], [0.2, 0.2, 0.8]])


@given(networks(max_operators=8, max_sources=3), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_without_lag_the_series_equals_the_busy_time(network: Network, seed: int) -> None:
    rng = default_rng(seed)
    truth = profile(
        network,
        {source.name: rng.uniform(1, 9) for source in network.sources},
        {operator.name: rng.uniform(0, 2) for operator in network.operators},
        {stream: rng.uniform(0, 2) for operator in network.operators for stream in operator.outputs},
    )
    rates = [{source.name: float(rng.uniform(0, 9)) for source in network.sources} for _ in range(3)]
    window = observed(truth, rates)
    known = make_profile(network, [(Origin.MEASURED, measured(window))])
    series = measured_series(window, known, each_alone(network))
    busy = [[period.samples[unit].busy for period in window.periods] for unit in series.units]
    np.testing.assert_allclose(series.values, np.array(busy).reshape(series.values.shape), rtol=1e-6, atol=1e-9)


def test_a_unit_without_samples_has_the_load_of_the_profile() -> None:
    network = example_3()
    window = Window().push(1, 1.0, {"r1": 10, "r2": 20}, ()).push(3, 1.0, {"r1": 30}, ())
    known = profile(network, {"r1": 1.0, "r2": 5.0}, COSTS, {})
    found = measured_series(window, known, each_alone(network)).values
    np.testing.assert_allclose(found, [[0.1, 0.3], [0.2, 0.6], [0.6, 0.15], [0.8, 0.2]])


def test_windows_that_close_while_no_row_comes_are_load() -> None:
    network = example_3()
    window = Window().push(1, 2.0, {"r1": 0, "r2": 0}, [Sample("o1", {"r1": 0}, {"o1": 8}, 0.5)])
    found = measured_series(window, profile(network, {}, COSTS, {}), each_alone(network)).values
    assert found[0, 0] == pytest.approx(0.25)


def test_given_rates_become_loads() -> None:
    network = example_3()
    known = profile(network, {"r1": 1.0, "r2": 5.0}, COSTS, {"o1": 0.5})
    found = given_series(known, {"r1": [1.0, 2.0]}, {name: name[:1] for name in COSTS} | {"o4": "alone"})
    assert found.units == ("o", "alone")
    np.testing.assert_allclose(found.values, [[0.02 + 0.15, 0.04 + 0.15], [0.2, 0.2]])


@given(values())
def test_moments_are_those_of_numpy(drawn: Floats) -> None:
    np.testing.assert_allclose(covariance(drawn), np.cov(drawn, bias=True).reshape(len(drawn), -1), atol=1e-12)


@given(values())
def test_correlations_are_symmetric_and_bounded(drawn: Floats) -> None:
    found = correlations(drawn)
    np.testing.assert_array_equal(found, found.T)
    assert (np.abs(found) <= 1).all()
    assert set(np.diag(found).round(6)) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param([1, 2, 3], [2, 4, 6], 1.0, id="in step"),
        pytest.param([1, 2, 3], [3, 2, 1], -1.0, id="opposite"),
        pytest.param([1, 1, 1], [1, 2, 3], 0.0, id="a constant series correlates with nothing"),
        pytest.param([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], 0.0, id="constant up to rounding"),
        pytest.param([0, 0, 0], [0, 0, 0], 0.0, id="idle units"),
        pytest.param([5], [7], 0.0, id="a single period"),
    ],
)
def test_correlation(one: list[float], other: list[float], expected: float) -> None:
    found = correlation(np.array(one, dtype=float), np.array(other, dtype=float))
    assert found == pytest.approx(expected)


@given(values(), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_the_gram_matrix_gives_the_nodes_variance_and_load(drawn: Floats, n: int, seed: int, balance: float) -> None:
    node_of = default_rng(seed).integers(n, size=len(drawn))
    nodes = node_series(drawn, node_of, n)
    assignment = np.equal.outer(np.arange(n), node_of).astype(np.float64)  # A, (n, m)
    found = np.diag(assignment @ gram(drawn, balance) @ assignment.T)
    np.testing.assert_allclose(found, nodes.var(axis=1) + balance * nodes.mean(axis=1) ** 2, atol=1e-9)


@given(values(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_no_plan_deviates_less_than_the_bound(drawn: Floats, n: int, seed: int) -> None:
    nodes = node_series(drawn, default_rng(seed).integers(n, size=len(drawn)), n)
    assert deviation_bound(drawn, n) <= nodes.std(axis=1).mean() + 1e-9
    even = np.tile(drawn.sum(axis=0) / n, (n, 1))
    assert deviation_bound(drawn, n) == pytest.approx(even.std(axis=1).mean(), abs=1e-9)


def test_no_periods_at_all() -> None:
    empty = np.zeros((2, 0))
    assert correlations(empty).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert gram(empty, 1.0).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert not math.isnan(deviation_bound(empty, 3))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(LoadError, match=r"values has shape \(1, 2\), but there are 2 units"):
        LoadSeries(("a", "b"), np.zeros((1, 2)))
    with pytest.raises(LoadError, match="series have 1, 2 periods"):
        given_series(make_profile(example_3()), {"r1": [1.0], "r2": [1.0, 2.0]}, each_alone(example_3()))


def test_stored_arrays_are_read_only() -> None:
    original = np.ones((1, 2))
    series = LoadSeries(("a",), original)
    original[:] = 7
    assert series.values.tolist() == [[1.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        series.values[0, 0] = 2
