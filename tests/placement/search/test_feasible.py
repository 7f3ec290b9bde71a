"""The search for a large feasible set: kernels equal plain numpy, results never below their start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.feasible import face_points, feasible_ratio, floor_point, remaining_weights, weights
from drover.placement.baseline import place_largest_first
from drover.placement.exact import largest_feasible
from drover.placement.instances import tree_problem
from drover.placement.problem import Problem, no_links
from drover.placement.resilient.place import place_resilient
from drover.placement.score import feasible, node_coefficients
from drover.placement.search import kernels
from drover.placement.search.feasible import Effort, climb, take_field, take_state, within, worth
from tests.strategies.problems import problems

QUICK = Effort(points=128, look=2_000_000, starts=2)


def plain(problem: Problem) -> Problem:
    """The same without links, whose cost the search does not see."""
    return replace(problem, links=no_links(problem.coefficients.shape[1]))


@given(problem=problems(ruled=False), seed=st.integers(0, 99), level=st.sampled_from([0.0, 0.1]))
def test_the_value_is_the_feasible_ratio(problem: Problem, seed: int, level: float) -> None:
    problem = replace(plain(problem), lower=level * problem.rates)
    d = problem.shares().shape[1]
    if not d:
        return
    points, places = face_points(d, 64, seed), default_rng(seed).integers(0, problem.n, problem.m)
    totals = problem.coefficients.sum(axis=0)
    floor = floor_point(problem.lower, totals, problem.capacity)
    weighed = remaining_weights(weights(node_coefficients(problem, places), problem.capacity, totals), floor)
    if not np.isfinite(weighed).all() or (1 / weighed.max() < 1e-3):
        return  # the floor fills a node, or nearly: the search takes a margin for it that the ratio has not
    expected = feasible_ratio(weighed, points) * (1 - floor.sum()) ** d
    assert worth(problem, places, points) == pytest.approx(expected, rel=1e-6)


@given(problem=problems(), seed=st.integers(0, 99), level=st.sampled_from([0.0, 0.2]))
def test_a_candidate_is_worth_what_it_is_worth_once_made(problem: Problem, seed: int, level: float) -> None:
    problem = replace(plain(problem), lower=level * problem.rates, upper=9 * problem.rates)
    d, rng = problem.shares().shape[1], default_rng(seed)
    if not d or problem.n == 1:
        return
    points = face_points(d, 32, seed)
    field = take_field(problem, points)
    state = take_state(field, rng.integers(0, problem.n, problem.m))
    work = np.empty((2, 32))
    for _ in range(5):
        j, q = (int(drawn) for drawn in rng.integers(0, problem.m, 2))
        a, b = int(state.places[j]), int(state.places[q])
        if a == b:
            q, b = problem.m, (a + 1) % problem.n
        foreseen = kernels.evaluate(field, state, j, q, a, b, work)
        kernels.carry_out(field, state, j, q, b)
        assert kernels.value(field, state) == pytest.approx(foreseen, rel=1e-9)
        fresh = take_state(field, state.places)
        assert kernels.value(field, fresh) == pytest.approx(foreseen, rel=1e-9)
        assert np.sort(state.top, axis=0)[::-1].tolist() == state.top.tolist()


def test_upper_bounds_cut_the_set_off() -> None:
    """Two streams, one node each: without bounds 1/2 of the ideal set, a square; a bound at half a rate halves it."""
    problem = Problem(units=("a", "b"), capacity=np.ones(2), coefficients=np.eye(2))
    points, places = face_points(2, 4096, 1), np.array([0, 1])
    whole = worth(problem, places, points)
    assert whole == pytest.approx(0.5, rel=1e-3)
    halved = worth(replace(problem, upper=np.array([0.5, np.inf])), places, points)
    assert halved == pytest.approx(whole / 2, rel=1e-2)


@pytest.mark.parametrize("size", [5, 10])
def test_the_search_finds_what_rod_misses(size: int) -> None:
    gains = []
    for seed in range(3):
        problem = tree_problem(seed, size=size)
        start = place_resilient(problem, default_rng(0))
        found = climb(problem, start, default_rng(seed), Effort(points=256, look=20_000_000, starts=1))
        gains.append(feasible(problem, found) / feasible(problem, start))
    assert min(gains) > 0.999
    assert np.mean(gains) > 1.05


@given(problem=problems(max_units=7, max_nodes=3, ruled=False), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_no_plan_is_better_than_the_oracle(problem: Problem, seed: int) -> None:
    d = problem.shares().shape[1]
    if not d:
        return
    points = face_points(d, 128, seed)
    best = worth(problem, largest_feasible(problem, points), points)
    assert worth(problem, default_rng(seed).integers(0, problem.n, problem.m), points) <= best * (1 + 1e-9)
    assert worth(problem, place_resilient(problem, default_rng(0)), points) <= best * (1 + 1e-9)


def test_the_search_is_near_the_optimum() -> None:
    ratios = []
    for seed in range(12):
        problem = tree_problem(seed, nodes=3, streams=3, size=3)
        points = face_points(3, 2048, 99)
        best = worth(problem, largest_feasible(problem, points), points)
        found = climb(problem, place_resilient(problem, default_rng(0)), default_rng(seed), QUICK)
        ratios.append(worth(problem, found, points) / best)
    assert min(ratios) >= 0.95
    assert np.mean(ratios) >= 0.995


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_a_budget_of_state_is_kept_and_used(share: float) -> None:
    problem = replace(tree_problem(3, nodes=4, size=6), state=np.round(default_rng(0).exponential(1000, 30)))
    start = place_largest_first(problem, default_rng(0))
    found = within(problem, start, share * problem.state.sum(), default_rng(0), QUICK)
    assert problem.state[found != start].sum() <= share * problem.state.sum()
    assert (feasible(problem, found) > feasible(problem, start)) == (share > 0)


def test_an_oracle_refuses_what_it_cannot_finish() -> None:
    with pytest.raises(Exception, match=r"10\^50 plans"):
        largest_feasible(tree_problem(0, size=10), face_points(5, 8, 1))


def test_equal_seeds_give_equal_plans() -> None:
    problem = tree_problem(4, size=5)
    start = place_resilient(problem, default_rng(0))
    assert (
        climb(problem, start, default_rng(5), QUICK).tolist() == climb(problem, start, default_rng(5), QUICK).tolist()
    )
