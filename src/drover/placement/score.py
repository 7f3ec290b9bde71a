"""The quality of a plan, by every measure.

Rule 1: a score describes one plan; the judge compares two.
Rule 2: a measure without its statistics is NaN, never 0, so that unknown is not taken for good.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from drover.load.arrays import Floats, Ints, frozen
from drover.load.feasible import (
    axis_bound,
    face_points,
    feasible_ratio,
    floor_point,
    plane_distance,
    remaining_weights,
    weights,
)
from drover.load.series import correlations, node_series
from drover.placement.problem import NOWHERE, Flags, PlacementProblem

POINTS: Final = 4096
SEED: Final = 20061012  # seed of the points on which all plans are compared
FLAT: Final = 1e-12  # a deviation below this fraction of the mean is rounding


@dataclass(frozen=True, slots=True)
class PlanScore:
    """The measures of a plan."""

    overload: float  # largest mean load of a node, divided by its capacity
    imbalance: float  # largest difference of a node's relative load from the mean, as a fraction of the mean
    feasible: float  # size of the feasible set above the lower bounds on rates, divided by that of the ideal set
    axis_bound: float  # MMAD: prod_k min_i 1/w_ik, never above `feasible` without lower bounds
    plane_distance: float  # MMPD: smallest distance of a node's hyperplane
    deviation: float  # mean standard deviation of relative node loads, divided by std(X) / C_T; 1 is the minimum
    correlation: float  # mean correlation of the loads of two nodes
    headroom: float  # factor by which all loads can grow until a node is full
    cut: float  # bytes per second between nodes, at current rates
    cut_links: int  # streams between nodes
    moved: float  # bytes of state that move from the current plan
    moved_load: float  # load of the units that move, as a fraction of all load


@lru_cache(maxsize=4)
def _points(d: int) -> Floats:
    """Return the points on which all plans with d streams are compared; cached, because drawing them is slow."""
    return frozen(face_points(d, POINTS, SEED))


def node_coefficients(problem: PlacementProblem, places: Ints) -> Floats:
    """Return L^n, (n, d): busy seconds of each node per tuple of stream k, including the communication of cut links."""
    found = np.zeros((problem.n, problem.coefficients.shape[1]))
    np.add.at(found, places, problem.coefficients)
    links = problem.links
    if len(links.source):
        cut = places[links.source] != places[links.target]
        for ends in (links.source, links.target):
            np.add.at(found, places[ends[cut]], links.communication[cut])
    return found


def node_loads(problem: PlacementProblem, places: Ints) -> Floats:
    """Return, (n,), the mean load of each node."""
    return np.bincount(places, problem.load, problem.n).astype(np.float64)


def score(problem: PlacementProblem, places: Ints) -> PlanScore:
    """Return the measures of a valid plan, (m,)."""
    loads = node_loads(problem, places) / problem.capacity
    mean = problem.load.sum() / problem.capacity.sum()
    feasible, axis, plane = _feasibility(problem, places)
    deviation, correlation = variation(node_series(problem.series, places, problem.n), problem.capacity)
    links = problem.links
    moves = (problem.current != NOWHERE) & (problem.current != places)
    cut = places[links.source] != places[links.target]
    total = problem.load.sum()
    return PlanScore(
        overload=float(loads.max()),
        imbalance=float(np.abs(loads - mean).max() / mean) if mean > 0 else 0.0,
        feasible=feasible,
        axis_bound=axis,
        plane_distance=plane,
        deviation=deviation,
        correlation=correlation,
        headroom=_headroom(problem, places),
        cut=_cut_bytes(problem, cut),
        cut_links=int(cut.sum()),
        moved=float(problem.state[moves].sum()),
        moved_load=float(problem.load[moves].sum() / total) if total > 0 else 0.0,
    )


def _cut_bytes(problem: PlacementProblem, cut: Flags) -> float:
    """Return the bytes per second of the cut links, (g,), at current rates."""
    if not cut.any():
        return 0.0
    return float((problem.links.bandwidth[cut] @ problem.rates).sum()) if len(problem.rates) else math.nan


def feasible(problem: PlacementProblem, places: Ints, points: Floats | None = None) -> float:
    """Return the size of a plan's feasible set above the lower bounds, divided by that of the ideal set."""
    weighed, _floor = _weights(problem, places)
    d = weighed.shape[1]
    if not d:
        return math.nan
    return feasible_ratio(weighed, _points(d) if points is None else points)


