"""A larger feasible set than ROD's: local search over moves and swaps, from ROD's plan and others.

Rule 1: plans are compared on common points, and the last word has a set of points that no search has seen.
Rule 2: the result is never below the plan it starts from. Rule 3: effort is counted in candidates, not in seconds, so
that equal seeds give equal plans on any machine.
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
from drover.placement.problem import Flags, Problem
from drover.placement.resilient.cluster import abundant, place_clustered
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import Conflicts, repair
from drover.placement.score import hyperplanes
from drover.placement.search import kernels
from drover.placement.search.kernels import Field, State

HELD_OUT: Final = 4096  # points for the last word
SWAPS: Final = 100  # units up to which a budget looks at swaps, too
LEAST_ROOM: Final = 1e-9  # of the ideal set's size, between equal bounds on a rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to search."""

    points: int = 512
    look: int = 400_000_000  # candidates times points: a bit more than a second
    starts: int = 3  # plans to climb from
    strength: int = 3  # units that a kick moves


DEFAULT: Final = Effort()


def take_field(problem: Problem, points: Floats, movable: Flags | None = None) -> Field:
    """Return what a search has to know of a problem, on `points`, (P, d), of the ideal face."""
    shares, conflicts = problem.shares(), Conflicts.of(problem)
    totals = problem.coefficients.sum(axis=0)
    floor = floor_point(problem.lower, totals, problem.capacity)
    nobody = np.zeros((1, len(points)))
    return Field(
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


def upper_caps(problem: Problem, points: Floats) -> Floats:
    """Return, (P,), 1 / the distance from the lower bounds at which a rate reaches its upper one, in each direction."""
    totals = problem.coefficients.sum(axis=0)
    upper = np.where(np.isinf(problem.upper), 0.0, problem.upper)
    bounded = np.isfinite(problem.upper)[totals > 0]
    if not bounded.any():
        return np.zeros(len(points))
    room = ((upper - problem.lower) * totals)[totals > 0][bounded] / problem.capacity.sum()
    # A rate that cannot change leaves no distance at all; a tiny one does not divide by 0.
    return np.asarray((points[:, bounded] / np.maximum(room, LEAST_ROOM)).max(axis=1))


def take_state(field: Field, places: Ints) -> State:
    """Return a plan as the kernels change it."""
    n, p = len(field.inverse), field.rays.shape[1]
    empty = (np.empty((n, p)), np.empty(n), np.empty((3, p)), np.empty((3, p), dtype=np.int64))
    state = State(np.array(places, dtype=np.int64), *empty)
    kernels.settle(field, state)
    return state


def worth(problem: Problem, places: Ints, points: Floats) -> float:
    """Return the size of a plan's feasible set between the bounds on rates, up to a factor that no plan changes."""
    field = take_field(problem, points)
    return float(kernels.value(field, take_state(field, places)))


def size(problem: Problem, places: Ints, points: Floats) -> float:
    """Return the same with what links cost, in load and in bandwidth, which the search itself does not see."""
    floor = floor_point(problem.lower, problem.coefficients.sum(axis=0), problem.capacity)
    weighed = hyperplanes(problem, places)
    if not np.isfinite(weighed).all():
        return 0.0
    margin = 1 - weighed @ floor
    if (margin <= 0).any():
        return 0.0
    largest = (points @ (weighed / margin[:, None]).T).max(axis=1)
    return float((np.maximum(largest, upper_caps(problem, points)) ** -float(points.shape[1])).mean())


def climb(problem: Problem, places: Ints, rng: Generator, effort: Effort = DEFAULT) -> Ints:
    """Return the best plan found from a sound one, or that one."""
    d = problem.shares().shape[1]
    if problem.n == 1 or d == 0:
        return places
    seeds = rng.integers(2**31, size=2)
    seen, unseen = face_points(d, effort.points, int(seeds[0])), face_points(d, HELD_OUT, int(seeds[1]))
    field = take_field(problem, seen)
    budget = max(effort.look // effort.points // effort.starts, 1)
    begun = starts(problem, places, rng, effort.starts)
    found = [places, *begun]  # a start can be better than what is made of it: the search does not see links
    for start in begun:
        state = take_state(field, start)
        kicks = _kicks(problem, budget)
        orders = rng.permuted(np.tile(np.arange(problem.m), (kicks + 1, 1)), axis=1)
        kernels.wander(field, state, orders, rng.random((kicks, effort.strength, 2)), budget)
        found.append(state.places.copy())
    values = [size(problem, plan, unseen) for plan in found]
    return found[int(np.argmax(values))]


def within(
    problem: Problem,
    places: Ints,
    budget: float,
    rng: Generator,
    effort: Effort = DEFAULT,
    *,
    cost: Floats | None = None,
) -> Ints:
    """Return the best plan found within a budget of moves from a sound one; `cost`, (m,), is bytes of state else.

    Sticky units move only in need. The result is better on points that nobody has seen, or the given plan.
    """
    d = problem.shares().shape[1]
    if problem.n == 1 or d == 0:
        return places
    seeds = rng.integers(2**31, size=2)
    seen, unseen = face_points(d, effort.points, int(seeds[0])), face_points(d, HELD_OUT, int(seeds[1]))
    field = take_field(problem, seen, movable(problem, places))
    state = take_state(field, places)
    price = np.array(problem.state if cost is None else cost, dtype=np.float64)
    kernels.spend(field, state, np.array(places), price, float(budget), problem.m <= SWAPS)
    better = size(problem, state.places, unseen) > size(problem, places, unseen)
    return state.places if better else places


def _kicks(problem: Problem, budget: int) -> int:
    """Return more kicks than the budget allows, as a climb looks at every move at least; few if there are few plans."""
    return min(4096, 4 * problem.m**2, math.ceil(budget / max(problem.m * (problem.n - 1) // 2, 1)))


def starts(problem: Problem, places: Ints, rng: Generator, count: int) -> list[Ints]:
    """Return plans to climb from: the given one, then ROD's for coefficients that are a little off.

    If links cost anything, the second is by clusters.
    """
    found = [places]
    if problem.links.communication.any() or not abundant(problem):
        found.append(place_clustered(problem, rng))
    for _ in range(count - len(found)):
        noise = rng.uniform(0.7, 1.4, (problem.m, 1))
        bent = replace(problem, coefficients=problem.coefficients * noise)
        found.append(repair(problem, place_resilient(bent, rng)))
    return found


def place_searched(problem: Problem, rng: Generator, effort: Effort = DEFAULT) -> Ints:
    """Place by ROD, then search."""
    return climb(problem, repair(problem, place_resilient(problem, rng)), rng, effort)
