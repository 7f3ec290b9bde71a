"""The fluid core as an object: rates in small steps, for networks too large to follow every tuple.

Rule 1: it can be driven like the event core. Rule 2: times are rounded to steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Flags, Floats, Ints
from drover.sim.cluster import Cluster
from drover.sim.engine import new_books, take_out
from drover.sim.fluid import kernels
from drover.sim.fluid.kernels import Flow
from drover.sim.model import Model, net_of
from drover.sim.world import NOBODY, Books

STEP: Final = 0.01  # seconds
LOST, SERVED = 0, 1  # entries of `Flow.totals`


class Fluid:
    """A network that runs on nodes, tuples being a fluid."""

    def __init__(self, model: Model, cluster: Cluster, places: Ints, step: float = STEP) -> None:
        if not step > 0 or not np.isfinite(step):
            raise ProblemError(f"step is {step}, but must be above 0 and finite. Give {STEP:g}.")
        self.model, self.step = model, step
        self.flow = _flow(model, cluster, places)
        self.books = new_books(model, cluster.most)
        self._arrivals = np.zeros((len(model.sources), 0))  # (d, steps) of this stretch
        self._first = 0  # number of its first step
        self._taken = 0  # number of the next step

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Take the next amounts of every source, step by step."""
        self._first = self._taken
        self._arrivals = np.array(arrivals).reshape(len(self.model.sources), -1)

    def advance(self, until: float) -> None:
        """Take the steps that end up to a time."""
        last = min(max(round(until / self.step), self._taken), self._first + self._arrivals.shape[1])
        part = np.ascontiguousarray(self._arrivals[:, self._taken - self._first : last - self._first])
        kernels.advance(self.flow, self.books, part, self.step)
        self._taken = last

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend operators, (m,), and place all as said, (m,); what comes for those suspended waits."""
        self.flow.awake[chosen] = False
        self.flow.place[:] = places

    def resume(self, operator: int, now: float) -> None:  # noqa: ARG002 - as the event core has it
        """Let an operator go on at its place."""
        self.flow.awake[operator] = True

    def kill(self, node: int, now: float, *, replay: bool) -> None:  # noqa: ARG002 - as above
        """Lose a node: what waits there is lost, unless it is replayed."""
        if not replay:
            on_it = self.flow.place == node
            self.flow.totals[LOST] += self.flow.queue[on_it].sum()
            self.flow.queue[on_it] = 0.0

    def free_at(self, operators: Ints, now: float) -> float:  # noqa: ARG002 - as above
        """Return `now`: nothing is worked on in particular."""
        return now

    def state(self) -> Floats:
        """Return, (m,), the bytes of each operator's state: windows of joins are not followed."""
        return self.model.state

    def queued(self) -> Floats:
        """Return, (n,), the tuples at each node."""
        return np.bincount(self.flow.place, self.flow.queue, len(self.flow.slow)).astype(np.float64)

    @property
    def place(self) -> Ints:
        """(m,) where operators are, or go on."""
        return self.flow.place

    @property
    def lost(self) -> float:
        """Tuples lost with nodes so far."""
        return float(self.flow.totals[LOST])

    @property
    def served(self) -> float:
        """Invocations of operators so far."""
        return float(self.flow.totals[SERVED])

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies since they were last forgotten."""
        return self.books.kept

    def close_books(self, now: float) -> Books:  # noqa: ARG002 - as above
        """Return what happened since the last time."""
        return take_out(self.books)


def _flow(model: Model, cluster: Cluster, places: Ints) -> Flow:
    n, m, p, e = cluster.most, model.m, len(model.reader), len(model.streams)
    maker = np.full(e, NOBODY)
    maker[len(model.sources) :] = np.repeat(np.arange(m), np.diff(model.first))
    delay = np.array(cluster.delay)
    np.fill_diagonal(delay, 0.0)
    return Flow(
        net=net_of(model, "fifo"),
        ports=np.searchsorted(model.reader, np.arange(m + 1)),
        read=np.array(model.read),
        maker=maker,
        slow=1 / cluster.capacities,
        delay=delay,
        place=np.array(places, dtype=np.int64),
        awake=np.ones(m, dtype=np.bool_),
        queue=np.zeros(m),
        age=np.zeros(m),
        worked=np.zeros(m),
        cost=np.array(model.cost),
        share=np.ones(m),
        coming=np.zeros(p),
        mix=np.zeros(p),
        stream_age=np.zeros(e),
        stream_work=np.zeros(e),
        waiting=np.zeros(n),
        passing=np.zeros(n),
        sums=np.zeros((3, n)),
        totals=np.zeros(2),
    )
