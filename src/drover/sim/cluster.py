"""Simulated nodes, the links between them, the cost of a move, and the times at which nodes come and go.

Rule 1: a node is one server: capacity 2 means twice as fast, not two tuples at a time. Rule 2: nodes keep their
numbers. An added node gets the next free number, and a lost one never returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from drover.errors import ProblemError
from drover.load.arrays import Floats, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """How long a unit is suspended when it moves: fixed + per_operator x operators + per_byte x bytes of state."""

    fixed: float = 0.2  # seconds; [Xing05]: 200 ms
    per_operator: float = 0.0  # seconds
    per_byte: float = 0.0  # seconds

    def __post_init__(self) -> None:
        """Raise ProblemError for a negative time."""
        for name in ("fixed", "per_operator", "per_byte"):
            _demand(f"migration.{name}", getattr(self, name))

    def seconds(self, operators: int, size: float) -> float:
        """Return how long a unit with this number of operators and bytes is suspended."""
        return self.fixed + self.per_operator * operators + self.per_byte * size


@dataclass(frozen=True, slots=True)
class Kill:
    """A node fails; its units resume elsewhere after `outage` and the time of a move.

    Tuples queued there are lost and counted, and so are the windows of joins. With `replay`, they are kept and move
    with their units.
    """

    at: float  # seconds
    node: int
    outage: float = 1.0  # seconds until the loss is noticed
    replay: bool = False


@dataclass(frozen=True, slots=True)
class Add:
    """A node joins; the policy can use it from then on."""

    at: float  # seconds
    capacity: float = 1.0  # busy seconds per second


@dataclass(frozen=True, slots=True)
class Drain:
    """A node leaves after its units have moved away; nothing is lost."""

    at: float  # seconds
    node: int


NodeEvent: TypeAlias = Kill | Add | Drain


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCluster:
    """Nodes, and the changes to them; a `capacity` that is a whole number is the number of equal nodes."""

    capacity: Floats | int  # (n,) busy seconds per second
    delay: Floats | float = 0.0  # (N, N) seconds, or one number for every link; N counts added nodes, too
    bandwidth: Floats | float = np.inf  # (N, N) bytes per second, or one number
    migration: Migration = field(default_factory=Migration)
    node_events: tuple[NodeEvent, ...] = ()

    def __post_init__(self) -> None:
        """Turn numbers into arrays; raise ProblemError for values out of range or nodes that do not exist."""
        equal = isinstance(self.capacity, int | np.integer)
        given = np.ones(max(int(self.capacity), 0)) if equal else np.asarray(self.capacity, dtype=np.float64)
        if given.ndim != 1 or not len(given) or not (np.isfinite(given) & (given > 0)).all():
            raise ProblemError(
                f"capacity is {self.capacity}, but must be a number above 0 for each of at least one node. Correct it."
            )
        object.__setattr__(self, "capacity", frozen(given))
        object.__setattr__(self, "node_events", tuple(sorted(self.node_events, key=lambda each: each.at)))
        for what in self.node_events:
            _demand(f"the time of {what}", what.at)
            if isinstance(what, Add):
                _demand(f"the capacity of {what}", what.capacity, positive=True)
            elif not 0 <= what.node < self.most:
                raise ProblemError(f"{what} names node {what.node}, but the nodes are 0 to {self.most - 1}. Name one.")
        for name, positive in (("delay", False), ("bandwidth", True)):
            object.__setattr__(self, name, self._square(name, getattr(self, name), positive))

    def _square(self, name: str, given: ArrayLike, positive: bool) -> Floats:
        array = np.asarray(given, dtype=np.float64)
        if array.shape not in {(), (self.most, self.most)}:
            raise ProblemError(
                f"{name} has shape {array.shape}, but must be one number or ({self.most}, {self.most}). Give either."
            )
        if np.isnan(array).any() or (array <= 0 if positive else array < 0).any():
            rule = "above 0" if positive else "at least 0"
            raise ProblemError(f"{name} has {array.min():g}, but must be {rule}. Correct it.")
        return frozen(np.broadcast_to(array, (self.most, self.most)))

    @property
    def n(self) -> int:
        """The number of nodes at the start."""
        return int(np.size(self.capacity))

    @property
    def capacities(self) -> Floats:
        """(N,) capacity of every node, later ones included."""
        return np.append(self.capacity, [what.capacity for what in self.node_events if isinstance(what, Add)])

    @property
    def most(self) -> int:
        """N, the number of all nodes, later ones included."""
        return self.n + sum(isinstance(what, Add) for what in self.node_events)

    @property
    def is_free(self) -> bool:
        """Whether links have neither delay nor limited bandwidth."""
        return not np.any(self.delay) and bool(np.isinf(self.bandwidth).all())


def _demand(what: str, value: float, *, positive: bool = False) -> None:
    if not (value > 0 if positive else value >= 0) or not np.isfinite(value):
        rule = "above 0" if positive else "at least 0"
        raise ProblemError(f"{what} is {value}, but must be finite and {rule}. Correct it.")
