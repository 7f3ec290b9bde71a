"""The best plan of small problems, by looking at all: the oracle of every other policy.

Rule 1: it shares no search with them. Rule 2: a problem with more plans than it can look at is refused.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.placement.exact import kernels
from drover.placement.problem import Problem
from drover.placement.resilient.twins import order
from drover.placement.search.feasible import take_field
from drover.placement.search.steady import Steadiness, features

MOST: Final = 10**8  # plans


def largest_feasible(problem: Problem, points: Floats) -> Ints:
    """Return the plan with the largest feasible set, as seen on `points`, (P, d), of the ideal face."""
    _refuse_large(problem)
    todo = order(problem.shares())
    field = take_field(problem, points)
    found: Ints = kernels.branch(field, todo, symmetric(problem))
    return _unless_none(problem, found)


def least_variance(problem: Problem, settings: Steadiness) -> Ints:
    """Return the plan with the least F of `search/steady.py`."""
    _refuse_large(problem)
    seen = features(problem, settings)
    field = take_field(problem, np.ones((1, max(problem.shares().shape[1], 1)))[:, : problem.shares().shape[1]])
    found: Ints = kernels.count_through(seen @ seen.T, 1 / problem.capacity, field, symmetric(problem))
    return _unless_none(problem, found)


def symmetric(problem: Problem) -> bool:
    """Return whether nodes can be exchanged, so that the first unit need not try them all."""
    return bool((problem.capacity == problem.capacity[0]).all() and problem.reachable().all())


def _refuse_large(problem: Problem) -> None:
    if problem.m * np.log(problem.n) > np.log(MOST):
        raise ProblemError(
            f"there are {problem.n}^{problem.m} plans, but at most {MOST:.0e} can be looked at. "
            "Choose a policy that searches, such as searched."
        )


def _unless_none(problem: Problem, places: Ints) -> Ints:
    if (places < 0).any():
        raise ProblemError(f"no plan for {problem.n} nodes keeps all rules. Add nodes, or drop a rule.")
    return places
