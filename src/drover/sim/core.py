"""What a run asks of a core, be it of events or fluid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.model import Model
from drover.sim.world import Books


class Core(Protocol):
    """A network that runs on nodes, and can be changed between two times."""

    @property
    def model(self) -> Model:
        """The network."""

    @property
    def place(self) -> Ints:
        """(m,) where operators are, or go on."""

    @property
    def lost(self) -> float:
        """Tuples lost with nodes so far."""

    @property
    def served(self) -> float:
        """Invocations of operators so far."""

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies since they were last forgotten."""

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Take what comes next from every source."""

    def advance(self, until: float) -> None:
        """Let everything happen that happens before a time."""

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend operators, (m,), and place all as said, (m,)."""

    def resume(self, operator: int, now: float) -> None:
        """Let an operator go on at its place."""

    def kill(self, node: int, now: float, *, replay: bool) -> None:
        """Lose a node, whose operators are suspended and still placed there."""

    def free_at(self, operators: Ints, now: float) -> float:
        """Return when the last of these operators can be moved."""

    def state(self) -> Floats:
        """Return, (m,), the bytes of each operator's state at present."""

    def queued(self) -> Floats:
        """Return, (n,), the tuples that wait at each node."""

    def close_books(self, now: float) -> Books:
        """Return what happened since the last time."""
