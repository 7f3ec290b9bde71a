"""The nodes, the network between them, what a move costs, and what happens to nodes when.

Rule 1: a node is one server: capacity 2 means twice as fast, not two at a time. Rule 2: nodes keep their numbers; one
that is added later has the next free number, one that is gone never comes back.
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
        """Refuse negative times."""
        for name in ("fixed", "per_operator", "per_byte"):
            _demand(f"migration.{name}", getattr(self, name))

    def seconds(self, operators: int, size: float) -> float:
        """Return how long a unit with so many operators and bytes is suspended."""
        return self.fixed + self.per_operator * operators + self.per_byte * size


@dataclass(frozen=True, slots=True)
class Kill:
    """A node is lost; its units go on elsewhere after `outage` and the time of a move.

    Tuples queued there are lost and counted, and windows of joins are gone, unless they are replayed: then they wait
    and go on with their units.
    """

    at: float  # seconds
    node: int
    outage: float = 1.0  # seconds until the loss is noticed
    replay: bool = False


@dataclass(frozen=True, slots=True)
class Add:
    """A node comes; the policy may use it from then on."""

    at: float  # seconds
    capacity: float = 1.0  # busy seconds per second


@dataclass(frozen=True, slots=True)
class Drain:
    """A node goes in good order: its units move away, and nothing is lost."""

    at: float  # seconds
    node: int


Happening: TypeAlias = Kill | Add | Drain


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Nodes, and what happens to them; `capacity` may be the number of equal nodes."""

    capacity: Floats | int  # (n,) busy seconds per second
    delay: Floats | float = 0.0  # (N, N) seconds, or one number for every link; N with nodes that are added
    bandwidth: Floats | float = np.inf  # (N, N) bytes per second, or one number
    migration: Migration = field(default_factory=Migration)
    happenings: tuple[Happening, ...] = ()

    def __post_init__(self) -> None:
        """Make arrays of numbers; refuse what contradicts itself."""
        given = np.ones(self.capacity) if isinstance(self.capacity, int) else np.asarray(self.capacity, dtype=float)
        if given.ndim != 1 or not len(given) or not (np.isfinite(given) & (given > 0)).all():
            raise ProblemError(
                f"capacity is {self.capacity}, but must be a number above 0 for each of at least one node. Correct it."
            )
        object.__setattr__(self, "capacity", frozen(given))
        object.__setattr__(self, "happenings", tuple(sorted(self.happenings, key=lambda each: each.at)))
        for what in self.happenings:
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
        """(N,) the capacity of every node that there ever is."""
        return np.append(self.capacity, [what.capacity for what in self.happenings if isinstance(what, Add)])

    @property
    def most(self) -> int:
        """N, the number of nodes that there ever are."""
        return self.n + sum(isinstance(what, Add) for what in self.happenings)

    @property
    def is_free(self) -> bool:
        """Whether tuples are everywhere at once."""
        return not np.any(self.delay) and bool(np.isinf(self.bandwidth).all())


def _demand(what: str, value: float, *, positive: bool = False) -> None:
    if not (value > 0 if positive else value >= 0) or not np.isfinite(value):
        rule = "above 0" if positive else "at least 0"
        raise ProblemError(f"{what} is {value}, but must be finite and {rule}. Correct it.")
