"""The exhaustive search against a plain enumeration of all plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import ProblemError
from drover.load.arrays import Ints
from drover.load.feasible import face_points
from drover.placement.faults import faults
from drover.placement.problem import PlacementProblem
from drover.placement.rules import fuse
from drover.placement.search.feasible import feasible_size
from drover.placement.search.steady import Steadiness, features
from drover_lab.placement.exact import largest_feasible, least_variance
from tests.strategies.problems import problems

SETTINGS = Steadiness()


def all_plans(problem: PlacementProblem) -> Iterator[Ints]:
    for places in product(range(problem.n), repeat=problem.m):
        found = np.array(places, dtype=np.int64)
        if not any(faults(problem, found)):
            yield found


def spread(problem: PlacementProblem, places: Ints) -> float:
    sums = np.zeros((problem.n, features(problem, SETTINGS).shape[1]))
    np.add.at(sums, places, features(problem, SETTINGS))
    return float(((sums**2).sum(axis=1) / problem.capacity).sum())


@given(problem=problems(max_units=5, max_nodes=3), seed=st.integers(0, 9), level=st.sampled_from([0.0, 0.2]))
@settings(max_examples=40)
def test_the_best_of_all_plans_is_found(problem: PlacementProblem, seed: int, level: float) -> None:
    problem = replace(fuse(problem).problem, lower=level * problem.rates)
    plans = list(all_plans(problem))
    least = least_variance(problem, SETTINGS)
    assert list(faults(problem, least)) == []
    assert spread(problem, least) == pytest.approx(min(spread(problem, plan) for plan in plans), abs=1e-12)
    if d := problem.shares().shape[1]:
        points = face_points(d, 32, seed)
        best = largest_feasible(problem, points)
        assert list(faults(problem, best)) == []
        assert feasible_size(problem, best, points) == pytest.approx(
            max(feasible_size(problem, plan, points) for plan in plans)
        )


def test_rules_that_no_plan_keeps_are_an_error() -> None:
    problem = PlacementProblem(
        units=tuple("abc"), capacity=np.ones(2), coefficients=np.ones((3, 1)), apart=((0, 1, 2),)
    )
    with pytest.raises(ProblemError, match="no plan for 2 nodes keeps all rules"):
        largest_feasible(problem, np.ones((1, 1)))
