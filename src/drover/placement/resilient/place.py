"""Resilient operator distribution, ROD: a greedy search for the plan with the largest feasible set.

Rule 1: it uses only coefficients and capacities, never current rates, so that its plan holds when rates change.
Rule 2: symbols are those of chapter 4 of [Xing06]: l_k, W, R_L. Streams with l_k = 0 are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.load.feasible import floor_point
from drover.load.links import UnitLinks
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.placement.resilient import kernels
from drover.placement.resilient.twins import order
from drover.placement.rules import Conflicts

CHOICES: Final = {"distance": kernels.DISTANCE, "random": kernels.DRAW, "fewest-cuts": kernels.CUTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resilience:
    """How ROD decides where its theory leaves the choice open."""

    class_one: str = "distance"  # how to choose among nodes that cost nothing: see CHOICES

    def __post_init__(self) -> None:
        """Refuse an unknown choice."""
        if self.class_one not in CHOICES:
            raise ProblemError(f"class_one is {self.class_one!r}, but must be one of {', '.join(CHOICES)}.")


DEFAULT: Final = Resilience()


def place_resilient(
    problem: PlacementProblem, rng: Generator, settings: Resilience = DEFAULT, *, placed: Ints | None = None
) -> Ints:
    """Place by ROD; units that `placed`, (m,), puts on a node stay there and count, -1 is unplaced."""
    problem.need("coefficients", "resilient")
    shares = problem.shares()
    portion = problem.capacity / problem.capacity.sum()
    places = np.full(problem.m, NOWHERE) if placed is None else placed.copy()
    todo = order(shares)
    if placed is not None:
        todo = todo[places[todo] == NOWHERE]
    conflicts = Conflicts.of(problem)
    if settings.class_one == "fewest-cuts":
        link_start, linked = adjacency(problem.links, problem.m)
    else:
        link_start = np.zeros(problem.m + 1, dtype=np.int64)
        linked = np.empty(0, dtype=np.int64)
    draws = rng.random(problem.m) if settings.class_one == "random" else np.zeros(problem.m)
    kernels.assign(
        shares,
        portion,
        todo,
        places,
        problem.reachable(),
        conflicts.start,
        conflicts.near,
        link_start,
        linked,
        rate_box(problem),
        draws,
        CHOICES[settings.class_one],
    )
    return places


def rate_box(problem: PlacementProblem) -> Floats:
    """Return, (3, d), the bounds on the rates in the ideal set, and the squared length of each axis in distances.

    Distances are measured from the point of the lower bounds, section 4.4.1 [Xing06]. Upper bounds are not in the text:
    the length of an axis is how far its rate can still grow, so that streams that hardly vary hardly count.
    """
    totals = problem.coefficients.sum(axis=0)
    # The common case without bounds needs no scaling, and gives exactly the distances of the text.
    if not problem.lower.any() and np.isinf(problem.upper).all():
        return np.repeat([[0.0], [np.inf], [1.0]], np.count_nonzero(totals), axis=1)
    lower = floor_point(problem.lower, totals, problem.capacity)
    upper = floor_point(problem.upper, totals, problem.capacity)
    height = 1 - float(lower.sum())
    if height <= 0:
        return np.array([lower, upper, np.ones(len(lower))])
    # If all axes had length 0, all distances would be infinite.
    length = np.maximum(np.minimum((upper - lower) / height, 1.0), 1e-9)
    return np.array([lower, upper, length**2])


def adjacency(links: UnitLinks, m: int) -> tuple[Ints, Ints]:
    """Return the links of each unit as adjacency lists: those of unit j are linked[start[j] : start[j + 1]]."""
    ends = np.concatenate([links.source, links.target])
    start = np.zeros(m + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=m), out=start[1:])
    return start, np.concatenate([links.target, links.source])[np.argsort(ends, kind="stable")]
