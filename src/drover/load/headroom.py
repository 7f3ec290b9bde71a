"""Headroom: how much further the rates can grow before a node runs out of capacity.

Rule 1: growth is worked out on the network itself, not on its linear model: what a join costs grows with the product
of its rates. Rule 2: a node is overloaded when its load is above its capacity; at the limit itself it is not.
Rule 3: what nothing limits is infinite, and there is then no node that overloads first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Flags, Floats, frozen
from drover.load.feasible import demand_capacity
from drover.load.profile import Profile
from drover.network.operators import Join

FARTHEST: Final = 2.0**60  # times a rate, or rows per second: what is not reached by then is never reached
NARROW: Final = 1e-12  # relative width at which a limit is found
HALVINGS: Final = 200  # of the interval around a limit, at most
NUDGE: Final = 1e-4  # relative change of a rate by which its share in a load is told; exact for a join
ROUNDS: Final = 8  # of turning the worst mix towards the steepest growth where it ends; one will do without joins


@dataclass(frozen=True, slots=True)
class Room:
    """How far something can grow, and the node that then overloads first."""

    factor: float  # times the present rate
    node: int | None


@dataclass(frozen=True, slots=True)
class SourceRoom:
    """How far one source can grow while the others stay as they are."""

    source: str
    rate: float  # rows per second at present
    limit: float  # rows per second at most; 0 if the others alone overload a node
    node: int | None  # that overloads first

    @property
    def factor(self) -> float:
        """The limit as a multiple of the rate; infinite for a source at rest that may begin."""
        if self.rate > 0:
            return self.limit / self.rate
        return math.inf if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Mix:
    """The smallest change of rates that fills a node.

    Small means the length of the vector of relative changes; for each source, `factors` has its rate then over now.
    """

    factors: Mapping[str, float]
    node: int | None

    @property
    def change(self) -> float:
        """The length of the relative change; infinite if no change of the rates fills a node."""
        return math.inf if self.node is None else math.hypot(*(factor - 1 for factor in self.factors.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Headroom:
    """All that is to be said of the room a plan leaves."""

    all: Room  # all rates together
    sources: tuple[SourceRoom, ...]
    worst: Mix | None  # None if a node is overloaded already
    loads: Floats  # (n,) busy seconds per second at present
    capacity: Floats  # (n,) busy seconds per second

    def __post_init__(self) -> None:
        """Store read-only copies."""
        object.__setattr__(self, "loads", frozen(self.loads))
        object.__setattr__(self, "capacity", frozen(self.capacity))

    @property
    def weakest(self) -> SourceRoom | None:
        """The source that can grow least by itself, or None if nothing limits any."""
        limited = [room for room in self.sources if room.factor < math.inf]
        return min(limited, key=lambda room: room.factor, default=None)

    @property
    def overloaded(self) -> tuple[int, ...]:
        """The nodes whose present load is above their capacity."""
        return tuple(int(i) for i in np.flatnonzero(_over(self.loads[:, None], self.capacity)[:, 0]))


def headroom(profile: Profile, unit_of: Mapping[str, str], node_of: Mapping[str, int], capacity: Floats) -> Headroom:
    """Return the headroom of a plan: `unit_of` is by operator, `node_of` by unit, `capacity` (n,)."""
    cluster = _Cluster(profile, unit_of, node_of, capacity)
    rates = np.array(list(profile.rates.values()))  # (d,)
    d = len(rates)
    present = cluster.loads(rates[:, None])[:, 0]
    growth, first = cluster.reach(np.zeros((d, 1)), rates[:, None])
    limits, nodes = cluster.reach(rates[:, None] * (1 - np.eye(d)), np.eye(d))
    sources = tuple(
        SourceRoom(name, rate, float(limit), node)
        for (name, rate), limit, node in zip(profile.rates.items(), limits, nodes, strict=True)
    )
    overloaded = _over(present[:, None], capacity).any()
    worst = None if overloaded else _worst_mix(cluster, rates, tuple(profile.rates))
    return Headroom(Room(float(growth[0]), first[0]), sources, worst, present, capacity)


class _Cluster:
    """Nodes with their operators: the load of each at any rates."""

    def __init__(
        self, profile: Profile, unit_of: Mapping[str, str], node_of: Mapping[str, int], capacity: Floats
    ) -> None:
        if not len(capacity):
            raise LoadError("capacity is empty, but there is at least one node. Give one number per node.")
        demand_capacity(capacity, len(capacity))
        self.profile = profile
        self.capacity = capacity
        self.is_linear = not any(isinstance(operator, Join) for operator in profile.network.operators)
        places = []
        for operator in profile.network.operators:
            unit = unit_of.get(operator.name, operator.name)
            if unit not in node_of:
                raise LoadError(f"unit {unit!r} is on no node, but a plan has every unit of its network. Place it.")
            if not 0 <= node_of[unit] < len(capacity):
                raise LoadError(
                    f"unit {unit!r} is on node {node_of[unit]}, but there are capacities for nodes 0 to "
                    f"{len(capacity) - 1}. Give one for each node of the plan."
                )
            places.append(node_of[unit])
        self.assignment = np.equal.outer(np.arange(len(capacity)), np.array(places, dtype=np.int64)).astype(float)

    def loads(self, rates: Floats) -> Floats:
        """Return the loads of the nodes, (n, cases), at rates of the sources, (d, cases)."""
        sources = dict(zip(self.profile.rates, rates, strict=True))
        found = self.profile.loads(dict(sources))
        rows = np.array([np.broadcast_to(load, rates.shape[1:]) for load in found.values()])
        loads: Floats = self.assignment @ rows.reshape(len(found), rates.shape[1])
        return loads

    def reach(self, base: Floats, direction: Floats) -> tuple[Floats, list[int | None]]:
        """Return, per case, the largest x at which no node is overloaded by base + x direction, (d, cases) each.

        With it, the node that is overloaded first. 0 if the base overloads one already.
        """
        limits = self._solve(base, direction) if self.is_linear else self._search(base, direction)
        beyond = np.where(np.isfinite(limits), limits, 0.0) * (1 + 1e-6) + 1e-12
        relative = self.loads(base + beyond * direction) / self.capacity[:, None]
        firsts = [int(i) if math.isfinite(limit) else None for i, limit in zip(relative.argmax(0), limits, strict=True)]
        return limits, firsts

    def _solve(self, base: Floats, direction: Floats) -> Floats:
        left = self.capacity[:, None] - self.loads(base)
        slope = self.loads(direction)
        limits = np.divide(left, slope, out=np.full(left.shape, np.inf), where=slope > 0).min(axis=0)
        limits = np.where((left < 0).any(axis=0), 0.0, limits)
        return np.maximum(limits, 0.0)

    def _search(self, base: Floats, direction: Floats) -> Floats:
        """Return the same for loads that only rise: double until one is too high, then halve the interval."""
        low, high = np.zeros(base.shape[1]), np.ones(base.shape[1])
        high[self._is_over(base)] = 0.0
        while (growing := (high > 0) & (high < FARTHEST) & ~self._is_over(base + high * direction)).any():
            low, high = np.where(growing, high, low), np.where(growing, 2 * high, high)
        unlimited = high >= FARTHEST
        for _ in range(HALVINGS):
            if not (high - low > NARROW * high).any():
                break
            middle = (low + high) / 2
            over = self._is_over(base + middle * direction)
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return np.where(unlimited, np.inf, low)

    def _is_over(self, rates: Floats) -> Flags:
        """Return, (cases,), whether some node is overloaded at rates, (d, cases)."""
        with np.errstate(over="ignore", invalid="ignore"):  # joins of joins of rates beyond all bounds
            over: Flags = np.any(_over(self.loads(rates), self.capacity), axis=0)
        return over


def _over(loads: Floats, capacity: Floats) -> Flags:
    over: Flags = loads > capacity[:, None] * (1 + 1e-12)
    return over


def _worst_mix(cluster: _Cluster, rates: Floats, names: tuple[str, ...]) -> Mix:
    """Return the smallest relative change of the rates that fills a node.

    For a load that is linear it is straight towards the node's hyperplane, along the shares that the sources have in
    its load. With joins the hyperplane is bent: the direction is turned to the shares where it ended, a few times over,
    and the best is kept; another mix may be a little smaller still.
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
        if changes[at] < best[0]:
            best = (float(changes[at]), factors[:, at], nodes[at])
    return Mix({name: float(factor) for name, factor in zip(names, best[1], strict=True)}, best[2])


def _shares(cluster: _Cluster, rates: Floats, factors: Floats) -> Floats:
    """Return, (d, n), what node i's load gains per relative growth of source k, at rates times column i of factors."""
    if cluster.is_linear:
        return cluster.loads(np.diag(rates)).T
    shares = np.zeros(factors.shape)
    for k in range(len(factors)):
        more, less = factors.copy(), factors.copy()
        more[k] += NUDGE
        less[k] -= NUDGE
        gained = cluster.loads(rates[:, None] * more) - cluster.loads(rates[:, None] * less)
        shares[k] = np.diagonal(gained) / (2 * NUDGE)
    return np.maximum(shares, 0.0)
