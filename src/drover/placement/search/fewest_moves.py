"""Balances nodes by few moves: the fewest that a beam search finds.

Rule 1: nodes are balanced if the relative mean loads of no two differ by more than epsilon; otherwise the search
starts.
Rule 2: fewer moves come first; among plans with equally few moves, the most balanced one wins.
Rule 3: the search is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.load.series import node_series
from drover.placement.correlation.pairwise import movable, starting_plan
from drover.placement.problem import Flags, PlacementProblem
from drover.placement.rules import Conflicts

ROUNDING: Final = 1e-9  # relative to the spread: a smaller difference counts as none
WORK: Final = 16_000  # approximate number of candidates per step; it determines the width of the search
# plans that the search keeps per step
WIDEST = 16
NARROWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceTarget:
    """When nodes count as balanced."""

    epsilon: float = 0.1  # balance relative loads that differ by more, as in [Xing05], table 2
    goal: float = 0.08  # and stop here: a plan just within epsilon would be beyond it at the next measurement


DEFAULT: Final = BalanceTarget()


@dataclass(frozen=True, slots=True, eq=False)
class _BalancingProblem:
    """The fixed data of a search."""

    series: Floats  # (m, h)
    load: Floats  # (m,) mean
    own: Floats  # (m,) mean square
    capacity: Floats  # (n,)
    usable: Flags  # (n,) nodes that some unit may be on
    barred: Flags  # (m, n) whether unit j may not go to node i
    conflicts: Conflicts | None


@dataclass(frozen=True, slots=True, eq=False)
class _BalancingState:
    """A plan during the search."""

    places: Ints  # (m,)
    sums: Floats  # (n, h) load of node i
    moved: tuple[int, ...]  # units that have moved; each moves at most once
    spread: float


def open_nodes(problem: PlacementProblem) -> Flags:
    """Return, (n,), the nodes that some unit may be on."""
    return np.asarray(problem.reachable().any(axis=0))


def spread(problem: PlacementProblem, places: Ints) -> float:
    """Return the largest difference between relative mean loads of open nodes under a plan, (m,) without -1."""
    loads = np.bincount(places, problem.load, problem.n) / problem.capacity
    usable = open_nodes(problem)
    return float(np.ptp(loads[usable])) if usable.any() else 0.0


def place_with_fewest_moves(problem: PlacementProblem, rng: Generator, settings: BalanceTarget = DEFAULT) -> Ints:
    """Balance the nodes of the current plan by few moves if necessary; sticky units move only from overloaded nodes."""
    problem.need("series", "fewest-moves")
    return even_out(problem, starting_plan(problem, rng), settings)


def even_out(problem: PlacementProblem, places: Ints, settings: BalanceTarget = DEFAULT) -> Ints:
    """Return a plan within the goal that few moves from a valid plan lead to, or the most balanced plan found.

    Every step looks at all moves of every kept plan for a final one. So two moves suffice if one of the best first
    moves belongs to a pair of moves that reaches the goal.
    """
    if problem.n < 2 or spread(problem, places) <= settings.epsilon:
        return places
    # Moving a unit without load evens nothing out, and would only be counted as a move.
    free = movable(problem, places) & (problem.load > 0)
    arrays = _BalancingProblem(
        problem.series,
        problem.load,
        (problem.series**2).mean(axis=1),
        problem.capacity,
        open_nodes(problem),
        ~problem.reachable() | ~free[:, None],
        Conflicts.of(problem) if problem.apart else None,
    )
    # Large problems get a narrower beam, so that a step takes about the same time.
    width = int(np.clip(WORK // (problem.m * problem.n), NARROWEST, WIDEST))
    best = _BalancingState(places, node_series(problem.series, places, problem.n), (), spread(problem, places))
    followed = [best]
    for _ in range(problem.m):
        found = [(step, *_candidates(arrays, step)) for step in followed]
        ends = min((_flattest(*each) for each in found), key=lambda step: step.spread)
        if ends.spread < best.spread * (1 - ROUNDING):
            best = ends
        if best.spread <= settings.goal:
            break
        followed = _steepest(arrays, found, width)
        if not followed:
            break
    return best.places


def _candidates(arrays: _BalancingProblem, step: _BalancingState) -> tuple[Floats, Floats]:
    """Return, (m, n) each, the spread and the change of pressure if unit j moved to node i; infinite if it may not."""
    load = arrays.load
    capacity = arrays.capacity
    places = step.places
    m, n = arrays.barred.shape
    loads = np.bincount(places, load, n) / capacity
    rest = _rest(np.where(arrays.usable, loads, -np.inf))[places]  # (m, n) largest load of the other nodes
    least = -_rest(np.where(arrays.usable, -loads, -np.inf))[places]
    here = (loads[places] - load / capacity[places])[:, None]
    there = loads + load[:, None] / capacity
    spreads = np.maximum(np.maximum(here, there), rest) - np.minimum(np.minimum(here, there), least)
    products = 2 / arrays.series.shape[1] * (arrays.series @ step.sums.T)  # (m, n)
    leaving = (arrays.own - products[np.arange(m), places]) / capacity[places]
    change = (arrays.own[:, None] + products) / capacity + leaving[:, None]
    barred = arrays.barred.copy()
    barred[np.arange(m), places] = True
    # A second move of the same unit could always be replaced by one direct move.
    barred[list(step.moved)] = True
    if arrays.conflicts is not None:
        for j in range(m):
            barred[j, places[arrays.conflicts.of_unit(j)]] = True
    spreads[barred] = change[barred] = np.inf
    return spreads, change


def _rest(loads: Floats) -> Floats:
    """Return, (n, n), the largest of the loads, (n,), without those of nodes a and b; -inf if there is none."""
    n = len(loads)
    found = np.full((n, n), -np.inf)
    for i in np.argsort(-loads, kind="stable")[:3][::-1]:  # the largest last: it overwrites the others
        apart = np.ones((n, n), dtype=np.bool_)
        apart[i, :] = apart[:, i] = False
        found[apart] = loads[i]
    return found


def _flattest(step: _BalancingState, spreads: Floats, change: Floats) -> _BalancingState:
    """Return the plan after the move with the least spread; ties go to the least pressure."""
    # Within rounding, several moves are often equally good. The pressure decides among them, not the last digit.
    tied = np.where(spreads <= spreads.min() + ROUNDING, change, np.inf)
    j, i = np.unravel_index(int(tied.argmin()), spreads.shape)
    if np.isinf(tied[j, i]):
        return step
    places = step.places.copy()
    places[j] = i
    return _BalancingState(places, step.sums, step.moved, float(spreads[j, i]))


def _steepest(
    arrays: _BalancingProblem, found: list[tuple[_BalancingState, Floats, Floats]], width: int
) -> list[_BalancingState]:
    """Return the plans with the least pressure after one more move that lowers it, without duplicates."""
    n = len(arrays.capacity)
    ranked: list[tuple[float, int, int]] = []
    for number, (step, _, change) in enumerate(found):
        base = float((step.sums**2 / arrays.capacity[:, None]).mean(axis=1).sum())
        flat = np.argpartition(change, min(2 * width, change.size - 1), axis=None)[: 2 * width]
        ranked += [(base + float(change.flat[at]), number, int(at)) for at in flat if change.flat[at] < 0]
    kept: dict[bytes, _BalancingState] = {}
    for _, number, at in sorted(ranked):
        if len(kept) == width:
            break
        step, spreads, _ = found[number]
        j, i = divmod(at, n)
        places = step.places.copy()
        sums = step.sums.copy()
        sums[places[j]] -= arrays.series[j]
        sums[i] += arrays.series[j]
        places[j] = i
        kept.setdefault(places.tobytes(), _BalancingState(places, sums, (*step.moved, j), float(spreads[j, i])))
    return list(kept.values())
