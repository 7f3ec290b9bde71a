"""Local search over moves and swaps for a larger feasible set than ROD's, from ROD's plan and others.

Rule 1: plans are compared on common points. The final choice uses points that the search has not seen.
Rule 2: the result is never worse than the start. Rule 3: effort is counted in candidates, not in seconds, so that equal
seeds give equal plans on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.load.feasible import face_points, floor_point
from drover.placement.correlation.pairwise import movable
from drover.placement.problem import Flags, PlacementProblem
from drover.placement.resilient.cluster import abundant, place_clustered
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import Conflicts, repair
from drover.placement.score import hyperplanes
from drover.placement.search import kernels
from drover.placement.search.kernels import SearchProblem, SearchState

HELD_OUT: Final = 4096  # points for the final choice
SWAPS: Final = 100  # largest number of units for which a budgeted search also tries swaps
LEAST_ROOM: Final = 1e-9  # smallest distance, relative to the ideal set, between equal bounds on a rate


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEffort:
    """How long to search."""

    points: int = 512
    look: int = 400_000_000  # candidates times points: a little more than a second
    starts: int = 3  # plans to start from
    strength: int = 3  # units that a kick moves


DEFAULT: Final = SearchEffort()


def search_problem(problem: PlacementProblem, points: Floats, movable: Flags | None = None) -> SearchProblem:
    """Return the arrays of a problem for the search, on `points`, (P, d), of the ideal face."""
    shares = problem.shares()
    conflicts = Conflicts.of(problem)
    totals = problem.coefficients.sum(axis=0)
    floor = floor_point(problem.lower, totals, problem.capacity)
    nobody = np.zeros((1, len(points)))
    return SearchProblem(
        np.ascontiguousarray(np.vstack([shares @ points.T, nobody])),
        np.append(shares @ floor, 0.0),
        problem.capacity.sum() / problem.capacity,
        upper_caps(problem, points),
        points.shape[1],
        np.ones(problem.m, dtype=np.bool_) if movable is None else np.asarray(movable),
        problem.reachable(),
        conflicts.start,
        conflicts.near,
    )


def upper_caps(problem: PlacementProblem, points: Floats) -> Floats:
    """Return, (P,), 1 / the distance from the lower bounds to the first upper bound of a rate, in each direction."""
    totals = problem.coefficients.sum(axis=0)
    upper = np.where(np.isinf(problem.upper), 0.0, problem.upper)
    bounded = np.isfinite(problem.upper)[totals > 0]
    if not bounded.any():
        return np.zeros(len(points))
    room = ((upper - problem.lower) * totals)[totals > 0][bounded] / problem.capacity.sum()
    # A rate with equal bounds leaves no distance at all; a tiny distance avoids a division by 0.
    return np.asarray((points[:, bounded] / np.maximum(room, LEAST_ROOM)).max(axis=1))


def search_state(arrays: SearchProblem, places: Ints) -> SearchState:
    """Return a plan as arrays that the kernels change in place."""
    n = len(arrays.inverse)
    p = arrays.rays.shape[1]
    empty = (np.empty((n, p)), np.empty(n), np.empty((3, p)), np.empty((3, p), dtype=np.int64))
    state = SearchState(np.array(places, dtype=np.int64), *empty)
    kernels.recompute(arrays, state)
    return state


def feasible_size(problem: PlacementProblem, places: Ints, points: Floats) -> float:
    """Return the size of a plan's feasible set between the bounds on rates, up to a constant factor."""
    arrays = search_problem(problem, points)
    return float(kernels.value(arrays, search_state(arrays, places)))


def feasible_size_with_links(problem: PlacementProblem, places: Ints, points: Floats) -> float:
    """Return the size as `feasible_size` does, but with the costs of links, which the search ignores."""
    floor = floor_point(problem.lower, problem.coefficients.sum(axis=0), problem.capacity)
    weighed = hyperplanes(problem, places)
    if not np.isfinite(weighed).all():
        return 0.0
    margin = 1 - weighed @ floor
    if (margin <= 0).any():
        return 0.0
    largest = (points @ (weighed / margin[:, None]).T).max(axis=1)
    return float((np.maximum(largest, upper_caps(problem, points)) ** -float(points.shape[1])).mean())


