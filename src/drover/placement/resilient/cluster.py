"""Clusters: units that are cheaper together are placed as one unit.

Rule 1: a clustering is a list of groups of units. ROD places them, and the plane distance chooses among clusterings.
Rule 2: symbols are those of section 4.4.3 [Xing06]: ratios r^c and r^b of links, weight w^c, thresholds eta and psi.
Rule 3: units that may not share a node are never joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.load.feasible import floor_point, plane_distance
from drover.placement.problem import Flags, Groups, PlacementProblem
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import fuse, repair
from drover.placement.score import hyperplanes

ETAS: Final = (0.1, 0.3, 1.0)  # communication or bandwidth worth a tenth, a third or all of a unit's own load
# The weight of a cluster, as a fraction of what one node carries of a stream. Above 1 it exceeds a fair share. But with
# few units per node, smaller values forbid all clusters, and graphs that stay whole are then better (R-fig6.9).
PSIS: Final = (0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
ORDERS: Final = ("ratio-first", "weight-first")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringThresholds:
    """When to join the two ends of a link: if one of its ratios is above eta and the weight stays below psi."""

    communication: float = np.inf  # eta_c
    bandwidth: float = np.inf  # eta_b
    weight: float = 1.0  # psi
    order: str = "ratio-first"  # or weight-first
    first: str = "communication"  # or "bandwidth": the ratio that decides first if both count


@dataclass(frozen=True, slots=True)
class OperatorClusters:
    """A clustering as it grows: `owner`, (m,), is the cluster of each unit; `load`, (m, d), has one row per cluster."""

    owner: Ints
    load: Floats
    allowed: Flags  # (m, n) nodes that all units of a cluster may be on
    apart: Flags  # (groups, m) whether a cluster has a unit of the group

    @classmethod
    def single(cls, problem: PlacementProblem) -> OperatorClusters:
        """Return the clustering in which every unit is alone."""
        apart = np.zeros((len(problem.apart), problem.m), dtype=np.bool_)
        for row, group in zip(apart, problem.apart, strict=True):
            row[list(group)] = True
        return cls(np.arange(problem.m), problem.coefficients.copy(), problem.reachable().copy(), apart)

    def may_join(self, one: Ints, other: Ints) -> Flags:
        """Return which pairs of different clusters may share a node."""
        shared = (self.allowed[one] & self.allowed[other]).any(axis=1)
        return np.asarray(shared & ~(self.apart[:, one] & self.apart[:, other]).any(axis=0) & (one != other))

    def join(self, one: int, other: int) -> None:
        """Merge the second cluster into the first, in place."""
        self.owner[self.owner == other] = one
        self.load[one] += self.load[other]
        self.allowed[one] &= self.allowed[other]
        self.apart[:, one] |= self.apart[:, other]

    def groups(self) -> Groups:
        """Return the clusters with more than one unit."""
        members = (np.flatnonzero(self.owner == cluster) for cluster in np.unique(self.owner))
        return tuple(tuple(int(j) for j in units) for units in members if len(units) > 1)


def cluster(problem: PlacementProblem, thresholds: ClusteringThresholds) -> Groups:
    """Join the ends of links, one link after the other, Fig. 4.15 and 4.19 [Xing06]; return the clusters."""
    clusters = OperatorClusters.single(problem)
    links = problem.links
    totals = problem.coefficients.sum(axis=0)
    while len(links.source):
        one = clusters.owner[links.source]
        other = clusters.owner[links.target]
        communication = _ratio(links.communication, clusters.load, one, other)
        bandwidth = _ratio(links.bandwidth, clusters.load, one, other)
        together = clusters.load[one] + clusters.load[other]
        weight = (problem.n * together[:, totals > 0] / totals[totals > 0]).max(axis=1, initial=0.0)
        talks = communication > thresholds.communication
        fills = bandwidth > thresholds.bandwidth
        candidates = np.flatnonzero((talks | fills) & (weight < thresholds.weight) & clusters.may_join(one, other))
        if not len(candidates):
            break
        if thresholds.order == "weight-first":
            best = candidates[np.argmin(weight[candidates])]
        else:
            ranks = _ranks(communication, bandwidth, talks, fills, thresholds.first)
            best = min(candidates, key=lambda t: (ranks[0][t], -ranks[1][t], t))
        clusters.join(int(one[best]), int(other[best]))
    return clusters.groups()


def _ratio(cost: Floats, load: Floats, one: Ints, other: Ints) -> Floats:
    """Return the largest ratio, over both ends and all streams, of a link's cost to the load of its end; 0/0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a load may be as small as 5e-324
        ratios = [np.nan_to_num(cost / load[end], nan=0.0, posinf=np.inf) for end in (one, other)]
    return np.asarray(np.maximum(*ratios).max(axis=1, initial=0.0))


