"""The fluid core: rates in small steps, for networks that are too large to follow every tuple.

Rule 1: it has the interface of the event core. Rule 2: times are rounded to steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Flags, Floats, Ints
from drover.sim import fluid_kernels as kernels
from drover.sim.cluster import SimulatedCluster
from drover.sim.engine import drain_counts, no_counts
from drover.sim.fluid_kernels import Flow
from drover.sim.model import Model, net_of
from drover.sim.world import NOBODY, SimulationCounts

STEP: Final = 0.01  # seconds
# entries of `Flow.totals`
LOST = 0
SERVED = 1


class Fluid:
    """A network that runs on nodes, with tuples as a fluid."""

    def __init__(self, model: Model, cluster: SimulatedCluster, places: Ints, step: float = STEP) -> None:
        if not step > 0 or not np.isfinite(step):
            raise ProblemError(f"step is {step}, but must be above 0 and finite. Give {STEP:g}.")
        self.model = model
        self.step = step
        self.flow = _flow(model, cluster, places)
        self.counts = no_counts(model, cluster.most)
        self._arrivals = np.zeros((len(model.sources), 0))  # (d, steps) arrivals of this stretch
        self._first = 0  # number of the first step of the stretch
        self._taken = 0  # number of the next step

    def feed(self, arrivals: Sequence[Floats]) -> None:
        """Add the next amounts of every source, step by step."""
        self._first = self._taken
        self._arrivals = np.array(arrivals).reshape(len(self.model.sources), -1)

    def advance(self, until: float) -> None:
        """Process the steps that end before or at a time."""
        last = min(max(round(until / self.step), self._taken), self._first + self._arrivals.shape[1])
        part = np.ascontiguousarray(self._arrivals[:, self._taken - self._first : last - self._first])
        kernels.advance(self.flow, self.counts, part, self.step)
        self._taken = last

    def suspend(self, chosen: Flags, places: Ints) -> None:
        """Suspend the chosen operators, (m,), and set the node of every operator, (m,); their input waits."""
        self.flow.awake[chosen] = False
        self.flow.place[:] = places

    def resume(self, operator: int, now: float) -> None:  # noqa: ARG002 - the interface of the event core
        """Resume an operator on its node."""
        self.flow.awake[operator] = True

    def kill(self, node: int, now: float, *, replay: bool) -> None:  # noqa: ARG002 - as above
        """Fail a node; tuples that wait there are lost unless they are replayed."""
        if not replay:
            on_it = self.flow.place == node
            self.flow.totals[LOST] += self.flow.queue[on_it].sum()
            self.flow.queue[on_it] = 0.0

    def free_at(self, operators: Ints, now: float) -> float:  # noqa: ARG002 - as above
        """Return `now`: a fluid has no tuple in service that a move would have to wait for."""
        return now

    def state(self) -> Floats:
        """Return, (m,), the bytes of each operator's state, without the windows of joins."""
        return self.model.state

    def queued(self) -> Floats:
        """Return, (n,), the tuples queued at each node."""
        return np.bincount(self.flow.place, self.flow.queue, len(self.flow.slow)).astype(np.float64)

    @property
    def place(self) -> Ints:
        """(m,) node of each operator; of a suspended one, the node it resumes on."""
        return self.flow.place

    @property
    def lost(self) -> float:
        """Tuples lost with failed nodes so far."""
        return float(self.flow.totals[LOST])

    @property
    def served(self) -> float:
        """Invocations of operators so far."""
        return float(self.flow.totals[SERVED])

    @property
    def kept(self) -> Floats:
        """(y, BUCKETS) latencies by output, since the array was last cleared."""
        return self.counts.kept

    def take_counts(self, now: float) -> SimulationCounts:  # noqa: ARG002 - as above
        """Return copies of the counts since the last call, and start new ones."""
        return drain_counts(self.counts)


def _flow(model: Model, cluster: SimulatedCluster, places: Ints) -> Flow:
    n = cluster.most
    m = model.m
    p = len(model.reader)
    e = len(model.streams)
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