def climb(problem: PlacementProblem, places: Ints, rng: Generator, effort: SearchEffort = DEFAULT) -> Ints:
    """Return the best plan found from a valid one, or the given plan."""
    d = problem.shares().shape[1]
    if problem.n == 1 or d == 0:
        return places
    seeds = rng.integers(2**31, size=2)
    seen = face_points(d, effort.points, int(seeds[0]))
    unseen = face_points(d, HELD_OUT, int(seeds[1]))
    arrays = search_problem(problem, seen)
    # The effort is shared by all starts, and a candidate costs one evaluation of all points.
    budget = max(effort.look // effort.points // effort.starts, 1)
    begun = starts(problem, places, rng, effort.starts)
    found = [places, *begun]  # a start can be better than its improvement, because the search ignores links
    for start in begun:
        state = search_state(arrays, start)
        kicks = _kicks(problem, budget)
        orders = rng.permuted(np.tile(np.arange(problem.m), (kicks + 1, 1)), axis=1)
        kernels.search_with_kicks(arrays, state, orders, rng.random((kicks, effort.strength, 2)), budget)
        found.append(state.places.copy())
    # On points that the search has not seen: on its own points, it looks better than it is (rule 1).
    values = [feasible_size_with_links(problem, plan, unseen) for plan in found]
    return found[int(np.argmax(values))]


def improve_within_budget(
    problem: PlacementProblem,
    places: Ints,
    budget: float,
    rng: Generator,
    effort: SearchEffort = DEFAULT,
    *,
    cost: Floats | None = None,
) -> Ints:
    """Return the best plan found within a budget of moves from a valid one; `cost`, (m,), defaults to bytes of state.

    Sticky units move only from overloaded nodes. The result is better on unseen points, or it is the given plan.
    """
    d = problem.shares().shape[1]
    if problem.n == 1 or d == 0:
        return places
    seeds = rng.integers(2**31, size=2)
    seen = face_points(d, effort.points, int(seeds[0]))
    unseen = face_points(d, HELD_OUT, int(seeds[1]))
    arrays = search_problem(problem, seen, movable(problem, places))
    state = search_state(arrays, places)
    price = np.array(problem.state if cost is None else cost, dtype=np.float64)
    kernels.spend(arrays, state, np.array(places), price, float(budget), problem.m <= SWAPS)
    better = feasible_size_with_links(problem, state.places, unseen) > feasible_size_with_links(problem, places, unseen)
    return state.places if better else places


def _kicks(problem: PlacementProblem, budget: int) -> int:
    """Return a bound on the kicks that the budget allows, as every climb tries all moves; fewer for few plans."""
    return min(4096, 4 * problem.m**2, math.ceil(budget / max(problem.m * (problem.n - 1) // 2, 1)))


def starts(problem: PlacementProblem, places: Ints, rng: Generator, count: int) -> list[Ints]:
    """Return the plans to start from: the given one, then ROD's plans for slightly perturbed coefficients.

    If links cost anything, the second plan is made from clusters.
    """
    found = [places]
    if problem.links.communication.any() or not abundant(problem):
        found.append(place_clustered(problem, rng))
    for _ in range(count - len(found)):
        # Perturbed coefficients change the order in which ROD places units, and so lead to other plans of its quality.
        noise = rng.uniform(0.7, 1.4, (problem.m, 1))
        bent = replace(problem, coefficients=problem.coefficients * noise)
        found.append(repair(problem, place_resilient(bent, rng)))
    return found


def place_searched(problem: PlacementProblem, rng: Generator, effort: SearchEffort = DEFAULT) -> Ints:
    """Place by ROD, then improve the plan by local search."""
    return climb(problem, repair(problem, place_resilient(problem, rng)), rng, effort)
