"""The best plan of a small problem by exhaustive search: the oracle for all other policies.

Rule 1: it shares no search code with them. Rule 2: a problem with too many plans is refused.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.twins import order
from drover.placement.search.feasible import search_problem
from drover.placement.search.steady import Steadiness, features
from drover_lab.placement import exact_kernels as kernels

MOST: Final = 10**8  # plans


def largest_feasible(problem: PlacementProblem, points: Floats) -> Ints:
    """Return the plan with the largest feasible set, estimated on `points`, (P, d), of the ideal face."""
    _refuse_large(problem)
    todo = order(problem.shares())
    arrays = search_problem(problem, points)
    found: Ints = kernels.branch(arrays, todo, symmetric(problem))
    return _unless_none(problem, found)


def least_variance(problem: PlacementProblem, settings: Steadiness) -> Ints:
    """Return the plan with the least F of `search/steady.py`."""
    _refuse_large(problem)
    seen = features(problem, settings)
    arrays = search_problem(problem, np.ones((1, max(problem.shares().shape[1], 1)))[:, : problem.shares().shape[1]])
    found: Ints = kernels.enumerate_plans(seen @ seen.T, 1 / problem.capacity, arrays, symmetric(problem))
    return _unless_none(problem, found)


def symmetric(problem: PlacementProblem) -> bool:
    """Return whether the nodes are interchangeable, so that the first unit need not try all of them."""
    return bool((problem.capacity == problem.capacity[0]).all() and problem.reachable().all())


def _refuse_large(problem: PlacementProblem) -> None:
    if problem.m * np.log(problem.n) > np.log(MOST):
        raise ProblemError(
            f"there are {problem.n}^{problem.m} plans, but exhaustive search takes at most {MOST:.0e}. "
            "Choose a policy that searches, such as searched."
        )


def _unless_none(problem: PlacementProblem, places: Ints) -> Ints:
    if (places < 0).any():
        raise ProblemError(f"no plan for {problem.n} nodes keeps all rules. Add nodes, or drop a rule.")
    return places
