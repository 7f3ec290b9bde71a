"""Correlation-based placement: the theorems hold, and the results of the text are reproduced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.series import node_series
from drover.placement.baseline import place_balanced_randomly, place_largest_first
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import PlacementProblem
from drover.placement.score import score, variation
from drover_lab.placement.instances import chain_problem

UNITS = st.integers(2, 14)
SEEDS = st.integers(0, 10**6)


def random_problem(m: int, n: int, seed: int, h: int = 7) -> PlacementProblem:
    rng = default_rng(seed)
    series = rng.random((m, h)) * rng.uniform(0.5, 2, (m, 1))
    series[rng.random(m) < 0.1] = 0.7  # constant
    capacity = rng.choice([1.0, 1.0, 2.0], n)
    return PlacementProblem(units=tuple(f"u{j}" for j in range(m)), capacity=capacity, series=series)


@given(m=UNITS, n=st.integers(1, 5), h=st.integers(2, 9), seed=SEEDS)
def test_no_plan_is_below_the_bound(m: int, n: int, h: int, seed: int) -> None:
    problem = random_problem(m, n, seed, h)
    places = default_rng(seed).integers(0, n, m)
    assert score(problem, places).deviation >= 1 - 1e-9
    equal = np.ones(n)
    nodes = node_series(problem.series, places, n)
    assert nodes.var(axis=1).mean() >= nodes.sum(axis=0).var() / n**2 - 1e-12  # [Xing05], theorem 1
    split = np.repeat(nodes.sum(axis=0)[None] / n, n, axis=0)
    assert variation(split, equal)[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        pytest.param([[2, 0], [2, 0], [0, 2], [0, 2]], [0, 1, 0, 1], id="what rises together is separated"),
        pytest.param([[1, 1], [1, 1]], [0, 1], id="constant loads are balanced"),
        pytest.param([[0, 0], [0, 0], [0, 0]], [0, 0, 0], id="no load at all"),
    ],
)
def test_by_hand(series: list[list[float]], expected: list[int]) -> None:
    problem = PlacementProblem(
        units=tuple(f"u{j}" for j in range(len(series))), capacity=np.ones(2), series=np.array(series, dtype=float)
    )
    places = place_correlated(problem, default_rng(0))
    assert [int(i != places[0]) for i in places] == [int(i != expected[0]) for i in expected]


def test_nodes_of_the_global_plan_correlate_and_those_of_others_do_not() -> None:
    """[Xing05], table 3: 0.65, -0.005, -0.001; means over seeds."""
    problems = [chain_problem(seed) for seed in range(5)]
    policies = (place_correlated, place_balanced_randomly, place_largest_first)
    found = [
        np.mean([score(problem, place(problem, default_rng(0))).correlation for problem in problems])
        for place in policies
    ]
    assert found[0] > 0.55
    assert abs(found[1]) < 0.06
    assert abs(found[2]) < 0.06
