"""Workloads have the degrees that were drawn, and the same seed gives the same one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import ProblemError
from drover_lab.herding.generate import Correlation, Workload, churn, draw_degrees, generate
from tests.strategies.herds import SEEDS


@given(n=st.integers(1, 400), d=st.integers(1, 5), skew=st.sampled_from([1.0, 1.5, 2.0, 3.0]), seed=SEEDS)
@settings(max_examples=60)
def test_degrees_add_up_and_queries_have_distinct_sources(n: int, d: int, skew: float, seed: int) -> None:
    assert draw_degrees(n * d, n, skew, default_rng(seed)).sum() == n * d
    problem = generate(Workload(queries=n, servers=3, sources=d, skew=skew), default_rng(seed))
    assert problem.n == n
    assert len(problem.source) <= n * d
    again = generate(Workload(queries=n, servers=3, sources=d, skew=skew), default_rng(seed))
    assert again.source.tolist() == problem.source.tolist()


@pytest.mark.parametrize(
    ("skew", "low", "high"),
    [pytest.param(1.0, 10, 80, id="few sources"), pytest.param(2.0, 8_000, 50_000, id="the text's default")],
)
def test_the_number_of_sources_follows_from_the_skew(skew: float, low: int, high: int) -> None:
    problem = generate(Workload(skew=skew), default_rng(1))
    assert low < problem.m < high
    assert (np.diff(problem.start) == 2).all()  # every double subscription could be swapped away


@pytest.mark.parametrize("rates", ["equal", "random", "positive", "negative"])
def test_rates_follow_popularity_as_asked(rates: Correlation) -> None:
    problem = generate(Workload(queries=5_000, rates=rates), default_rng(2))
    degrees = problem.degrees()
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.corrcoef(np.log(degrees), np.log(problem.rate))[0, 1]
    expected = {"equal": np.nan, "random": 0.0, "positive": 1.0, "negative": -1.0}[rates]
    assert np.isnan(slope) if np.isnan(expected) else abs(slope - expected) < 0.1


@pytest.mark.parametrize("shape", [0.0, 2.5])
def test_life_times_have_the_mean_asked_for(shape: float) -> None:
    events = churn(40_000, 500.0, default_rng(3), shape=shape)
    live = np.cumsum(np.where(events.arrives, 1, -1))
    assert live.min() >= 0
    assert np.mean(live[len(live) // 2 :]) == pytest.approx(500, rel=0.15)  # Little's law
    assert (np.diff(events.at) >= 0).all()


def test_a_workload_without_queries_is_refused() -> None:
    with pytest.raises(ProblemError, match="queries is 0, but must be at least 1"):
        Workload(queries=0)
