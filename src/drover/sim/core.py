"""The interface of a simulation core. There are two: one of events, one of fluid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.model import Model
from drover.sim.world import SimulationCounts


class Core(Protocol):
    """A network that runs on nodes, and whose plan can change between two calls of `advance`."""

    @property
    def model(self) -> Model:
        """The network."""

    @property
    def place(self) -> Ints:
        """(m,) node of each operator; of a suspended one, the node it resumes on."""

    @property
    def lost(self) -> float:
        """Tuples lost with failed nodes so far."""

    @property
    def served(self) -> float:
        """Invocations of operators so far."""

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies by output, since the array was last cleared."""

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Add the next arrivals of every source."""

    def advance(self, until: float) -> None:
        """Process all events before a time."""

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend the chosen operators, (m,), and set the node of every operator, (m,)."""

    def resume(self, operator: int, now: float) -> None:
        """Resume an operator on its node."""

    def kill(self, node: int, now: float, *, replay: bool) -> None:
        """Fail a node; its operators must be suspended and still be placed there."""

    def free_at(self, operators: Ints, now: float) -> float:
        """Return the time at which all of these operators can be moved."""

    def state(self) -> Floats:
        """Return, (m,), the present size of each operator's state in bytes."""

    def queued(self) -> Floats:
        """Return, (n,), the number of tuples that wait at each node."""

    def take_counts(self, now: float) -> SimulationCounts:
        """Return the counts since the last call, and start new ones."""
