"""The placement problem: units with their load, nodes with their capacity, and the rules for plans.

Rule 1: the shapes and values of a PlacementProblem are valid; `rules.repair` finds out whether any plan keeps its
rules.
Rule 2: within placement, a plan is an array of places, (m,): the node of each unit. Names are for users.
Rule 3: unknown data is empty, and a policy that needs it raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drover.errors import ProblemError, shorten
from drover.load.arrays import Floats, Ints, frozen
from drover.load.links import UnitLinks
from drover.placement.plan import Plan

Flags: TypeAlias = NDArray[np.bool_]
Groups: TypeAlias = tuple[tuple[int, ...], ...]
NOWHERE: Final = -1


def _no_floats() -> Floats:
    return np.empty((0, 0))


def _no_ints() -> Ints:
    return np.empty(0, dtype=np.int64)


def _no_flags() -> Flags:
    return np.empty(0, dtype=np.bool_)


def no_links(d: int = 0) -> UnitLinks:
    """Return an empty set of links, for d input streams."""
    return UnitLinks((), _no_ints(), _no_ints(), np.empty((0, d)), np.empty((0, d)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlacementProblem:
    """The units to place, and where each may go."""

    units: tuple[str, ...]  # m names
    capacity: Floats  # (n,) busy seconds available per second on node i
    coefficients: Floats = field(default_factory=_no_floats)  # (m, d) L^o: busy seconds per tuple
    series: Floats = field(default_factory=_no_floats)  # (m, h) busy seconds per second, by period
    rates: Floats = field(default_factory=_no_floats)  # (d,) current tuples per second
    lower: Floats = field(default_factory=_no_floats)  # (d,) tuples per second that always arrive
    upper: Floats = field(default_factory=_no_floats)  # (d,) tuples per second that are never exceeded
    pinned: Ints = field(default_factory=_no_ints)  # (m,) node to which unit j is pinned, or -1
    sticky: Flags = field(default_factory=_no_flags)  # (m,) whether unit j moves only from an overloaded node
    allowed: Flags = field(default_factory=_no_flags)  # (m, n) whether unit j may be on node i
    together: Groups = ()  # units that must share a node
    apart: Groups = ()  # units of which no two may share a node
    state: Floats = field(default_factory=_no_floats)  # (m,) bytes that move with unit j
    current: Ints = field(default_factory=_no_ints)  # (m,) current node, -1 if unit j is new
    links: UnitLinks = field(default_factory=no_links)  # streams between units
    readers: Groups = ()  # units that read the same source; no link shows this, because a source is no unit
    bandwidth: Floats = field(default_factory=_no_floats)  # (n,) bytes per second of node i
    total_bandwidth: float = np.inf  # bytes per second of the network between all nodes

    def __post_init__(self) -> None:
        """Fill in defaults, store read-only copies, and refuse contradictions."""
        m = len(self.units)
        n = len(np.atleast_1d(self.capacity))
        d = np.shape(self.coefficients)[-1]
        h = np.shape(self.series)[-1]
        self._store("capacity", self.capacity, (n,), positive=True)
        self._store("coefficients", self.coefficients if d else np.empty((m, 0)), (m, d))
        self._store("series", self.series if h else np.empty((m, 0)), (m, h))
        self._store("rates", self.rates if np.size(self.rates) else np.empty(0), (d if np.size(self.rates) else 0,))
        self._store("lower", self.lower if np.size(self.lower) else np.zeros(d), (d,))
        upper = self.upper if np.size(self.upper) else np.full(d, np.inf)
        self._store("upper", upper, (d,), finite=False)
        self._store("state", self.state if np.size(self.state) else np.zeros(m), (m,))
        bandwidth = self.bandwidth if np.size(self.bandwidth) else np.full(n, np.inf)
        self._store("bandwidth", bandwidth, (n,), positive=True, finite=False)
        self._store_places("pinned", self.pinned, m, n)
        self._store_places("current", self.current, m, n)
        self._store_flags("sticky", self.sticky if np.size(self.sticky) else np.zeros(m), (m,))
        self._store_flags("allowed", self.allowed if np.size(self.allowed) else np.ones((m, n)), (m, n))
        if not len(self.links.source):
            object.__setattr__(self, "links", no_links(d))
        self._check(m, n, d)

    def _store(
        self, name: str, given: ArrayLike, shape: tuple[int, ...], *, positive: bool = False, finite: bool = True
    ) -> None:
        array = np.asarray(given, dtype=np.float64)
        if array.shape != shape:
            raise ProblemError(
                f"{name} has shape {array.shape}, but must have {shape} for {len(self.units)} units and "
                f"{np.size(self.capacity)} nodes. Set one number for each."
            )
        # Comparisons with NaN are false, so it is tested by itself.
        wrong = np.isnan(array) | (array <= 0 if positive else array < 0) | (np.isinf(array) & finite)
        if wrong.any():
            at = tuple(int(index) for index in np.argwhere(wrong)[0])
            raise ProblemError(
                f"{name}{list(at)} is {array[at]:g}, but must be {'above' if positive else 'at least'} 0"
                f"{' and finite' if finite else ''}. Correct the number, or remove its entry."
            )
        object.__setattr__(self, name, frozen(array))

    def _store_places(self, name: str, given: ArrayLike, m: int, n: int) -> None:
        array = np.asarray(given, dtype=np.int64) if np.size(given) else np.full(m, NOWHERE)
        if array.shape != (m,):
            raise ProblemError(f"{name} has shape {array.shape}, but must have ({m},): a node per unit, or -1.")
        for j in np.flatnonzero((array < NOWHERE) | (array >= n)):
            raise ProblemError(
                f"{name} puts unit {self.units[j]!r} on node {array[j]}, but the nodes are 0 to {n - 1}. "
                "Use one of these, or -1 for none."
            )
        object.__setattr__(self, name, frozen(array))

    def _store_flags(self, name: str, given: ArrayLike, shape: tuple[int, ...]) -> None:
        array = np.asarray(given, dtype=np.bool_)
        if array.shape != shape:
            raise ProblemError(f"{name} has shape {array.shape}, but must have {shape}.")
        object.__setattr__(self, name, frozen(array))

    def _check(self, m: int, n: int, d: int) -> None:
        if n < 1:
            raise ProblemError("capacity has no node, but there must be at least one node. Set one capacity per node.")
        if len(set(self.units)) != m:
            twice = next(name for name in self.units if self.units.count(name) > 1)
            raise ProblemError(f"units has {shorten(twice)} twice, but unit names are unique. Rename one of them.")
        for name, groups in (("together", self.together), ("apart", self.apart), ("readers", self.readers)):
            for group in groups:
                if len(set(group)) != len(group) or not all(0 <= j < m for j in group):
                    raise ProblemError(f"{name} has {group}, but a group names each unit once, from 0 to {m - 1}.")
        # Found here, where the unit can be named. A policy would only find no plan.
        for j in np.flatnonzero(~self.reachable().any(axis=1)):
            raise ProblemError(
                f"allowed and pinned leave no node for unit {self.units[j]!r}. Allow one node, or remove the pin."
            )
        if (self.lower > self.upper).any():
            k = int(np.argmax(self.lower > self.upper))
            raise ProblemError(
                f"lower[{k}] is {self.lower[k]:g}, but upper[{k}] is {self.upper[k]:g}. Swap them, or widen one."
            )
        links = self.links
        g = len(self.links.source)
        ends = np.concatenate([links.source, links.target])
        shaped = len(links.target) == g and links.communication.shape == links.bandwidth.shape == (g, d)
        if g and (not shaped or ends.min() < 0 or ends.max() >= m):
            raise ProblemError(f"links must join units 0 to {m - 1} and have {d} coefficients each. Correct them.")

    @property
    def m(self) -> int:
        """The number of units."""
        return len(self.units)

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.capacity)

    @property
    def load(self) -> Floats:
        """The mean load of each unit, (m,): measured, by the linear model, or its mean share of the streams' loads."""
        if self.series.shape[1]:
            return np.asarray(self.series.mean(axis=1))
        if len(self.rates):
            return np.asarray(self.coefficients @ self.rates)
        return np.asarray(self.shares().mean(axis=1)) if self.coefficients.shape[1] else np.zeros(self.m)

    def shares(self) -> Floats:
        """Return lo_jk / l_k, (m, d): the share of unit j in the load of stream k; streams with l_k = 0 are dropped."""
        totals = self.coefficients.sum(axis=0)
        return np.asarray(self.coefficients[:, totals > 0] / totals[totals > 0])

    def reachable(self) -> Flags:
        """Return, (m, n), whether unit j by itself may be on node i: allowed, and not pinned elsewhere.

        The result is always read-only, because numba would compile the kernels a second time for writable arrays.
        """
        if (self.pinned == NOWHERE).all():
            return self.allowed
        elsewhere = (self.pinned[:, None] != NOWHERE) & (self.pinned[:, None] != np.arange(self.n))
        return frozen(self.allowed & ~elsewhere)

    def plan(self, places: Ints, number: int = 1) -> Plan:
        """Return places as a plan with names."""
        return Plan(number, self.n, {unit: int(node) for unit, node in zip(self.units, places, strict=True)})

    def places(self, plan: Plan) -> Ints:
        """Return a plan as places, (m,); -1 for units that it does not have or whose node does not exist."""
        there = plan.places  # including instances of joins
        # A plan may be older than the problem: units may be new, and nodes may be gone.
        nodes = [there.get(unit, NOWHERE) for unit in self.units]
        return np.array([node if node < self.n else NOWHERE for node in nodes], dtype=np.int64)

    def starting_from(self, plan: Plan) -> PlacementProblem:
        """Return the same problem with this plan as the current one."""
        return replace(self, current=self.places(plan))

    def need(self, what: str, policy: str) -> None:
        """Raise an error if `coefficients` or `series`, which a policy needs, are empty."""
        if not getattr(self, what).shape[1]:
            raise ProblemError(
                f"{what} is empty, but the policy {policy} needs it. "
                f"Set {what}, or choose a policy that needs no statistics, such as round-robin."
            )
