from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.feasible import face_points, feasible_ratio, floor_point, remaining_weights, weights
from drover.placement.problem import PlacementProblem, no_links
from drover.placement.score import node_coefficients
from drover.placement.search import kernels
from drover.placement.search.feasible import (
    feasible_size,
    search_problem,
    search_state,
)
from tests.strategies.problems import problems


def plain(problem: PlacementProblem) -> PlacementProblem:
    """The same without links, whose cost the search does not see."""
    return replace(problem, links=no_links(problem.coefficients.shape[1]))


@given(problem=problems(ruled=False), seed=st.integers(0, 99), level=st.sampled_from([0.0, 0.1]))
def test_the_value_is_the_feasible_ratio(problem: PlacementProblem, seed: int, level: float) -> None:
    problem = replace(plain(problem), lower=level * problem.rates)
    d = problem.shares().shape[1]
    if not d:
        return
    points = face_points(d, 64, seed)
    places = default_rng(seed).integers(0, problem.n, problem.m)
    totals = problem.coefficients.sum(axis=0)
    floor = floor_point(problem.lower, totals, problem.capacity)
    weighed = remaining_weights(weights(node_coefficients(problem, places), problem.capacity, totals), floor)
    if not np.isfinite(weighed).all() or (1 / weighed.max() < 1e-3):
        return  # the floor fills a node, or nearly: the search takes a margin for it that the ratio has not
    expected = feasible_ratio(weighed, points) * (1 - floor.sum()) ** d
    assert feasible_size(problem, places, points) == pytest.approx(expected, rel=1e-6)


@given(problem=problems(), seed=st.integers(0, 99), level=st.sampled_from([0.0, 0.2]))
def test_the_value_of_a_candidate_equals_the_value_after_the_move(
    problem: PlacementProblem, seed: int, level: float
) -> None:
    problem = replace(plain(problem), lower=level * problem.rates, upper=9 * problem.rates)
    d = problem.shares().shape[1]
    rng = default_rng(seed)
    if not d or problem.n == 1:
        return
    points = face_points(d, 32, seed)
    field = search_problem(problem, points)
    state = search_state(field, rng.integers(0, problem.n, problem.m))
    work = np.empty((2, 32))
    for _ in range(5):
        j, q = (int(drawn) for drawn in rng.integers(0, problem.m, 2))
        a = int(state.places[j])
        b = int(state.places[q])
        if a == b:
            q = problem.m
            b = (a + 1) % problem.n
        foreseen = kernels.evaluate(field, state, j, q, a, b, work)
        kernels.carry_out(field, state, j, q, b)
        assert kernels.value(field, state) == pytest.approx(foreseen, rel=1e-9)
        fresh = search_state(field, state.places)
        assert kernels.value(field, fresh) == pytest.approx(foreseen, rel=1e-9)
        assert np.sort(state.top, axis=0)[::-1].tolist() == state.top.tolist()