def hyperplanes(problem: PlacementProblem, places: Ints) -> Floats:
    """Return the weights of all hyperplanes of a plan: n for load, and n + 1 for bandwidth if it is limited [Xing06].

    The communication of a cut link counts on both its nodes. Its bandwidth counts on both nodes, and once in the total.
    """
    totals = problem.coefficients.sum(axis=0)  # without communication, because the ideal plan cuts no links
    with np.errstate(over="ignore"):  # a stream may load only links, so its total may be tiny
        load = weights(node_coefficients(problem, places), problem.capacity, totals)
    if not len(problem.links.source) or (np.isinf(problem.bandwidth).all() and np.isinf(problem.total_bandwidth)):
        return load
    links = problem.links
    cut = places[links.source] != places[links.target]
    through = np.zeros((problem.n + 1, len(totals)))
    for ends in (links.source, links.target):
        np.add.at(through, places[ends[cut]], links.bandwidth[cut])
    through[-1] = links.bandwidth[cut].sum(axis=0)
    limits = np.append(problem.bandwidth, problem.total_bandwidth)
    with np.errstate(over="ignore"):
        scaled = through[:, totals > 0] * problem.capacity.sum() / totals[totals > 0]
        return np.vstack([load, scaled / limits[:, None]])


def _weights(problem: PlacementProblem, places: Ints) -> tuple[Floats, Floats]:
    """Return the weights of what remains above the lower bounds, and the lower bounds as a point."""
    floor = floor_point(problem.lower, problem.coefficients.sum(axis=0), problem.capacity)
    weighed = hyperplanes(problem, places)
    return (remaining_weights(weighed, floor) if floor.any() else weighed), floor


def _feasibility(problem: PlacementProblem, places: Ints) -> tuple[float, float, float]:
    weighed, _floor = _weights(problem, places)
    if not weighed.shape[1]:
        return math.nan, math.nan, math.nan
    ratio = feasible_ratio(weighed, _points(weighed.shape[1]))
    # Infinite weights mean that the lower bounds alone overload a node.
    if not np.isfinite(weighed).all():
        return ratio, 0.0, 0.0
    return ratio, axis_bound(weighed), float(plane_distance(weighed).min())


def variation(nodes: Floats, capacity: Floats) -> tuple[float, float]:
    """Return the mean deviation of relative load divided by its bound std(X) / C_T, and the mean correlation of nodes.

    [Xing05] states the bound for variances of balanced plans. For deviations, it holds for every plan if nodes are
    weighted by capacity, by the triangle inequality: sum_i C_i std(X_i / C_i) >= std(sum_i X_i).
    """
    if nodes.shape[1] < 2:
        return math.nan, math.nan
    total = nodes.sum(axis=0)
    bound = float(total.std())
    deviations = nodes.std(axis=1)
    flat = bound <= FLAT * float(total.mean())
    spread = float(deviations.sum())
    # If nothing varies, the plan is at the bound. If only the total is constant, its parts cancel and the bound is 0.
    deviation = (1.0 if spread <= FLAT * float(total.mean()) else math.inf) if flat else spread / bound
    return deviation, mean_correlation(nodes) if len(capacity) > 1 else math.nan


def mean_correlation(nodes: Floats) -> float:
    """Return the mean correlation over all pairs of nodes; a node with constant load counts as 0."""
    found = correlations(nodes)
    n = len(nodes)
    return float((found.sum() - np.trace(found)) / (n * (n - 1)))


def _headroom(problem: PlacementProblem, places: Ints) -> float:
    """Return the factor by which all rates can grow until a node is full."""
    if not len(problem.rates):
        return math.nan
    loads = node_coefficients(problem, places) @ problem.rates / problem.capacity
    return float(1 / loads.max()) if loads.max() > 0 else math.inf
