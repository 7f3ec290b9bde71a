"""Nodes evened out by few moves: the fewest that a narrow search finds.

Rule 1: nodes are even if the relative mean loads of no two differ by more than epsilon; only what is not even is worked
on. Rule 2: fewer moves go before more even nodes, and of as few the most even plan is taken. Rule 3: no chance inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.load.series import node_series
from drover.placement.correlation.pairwise import begin, movable
from drover.placement.problem import Flags, Problem
from drover.placement.rules import Conflicts

ROUNDING: Final = 1e-9  # of the spread: a smaller difference is none
WORK: Final = 16_000  # candidates per step, about: the search is as wide as that allows
WIDEST, NARROWEST = 16, 2  # plans that are followed at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Evenness:
    """What counts as even."""

    epsilon: float = 0.1  # relative loads that differ by more are evened out, as in [Xing05], table 2
    goal: float = 0.08  # and then to this: what is just within epsilon is beyond it as soon as somebody measures again


DEFAULT: Final = Evenness()


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """What does not change during a search."""

    series: Floats  # (m, h)
    load: Floats  # (m,) mean
    own: Floats  # (m,) mean square
    capacity: Floats  # (n,)
    usable: Flags  # (n,) nodes that some unit may be on
    barred: Flags  # (m, n) where unit j may not go
    conflicts: Conflicts | None


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A plan on the way."""

    places: Ints  # (m,)
    sums: Floats  # (n, h) load of node i
    moved: tuple[int, ...]  # units that have moved, and stay from then on
    spread: float


def open_nodes(problem: Problem) -> Flags:
    """Return, (n,), the nodes that some unit may be on."""
    return np.asarray(problem.reachable().any(axis=0))


def spread(problem: Problem, places: Ints) -> float:
    """Return the largest difference of the relative mean loads of open nodes under a plan, (m,) without -1."""
    loads = np.bincount(places, problem.load, problem.n) / problem.capacity
    usable = open_nodes(problem)
    return float(np.ptp(loads[usable])) if usable.any() else 0.0


def place_evenly(problem: Problem, rng: Generator, settings: Evenness = DEFAULT) -> Ints:
    """Even out the nodes of the current plan by few moves, if they are not even; sticky units move only in need."""
    problem.need("series", "fewest-moves")
    return even_out(problem, begin(problem, rng), settings)


def even_out(problem: Problem, places: Ints, settings: Evenness = DEFAULT) -> Ints:
    """Return a plan within the goal that few moves lead to from a sound one, or the most even one that was found.

    The moves of every plan that is followed are all looked at for one that ends it, so that two moves suffice where one
    of the best first moves is part of a pair that does.
    """
    if problem.n < 2 or spread(problem, places) <= settings.epsilon:
        return places
    free = movable(problem, places) & (problem.load > 0)
    field = _Field(
        problem.series, problem.load, (problem.series**2).mean(axis=1), problem.capacity, open_nodes(problem),
        ~problem.reachable() | ~free[:, None], Conflicts.of(problem) if problem.apart else None,
    )  # fmt: skip
    width = int(np.clip(WORK // (problem.m * problem.n), NARROWEST, WIDEST))
    best = _Step(places, node_series(problem.series, places, problem.n), (), spread(problem, places))
    followed = [best]
    for _ in range(problem.m):
        found = [(step, *_candidates(field, step)) for step in followed]
        ends = min((_flattest(*each) for each in found), key=lambda step: step.spread)
        if ends.spread < best.spread * (1 - ROUNDING):
            best = ends
        if best.spread <= settings.goal:
            break
        followed = _steepest(field, found, width)
        if not followed:
            break
    return best.places


def _candidates(field: _Field, step: _Step) -> tuple[Floats, Floats]:
    """Return, (m, n) each, the spread and the change of pressure if unit j moved to node i; infinite if it may not."""
    load, capacity, places = field.load, field.capacity, step.places
    m, n = field.barred.shape
    loads = np.bincount(places, load, n) / capacity
    rest = _rest(np.where(field.usable, loads, -np.inf))[places]  # (m, n) fullest of all nodes but the two
    least = -_rest(np.where(field.usable, -loads, -np.inf))[places]
    here = (loads[places] - load / capacity[places])[:, None]
    there = loads + load[:, None] / capacity
    spreads = np.maximum(np.maximum(here, there), rest) - np.minimum(np.minimum(here, there), least)
    products = 2 / field.series.shape[1] * (field.series @ step.sums.T)  # (m, n)
    leaving = (field.own - products[np.arange(m), places]) / capacity[places]
    change = (field.own[:, None] + products) / capacity + leaving[:, None]
    barred = field.barred.copy()
    barred[np.arange(m), places] = True
    barred[list(step.moved)] = True
    if field.conflicts is not None:
        for j in range(m):
            barred[j, places[field.conflicts.of_unit(j)]] = True
    spreads[barred] = change[barred] = np.inf
    return spreads, change


def _rest(loads: Floats) -> Floats:
    """Return, (n, n), the largest of the loads, (n,), without those of nodes a and b; -inf if there is none."""
    n = len(loads)
    found = np.full((n, n), -np.inf)
    for i in np.argsort(-loads, kind="stable")[:3][::-1]:  # the third is overwritten wherever a larger one is left
        apart = np.ones((n, n), dtype=np.bool_)
        apart[i, :] = apart[:, i] = False
        found[apart] = loads[i]
    return found


def _flattest(step: _Step, spreads: Floats, change: Floats) -> _Step:
    """Return the plan after the move with the least spread; of equal ones, that with the least pressure."""
    tied = np.where(spreads <= spreads.min() + ROUNDING, change, np.inf)
    j, i = np.unravel_index(int(tied.argmin()), spreads.shape)
    if np.isinf(tied[j, i]):
        return step
    places = step.places.copy()
    places[j] = i
    return _Step(places, step.sums, step.moved, float(spreads[j, i]))


def _steepest(field: _Field, found: list[tuple[_Step, Floats, Floats]], width: int) -> list[_Step]:
    """Return the plans with the least pressure that one more move leads to, if it falls; each plan once."""
    n = len(field.capacity)
    ranked: list[tuple[float, int, int]] = []
    for number, (step, _, change) in enumerate(found):
        base = float((step.sums**2 / field.capacity[:, None]).mean(axis=1).sum())
        flat = np.argpartition(change, min(2 * width, change.size - 1), axis=None)[: 2 * width]
        ranked += [(base + float(change.flat[at]), number, int(at)) for at in flat if change.flat[at] < 0]
    kept: dict[bytes, _Step] = {}
    for _, number, at in sorted(ranked):
        if len(kept) == width:
            break
        step, spreads, _ = found[number]
        j, i = divmod(at, n)
        places, sums = step.places.copy(), step.sums.copy()
        sums[places[j]] -= field.series[j]
        sums[i] += field.series[j]
        places[j] = i
        kept.setdefault(places.tobytes(), _Step(places, sums, (*step.moved, j), float(spreads[j, i])))
    return list(kept.values())
