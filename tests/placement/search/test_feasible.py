"""The search for a large feasible set: results are never worse than their start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.feasible import face_points
from drover.placement.baseline import place_largest_first
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.place import place_resilient
from drover.placement.score import feasible
from drover.placement.search.feasible import (
    SearchEffort,
    climb,
    feasible_size,
    improve_within_budget,
)
from drover_lab.placement.exact import largest_feasible
from drover_lab.placement.instances import tree_problem
from tests.strategies.problems import problems

QUICK = SearchEffort(points=128, look=2_000_000, starts=2)


def test_upper_bounds_cut_the_set_off() -> None:
    """Two streams, one node each: without bounds 1/2 of the ideal set, a square; a bound at half a rate halves it."""
    problem = PlacementProblem(units=("a", "b"), capacity=np.ones(2), coefficients=np.eye(2))
    points = face_points(2, 4096, 1)
    places = np.array([0, 1])
    whole = feasible_size(problem, places, points)
    assert whole == pytest.approx(0.5, rel=1e-3)
    halved = feasible_size(replace(problem, upper=np.array([0.5, np.inf])), places, points)
    assert halved == pytest.approx(whole / 2, rel=1e-2)


@pytest.mark.parametrize("size", [5, 10])
def test_the_search_finds_what_rod_misses(size: int) -> None:
    gains = []
    for seed in range(3):
        problem = tree_problem(seed, size=size)
        start = place_resilient(problem, default_rng(0))
        found = climb(problem, start, default_rng(seed), SearchEffort(points=256, look=20_000_000, starts=1))
        gains.append(feasible(problem, found) / feasible(problem, start))
    assert min(gains) > 0.999
    assert np.mean(gains) > 1.05


@given(problem=problems(max_units=7, max_nodes=3, ruled=False), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_no_plan_is_better_than_the_oracle(problem: PlacementProblem, seed: int) -> None:
    d = problem.shares().shape[1]
    if not d:
        return
    points = face_points(d, 128, seed)
    best = feasible_size(problem, largest_feasible(problem, points), points)
    assert feasible_size(problem, default_rng(seed).integers(0, problem.n, problem.m), points) <= best * (1 + 1e-9)
    assert feasible_size(problem, place_resilient(problem, default_rng(0)), points) <= best * (1 + 1e-9)


def test_the_search_is_near_the_optimum() -> None:
    ratios = []
    for seed in range(12):
        problem = tree_problem(seed, nodes=3, streams=3, size=3)
        points = face_points(3, 2048, 99)
        best = feasible_size(problem, largest_feasible(problem, points), points)
        found = climb(problem, place_resilient(problem, default_rng(0)), default_rng(seed), QUICK)
        ratios.append(feasible_size(problem, found, points) / best)
    assert min(ratios) >= 0.95
    assert np.mean(ratios) >= 0.995


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_budget_of_state_is_kept_and_used(share: float) -> None:
    problem = replace(tree_problem(3, nodes=4, size=6), state=np.round(default_rng(0).exponential(1000, 30)))
    start = place_largest_first(problem, default_rng(0))
    found = improve_within_budget(problem, start, share * problem.state.sum(), default_rng(0), QUICK)
    assert problem.state[found != start].sum() <= share * problem.state.sum()
    assert (feasible(problem, found) > feasible(problem, start)) == (share > 0)


def test_the_oracle_refuses_problems_that_are_too_large() -> None:
    with pytest.raises(Exception, match=r"10\^50 plans"):
        largest_feasible(tree_problem(0, size=10), face_points(5, 8, 1))


def test_equal_seeds_give_equal_plans() -> None:
    problem = tree_problem(4, size=5)
    start = place_resilient(problem, default_rng(0))
    assert (
        climb(problem, start, default_rng(5), QUICK).tolist() == climb(problem, start, default_rng(5), QUICK).tolist()
    )
