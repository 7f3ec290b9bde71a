"""What a node can really spend: its share of the cores, for the part of each second that a batch leaves to nodes.

    capacity = (1 - fixed / trigger - reading, sinks and commit per second) / stretch * cores / nodes - overhead

Where operators wait without using a core, so many more nodes can be busy on the cores.

Rule 1: one place computes it, for everybody who shows, compares or plans loads. Rule 2: without a model of batches, or
without knowing the cores, there is no answer, and callers assume a core for each node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from drover.load.batch_model import BatchMeasure, BatchModel, BatchWork, PredictedSeconds, comparable, fit_batches

RECENT: Final = 20  # batches that show what a row means in bytes, results and state
LEAST: Final = 0.05  # of a core's time that nodes always get: a batch may take longer than its trigger


@dataclass(frozen=True, slots=True)
class NodeCapacity:
    """What each of n nodes can spend on operators."""

    nodes: int
    cores: float
    free: float  # share of each second that is left for nodes; 0 if fixed costs alone fill the trigger
    stretch: float = 1.0  # seconds that a busy second takes
    overhead: float = 0.0  # busy seconds per second that a node spends outside of operators
    computing: float = 1.0  # share of the busy seconds that need a core

    @property
    def at_once(self) -> float:
        """The number of nodes that the cores let be busy at the same time."""
        return self.cores / self.computing if self.computing > 0 else math.inf

    @property
    def share(self) -> float:
        """The share of the time for which a node can be busy if all nodes work."""
        return min(1.0, self.at_once / self.nodes)

    @property
    def each(self) -> float:
        """Busy seconds per second that a node can spend on operators."""
        return max(self.free / self.stretch * self.share - self.overhead, LEAST * self.share)

    def __str__(self) -> str:
        cores = f"{self.nodes} nodes share {self.cores:g} cores" if self.share < 1 else "every node has a core"
        return f"{self.each:.3g} busy seconds per second: {cores}, and batches leave nodes {self.free:.0%} of the time"


@dataclass(frozen=True, slots=True, eq=False)
class UsualBatches:
    """The batches of a run at present: their model, and what a row means for them."""

    model: BatchModel
    newest: BatchMeasure
    per_row: BatchWork  # work per row read, in as many hops as the newest batch has
    overhead: float  # busy seconds of nodes outside of operators, per row read
    computing: float = 1.0  # share of the busy seconds of nodes that needed a core

    @property
    def trigger(self) -> float | None:
        """Seconds from the start of a batch to the start of the next; None if batches follow without a pause."""
        return self.newest.trigger or None

    @property
    def cores(self) -> float:
        """Cores for the nodes."""
        return float(self.newest.cores or self.newest.nodes)

    def capacity(self, nodes: int, rate: float) -> NodeCapacity | None:
        """Return what each of so many nodes can spend at a rate of rows per second; None if the cores are unknown."""
        if not self.newest.cores:
            return None
        seconds = self.trigger or 1.0
        phases = self.model.phases(self.per_row.times(rate * seconds))
        # Without a pause, batches grow until their fixed cost is a small part of them.
        fixed = phases.fixed if self.trigger else 0.0
        free = 1.0 - (fixed + phases.others) / seconds
        stretch = max(float(self.model.nodes.coefficients[2]), 1e-3)
        overhead = self.overhead * rate / nodes
        return NodeCapacity(nodes, self.cores, max(free, 0.0), stretch, overhead, self.computing)

    def steady_seconds(self, per_row: BatchWork, rate: float) -> PredictedSeconds:
        """Return how long batches take at a rate of rows per second, once their length is steady.

        A batch that takes longer than the trigger has more rows to read, and the next one longer still. If each second
        brings more than a second of work, batches grow without end.
        """
        span = self.trigger or 1.0
        found = self.model.seconds(per_row.times(rate * span))
        fixed = self.model.phases(replace(per_row.times(0.0), hops=per_row.hops)).whole
        ends = (_steady(fixed, one - fixed, span, self.trigger) for one in (found.mean, found.low, found.high))
        return PredictedSeconds(*ends)


def _steady(fixed: float, more: float, span: float, trigger: float | None) -> float:
    if trigger is not None and fixed + more <= trigger:
        return fixed + more
    per_second = more / span
    return fixed / (1 - per_second) if per_second < 1 else math.inf


def usual_batches(measures: Sequence[BatchMeasure]) -> UsualBatches | None:
    """Return what the last batches show; None if there is none yet."""
    seen = comparable(measures)
    model = fit_batches(tuple(measures))
    if model is None:
        return None
    recent = seen[-RECENT:]
    rows = sum(one.work.rows for one in recent) or 1.0

    def per_row(name: str) -> float:
        return float(sum(getattr(one.work, name) for one in recent)) / rows

    work = BatchWork(
        rows=1.0 if any(one.work.rows for one in recent) else 0.0,
        routed_bytes=per_row("routed_bytes"),
        hops=seen[-1].work.hops,
        work=per_row("work"),
        result_rows=per_row("result_rows"),
        result_bytes=per_row("result_bytes"),
        state_bytes=per_row("state_bytes"),
    )
    busy = sum(one.busy for one in recent)
    computing = 1.0 - sum(one.waited for one in recent) / busy if busy > 0 else 1.0
    return UsualBatches(model, seen[-1], work, sum(one.overhead for one in recent) / rows, computing)
