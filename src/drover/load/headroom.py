"""Headroom: how far the rates can grow before a node runs out of capacity.

Rule 1: growth is computed on the network itself, not on its linear model, because the cost of a join grows with the
product of its rates. Rule 2: a node is overloaded if its load is above its capacity, not if both are equal.
Rule 3: an unlimited growth is infinite, and then no node overloads first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Flags, Floats, frozen
from drover.load.feasible import check_capacity
from drover.load.profile import Profile

# A limit is searched between two of these; above the last one, there is no limit.
POWERS: Final = np.concatenate([[0.0], 2.0 ** np.arange(-60, 61)])
# Sections of an interval that are tried at once: walking the network costs more than many cases in one walk.
SECTIONS: Final = 32
CUTS: Final = 9  # divisions of the interval, which end at a relative width below 1e-13
MOST_CASES: Final = 2_000  # computed at once, so that thousands of operators fit into memory
NUDGE: Final = 1e-4  # relative change of a rate that shows its share in a load; exact for a join
CONVERGED: Final = 1e-6  # relative gain below which the search for the worst mix ends
ROUNDS: Final = 8  # of that search; without joins one is enough


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """How far rates can grow, and the node that overloads first."""

    factor: float  # multiple of the present rates
    node: int | None


@dataclass(frozen=True, slots=True)
class SourceGrowthLimit:
    """How far one source can grow while the others keep their rates."""

    source: str
    rate: float  # rows per second at present
    limit: float  # highest rate in rows per second; 0 if the other sources alone overload a node
    node: int | None  # the first to overload

    @property
    def factor(self) -> float:
        """The limit as a multiple of the rate; infinite for an idle source that may start."""
        if self.rate > 0:
            return self.limit / self.rate
        return math.inf if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class WorstMix:
    """The smallest change of rates that fills a node.

    The size of a change is the length of the vector of relative changes. `factors` has the new rate of each source over
    its present rate.
    """

    factors: Mapping[str, float]
    node: int | None

    @property
    def change(self) -> float:
        """The size of the change; infinite if no change of the rates fills a node."""
        return math.inf if self.node is None else math.hypot(*(factor - 1 for factor in self.factors.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Headroom:
    """The headroom of a plan."""

    all: GrowthLimit  # all rates together
    sources: tuple[SourceGrowthLimit, ...]
    worst: WorstMix | None  # None if a node is already overloaded
    loads: Floats  # (n,) busy seconds per second at present
    capacity: Floats  # (n,) busy seconds per second

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "loads", frozen(self.loads))
        object.__setattr__(self, "capacity", frozen(self.capacity))

    @property
    def weakest(self) -> SourceGrowthLimit | None:
        """The source that can grow least by itself; None if every source is unlimited."""
        limited = [room for room in self.sources if room.factor < math.inf]
        return min(limited, key=lambda room: room.factor, default=None)

    @property
    def overloaded(self) -> tuple[int, ...]:
        """The nodes whose present load is above their capacity."""
        return tuple(int(i) for i in np.flatnonzero(_over(self.loads[:, None], self.capacity)[:, 0]))


def headroom(profile: Profile, unit_of: Mapping[str, str], node_of: Mapping[str, int], capacity: Floats) -> Headroom:
    """Return the headroom of a plan; `unit_of` is by operator, `node_of` by unit, `capacity` is (n,)."""
    cluster = _Cluster(profile, unit_of, node_of, capacity)
    rates = np.array(list(profile.rates.values()))  # (d,)
    d = len(rates)
    present = cluster.loads(rates[:, None])[:, 0]
    limits, nodes = cluster.reach(rates[:, None] * (1 - np.eye(d)), np.eye(d))
    sources = tuple(
        SourceGrowthLimit(name, rate, float(limit), node)
        for (name, rate), limit, node in zip(profile.rates.items(), limits, nodes, strict=True)
    )
    overloaded = _over(present[:, None], capacity).any()
    worst = None if overloaded else _worst_mix(cluster, rates, tuple(profile.rates))
    return Headroom(cluster.growth(), sources, worst, present, capacity)


def growth(profile: Profile, unit_of: Mapping[str, str], node_of: Mapping[str, int], capacity: Floats) -> GrowthLimit:
    """Return only how far all rates can grow together; faster than `headroom`."""
    return _Cluster(profile, unit_of, node_of, capacity).growth()


class _Cluster:
    """Nodes with their operators; it computes node loads at any rates."""

    def __init__(
        self, profile: Profile, unit_of: Mapping[str, str], node_of: Mapping[str, int], capacity: Floats
    ) -> None:
        if not len(capacity):
            raise LoadError("capacity is empty, but a plan has at least one node. Give one number per node.")
        check_capacity(capacity, len(capacity))
        self.profile = profile
        self.capacity = capacity
        self.is_linear = all(operator.pair_windows is None for operator in profile.network.operators)
        self.places: list[int] = []  # node of each operator
        for operator in profile.network.operators:
            unit = unit_of.get(operator.name, operator.name)
            if unit not in node_of:
                raise LoadError(f"unit {unit!r} has no node, but a plan places every unit of its network. Place it.")
            if not 0 <= node_of[unit] < len(capacity):
                raise LoadError(
                    f"unit {unit!r} is on node {node_of[unit]}, but there are capacities for nodes 0 to "
                    f"{len(capacity) - 1} only. Give one for each node of the plan."
                )
            self.places.append(node_of[unit])

    def growth(self) -> GrowthLimit:
        """Return how far all rates can grow together."""
        rates = np.array(list(self.profile.rates.values()))[:, None]
        factors, nodes = self.reach(np.zeros(rates.shape), rates)
        return GrowthLimit(float(factors[0]), nodes[0])

    def loads(self, rates: Floats) -> Floats:
        """Return the loads of the nodes, (n, cases), at rates of the sources, (d, cases)."""
        if rates.shape[1] > MOST_CASES:
            pieces = range(0, rates.shape[1], MOST_CASES)
            return np.hstack([self.loads(rates[:, start : start + MOST_CASES]) for start in pieces])
        found = self.profile.loads(dict(zip(self.profile.rates, rates, strict=True)))
        loads = np.zeros((len(self.capacity), rates.shape[1]))
        for node, load in zip(self.places, found.values(), strict=True):
            loads[node] += load  # faster than a product with a matrix of ones and zeros
        return loads

    def reach(self, base: Floats, direction: Floats) -> tuple[Floats, list[int | None]]:
        """Return, for each case, the largest x at which base + x direction, (d, cases) each, overloads no node.

        Also return the node that overloads first. x is 0 if the base itself overloads a node.
        """
        limits = self._solve(base, direction) if self.is_linear else self._search(base, direction)
        # Just beyond the limit, the node that overloads first is the fullest. At the limit itself, rounding would
        # decide.
        beyond = np.where(np.isfinite(limits), limits, 0.0) * (1 + 1e-6) + 1e-12
        relative = self.loads(base + beyond * direction) / self.capacity[:, None]
        firsts = [int(i) if math.isfinite(limit) else None for i, limit in zip(relative.argmax(0), limits, strict=True)]
        return limits, firsts

    def _solve(self, base: Floats, direction: Floats) -> Floats:
        left = self.capacity[:, None] - self.loads(base)
        slope = self.loads(direction)
        limits = np.divide(left, slope, out=np.full(left.shape, np.inf), where=slope > 0).min(axis=0)
        # The base alone overloads a node, so nothing can grow.
        limits = np.where((left < 0).any(axis=0), 0.0, limits)
        return np.maximum(limits, 0.0)

    def _search(self, base: Floats, direction: Floats) -> Floats:
        """Return the largest x for loads that rise in any way, by dividing an interval between two powers of two."""
        grid = np.broadcast_to(POWERS, (base.shape[1], len(POWERS)))
        over = self._is_over(base, direction, grid)
        limits = np.where(over[:, 0], 0.0, np.inf)
        between = ~over[:, 0] & over[:, -1]
        base = base[:, between]
        direction = direction[:, between]
        grid = grid[between]
        over = over[between]
        for _ in range(CUTS):
            first = np.argmax(over, axis=1)[:, None]
            low = np.take_along_axis(grid, first - 1, axis=1)
            high = np.take_along_axis(grid, first, axis=1)
            grid = low + (high - low) * np.linspace(0.0, 1.0, SECTIONS + 1)
            over = self._is_over(base, direction, grid)
            # True at the ends by construction; rounding may say otherwise.
            over[:, 0] = False
            over[:, -1] = True
        limits[between] = np.take_along_axis(grid, np.argmax(over, axis=1)[:, None] - 1, axis=1)[:, 0]
        return limits

    def _is_over(self, base: Floats, direction: Floats, x: Floats) -> Flags:
        """Return, (cases, tries), whether a node is overloaded at base + x direction; x is (cases, tries)."""
        rates = base[:, :, None] + direction[:, :, None] * x
        with np.errstate(over="ignore", invalid="ignore"):  # joins of joins overflow at huge rates
            over = _over(self.loads(rates.reshape(len(rates), -1)), self.capacity)
        found: Flags = np.any(over, axis=0).reshape(x.shape)
        return found


def _over(loads: Floats, capacity: Floats) -> Flags:
    over: Flags = loads > capacity[:, None] * (1 + 1e-12)
    return over


def _worst_mix(cluster: _Cluster, rates: Floats, names: tuple[str, ...]) -> WorstMix:
    """Return the smallest relative change of the rates that fills a node.

    For a linear load, it points straight to the node's hyperplane, along the shares of the sources in its load. With
    joins the surface is curved: the search turns the direction to the shares at its end a few times, and keeps the best
    one. Another mix may be slightly smaller.
    """
    best: tuple[float, Floats, int | None] = (math.inf, np.ones(len(rates)), None)
    factors = np.ones((len(rates), len(cluster.capacity)))  # (d, n): one case per node
    for _ in range(1 if cluster.is_linear else ROUNDS):
        shares = _shares(cluster, rates, factors)  # (d, n)
        lengths = np.linalg.norm(shares, axis=0)
        mixes = np.divide(shares, lengths, out=np.zeros_like(shares), where=lengths > 0)
        base = np.broadcast_to(rates[:, None], mixes.shape)
        changes, nodes = cluster.reach(base, mixes * rates[:, None])
        factors = 1 + np.where(np.isfinite(changes), changes, 0.0) * mixes
        at = int(np.argmin(changes))
        if not changes[at] < best[0] * (1 - CONVERGED):
            break
        best = (float(changes[at]), factors[:, at], nodes[at])
    return WorstMix({name: float(factor) for name, factor in zip(names, best[1], strict=True)}, best[2])


def _shares(cluster: _Cluster, rates: Floats, factors: Floats) -> Floats:
    """Return, (d, n), the growth of node i's load per relative growth of source k; node i is at column i of factors."""
    if cluster.is_linear:
        return cluster.loads(np.diag(rates)).T
    d, n = factors.shape
    nudges = NUDGE * np.concatenate([np.eye(d), -np.eye(d)])  # (2d, d)
    cases = factors[:, None, :] + nudges.T[:, :, None]  # (d, 2d, n)
    loads = cluster.loads((rates[:, None, None] * cases).reshape(d, -1)).reshape(n, 2 * d, n)
    own = np.diagonal(loads, axis1=0, axis2=2)  # (2d, n): the load of node i at column i
    return np.maximum((own[:d] - own[d:]) / (2 * NUDGE), 0.0)