def _ranks(communication: Floats, bandwidth: Floats, talks: Flags, fills: Flags, first: str) -> tuple[Ints, Floats]:
    """Return the class of each link (both ratios, the first, the other), and the ratio that orders it in its class."""
    lead, ratio, other = (
        (talks, communication, bandwidth) if first == "communication" else (fills, bandwidth, communication)
    )
    ranks = np.where(talks & fills, 0, np.where(lead, 1, 2))
    return ranks, np.asarray(np.where(lead, ratio, other))


def variants(problem: PlacementProblem, psis: Sequence[float] = PSIS) -> Iterator[ClusteringThresholds]:
    """Yield the thresholds to try: for the kinds of link costs in this problem, each in both orders."""
    links = problem.links
    talks = bool(links.communication.any())
    fills = bool(links.bandwidth.any()) and not abundant(problem)
    # Bandwidth ratios are in bytes per busy second; the scale makes them comparable with communication ratios.
    scale = float(np.max(problem.bandwidth / problem.capacity)) if fills else 1.0
    for eta, psi, order in product(ETAS, psis, ORDERS) if talks or fills else ():
        for first in (
            ("communication", "bandwidth") if talks and fills and order == "ratio-first" else ("communication",)
        ):
            yield ClusteringThresholds(
                communication=eta if talks else np.inf,
                bandwidth=eta * (scale if np.isfinite(scale) else 1.0) if fills else np.inf,
                weight=psi,
                order=order,
                first=first if talks else "bandwidth",
            )


def abundant(problem: PlacementProblem) -> bool:
    """Return whether no plan can run out of bandwidth before it runs out of capacity, theorem 3 [Xing06].

    For every unit, the bandwidth of its links divided by its load must stay below that of any node. The same must hold
    for the whole system, where the printed condition divides the wrong way.
    """
    links = problem.links
    load = problem.coefficients
    through = np.zeros_like(load)
    for ends in (links.source, links.target):
        np.add.at(through, ends, links.bandwidth)
    least = float((problem.bandwidth / problem.capacity).min())
    total = problem.total_bandwidth / float(problem.capacity.sum())
    return _below(through, load, least) and _below(links.bandwidth.sum(axis=0), load.sum(axis=0), total)


def _below(bandwidth: Floats, load: Floats, limit: float) -> bool:
    """Return whether bandwidth divided by load stays below a limit, wherever there is bandwidth."""
    return bool(np.isinf(limit) or ((bandwidth < limit * load) | (bandwidth == 0)).all())


def place_clustered(problem: PlacementProblem, rng: Generator, psis: Sequence[float] = PSIS) -> Ints:
    """Place by ROD, with and without clusters; keep the plan whose nearest plane is farthest from the lower bounds.

    `psis` are the thresholds for the weight of a cluster.
    """
    problem.need("coefficients", "clustered")
    tried: set[Groups] = set()
    best = repair(problem, place_resilient(problem, rng))
    farthest: float | None = None
    for groups in ((), *(cluster(problem, thresholds) for thresholds in variants(problem, psis))):
        if groups in tried:
            continue
        tried.add(groups)
        try:
            fused = fuse(problem, groups)
            places = fused.spread(repair(fused.problem, place_resilient(fused.problem, rng)))
        except ProblemError:
            if not groups:
                raise
            continue  # every pair may share a node, but the rules for other units leave no plan
        distance = nearest_plane(problem, places)
        # The tolerance keeps the first of equal plans, so that rounding does not choose.
        if farthest is None or distance > farthest + 1e-9 * abs(farthest):
            best = places
            farthest = distance
    return best


def nearest_plane(problem: PlacementProblem, places: Ints) -> float:
    """Return the smallest distance of a hyperplane, for load or bandwidth, from the lower-bound point, 4.4.4 [Xing06].

    If the lower bounds alone exceed what a node can carry, it is negative: the largest excess, as a share of capacity.
    """
    weighed = hyperplanes(problem, places)
    if not weighed.shape[1]:
        return np.inf
    floor = floor_point(problem.lower, problem.coefficients.sum(axis=0), problem.capacity)
    excess = float((1 - weighed @ floor).min())
    return excess if excess < 0 else float(plane_distance(weighed, floor).min())
