from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.placement.correlation import twins
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import PlacementProblem

UNITS = st.integers(2, 14)


SEEDS = st.integers(0, 10**6)


def random_problem(m: int, n: int, seed: int, h: int = 7) -> PlacementProblem:
    rng = default_rng(seed)
    series = rng.random((m, h)) * rng.uniform(0.5, 2, (m, 1))
    series[rng.random(m) < 0.1] = 0.7  # constant
    capacity = rng.choice([1.0, 1.0, 2.0], n)
    return PlacementProblem(units=tuple(f"u{j}" for j in range(m)), capacity=capacity, series=series)


@given(m=UNITS, n=st.integers(1, 4), seed=SEEDS)
@settings(max_examples=50)
def test_the_kernel_places_all_units_like_its_twin(m: int, n: int, seed: int) -> None:
    problem = random_problem(m, n, seed)
    expected = twins.place_globally(problem.series, problem.capacity, 0.8)
    assert place_correlated(problem, default_rng(0)).tolist() == expected.tolist()
