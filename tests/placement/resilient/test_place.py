"""ROD: correct by hand, and better than policies that do not look ahead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.load.feasible import face_points
from drover.load.links import UnitLinks
from drover.placement.baseline import place_connected, place_largest_first, place_randomly
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.place import CHOICES, Resilience, place_resilient
from drover.placement.score import feasible, score
from drover.placement.search.feasible import feasible_size
from drover_lab.placement.instances import tree_problem


@pytest.mark.parametrize(
    ("coefficients", "capacity", "expected"),
    [
        pytest.param([[4, 0], [3, 0], [0, 2], [0, 1]], [1, 1], [1, 0, 0, 1], id="streams are split over nodes"),
        pytest.param([[1], [1], [1], [1]], [1, 1], [0, 1, 0, 1], id="equal units alternate"),
        pytest.param([[1], [1], [1], [1]], [3, 1], [0, 0, 0, 1], id="three times the capacity, three times the units"),
        pytest.param([[0], [0]], [1, 1], [0, 0], id="no load at all"),
        pytest.param([[2]], [1, 1, 1], [0], id="one unit, many nodes"),
        pytest.param([[1], [2]], [5], [0, 0], id="one node"),
    ],
)
def test_by_hand(coefficients: list[list[float]], capacity: list[float], expected: list[int]) -> None:
    names = tuple(f"u{j}" for j in range(len(coefficients)))
    problem = PlacementProblem(units=names, capacity=np.array(capacity), coefficients=np.array(coefficients))
    assert place_resilient(problem, default_rng(0)).tolist() == expected


def test_the_order_of_figure_six_one() -> None:
    cases = [tree_problem(seed, size=20) for seed in range(8)]
    policies = (place_resilient, place_largest_first, place_randomly, place_connected)
    found = [np.mean([feasible(problem, place(problem, default_rng(0))) for problem in cases]) for place in policies]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[1]


@pytest.mark.parametrize("choice", CHOICES)
def test_all_nodes_of_class_one_are_equally_good(choice: str) -> None:
    problem = tree_problem(2, size=40)
    ratios = [
        feasible(problem, place_resilient(problem, default_rng(seed), Resilience(class_one=choice)))
        for seed in range(4)
    ]
    assert min(ratios) > 0.7


@pytest.mark.parametrize(("choice", "cuts"), [("fewest-cuts", 0), ("distance", 1)])
def test_links_can_decide_among_nodes_of_class_one(choice: str, cuts: int) -> None:
    links = UnitLinks(("a",), np.array([0]), np.array([1]), np.zeros((1, 1)), np.ones((1, 1)))
    coefficients = np.array([[0.5], [0.5], [6], [4], [4]])  # a third of it all is 5
    problem = PlacementProblem(units=tuple("abcde"), capacity=np.ones(3), coefficients=coefficients, links=links)
    places = place_resilient(problem, default_rng(0), Resilience(class_one=choice))
    assert score(problem, places).cut_links == cuts
    assert places[2] not in places[[0, 1, 3, 4]]


def test_a_lower_bound_is_used() -> None:
    gains = []
    for seed in range(6):
        problem = tree_problem(seed, size=20)
        total = problem.coefficients.sum(axis=0)
        lower = np.array([0.6, 0.2, 0.0, 0.0, 0.0]) * problem.capacity.sum() / total
        bounded = replace(problem, lower=lower)
        informed = feasible(bounded, place_resilient(bounded, default_rng(0)))
        gains.append(informed - feasible(bounded, place_resilient(problem, default_rng(0))))
    assert np.mean(gains) > 0


def test_an_upper_bound_is_used() -> None:
    gains = []
    for seed in range(8):
        problem = tree_problem(seed, size=10)
        total = problem.coefficients.sum(axis=0)
        upper = np.array([0.05, 0.05, 0.1, 1.0, 1.0]) * problem.capacity.sum() / total
        bounded = replace(problem, upper=upper)
        points = face_points(5, 4096, 1)
        informed = feasible_size(bounded, place_resilient(bounded, default_rng(0)), points)
        gains.append(informed / feasible_size(bounded, place_resilient(problem, default_rng(0)), points))
    assert np.mean(gains) > 1.05


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ProblemError, match="class_one is 'best', but must be one of distance"):
        Resilience(class_one="best")
