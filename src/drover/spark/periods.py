"""From batches to periods: what all batches of a period did together, as the control loop reads it.

Rule 1: a period ends with a batch and lasts from commit to commit, so that rates include waiting. The first batch of a
run belongs to no period: nobody knows how long its rows have waited, and it includes the start of Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from drover.control.state import ControlState
from drover.load.batch_model import BatchMeasure, thinned
from drover.load.sample import Sample, merged, own_name
from drover.load.slot_offer import SlotOffer
from drover.network.model import Network
from drover.spark.batch_measures import measure_batch
from drover.spark.facts import BatchFacts, samples_of

USUAL: Final = 20  # batches whose node seconds count as usual
MEASURED: Final = 3  # batches of a period that the model of a batch learns from, so that short ones do not crowd it
LEAST_SECONDS: Final = 0.05  # seconds of a node's tasks in a period; below it, the share of the processor is noise


@dataclass(frozen=True, slots=True)
class PeriodFacts:
    """What the batches of one period did, as the load model reads it."""

    seconds: float
    rows: Mapping[str, float]  # by source
    samples: tuple[Sample, ...]  # by operator, and one more for each instance of a spread join


@dataclass(frozen=True, slots=True)
class PeriodSummary:
    """The figures of a period that `drover history` and the report show."""

    seconds: float
    batches: float
    batch_seconds: float  # of a batch, on average
    slowest_batch: float
    slowest_node: float  # seconds that the nodes took in the slowest batch
    rows: float
    routed_bytes: float
    replication: float  # nodes that a source goes to, on average


@dataclass(frozen=True, slots=True)
class Collected:
    """One period."""

    period: PeriodFacts
    summary: PeriodSummary
    moved: tuple[tuple[float, float], ...] = ()  # seconds that moves took beyond what is usual, and their bytes
    speeds: tuple[float, ...] = ()  # (n,) busy seconds of a node's tasks per second of theirs; 0: unknown
    query_busy: tuple[float, ...] = ()  # (n,) busy seconds per second of submitted queries
    measures: tuple[BatchMeasure, ...] = ()  # of some of its batches
    backlog: float = -1.0  # rows that wait at the sources; -1: unknown

    def after(self, state: ControlState) -> ControlState:
        """Return the state of the control loop after this period."""
        period = self.period
        window = state.window.push(state.period + 1, period.seconds, period.rows, period.samples)
        state = (
            replace(state, window=window)
            .add_speeds(self.speeds, self.query_busy)
            .add_batches(self.measures, self.backlog)
        )
        for seconds, size in self.moved:
            state = state.learn_move_cost(seconds, size)
        return state


@dataclass(slots=True)
class PeriodAccumulator:
    """The batches of the current period."""

    network: Network
    last: float | None = None  # when the last period ended; None before the first batch
    offer: Callable[[], SlotOffer] = SlotOffer  # what the machine offers now
    _batches: list[BatchFacts] = field(default_factory=list)
    _usual: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL))  # seconds of the nodes, lately
    _expected: dict[int, float] = field(default_factory=dict)  # bytes that the plan of a number moves
    _moved: list[tuple[float, float]] = field(default_factory=list)

    def expect(self, plan: int, size: float) -> None:
        """Note that the first batch with a plan moves so many bytes."""
        self._expected[plan] = size

    def take(self, now: float, facts: BatchFacts, period: float) -> Collected | None:
        """Take in a batch that was committed now; return the period that ends with it, if one does."""
        # A plan may be replaced before any batch uses it; its moves then happen with the later plan.
        due = [plan for plan in self._expected if plan <= facts.plan]
        size = sum(self._expected.pop(plan) for plan in due)
        if size > 0 and self._usual:
            self._moved.append((facts.seconds.nodes - median(self._usual), size))
        # A batch that moved state counts, too: the median of 20 batches hardly notices one.
        self._usual.append(facts.seconds.nodes)
        if self.last is None:
            self.last = now
            return None
        self._batches.append(facts)
        seconds = now - self.last
        if seconds < period or seconds <= 0:
            return None
        batches = self._batches
        self._batches = []
        moved = tuple(self._moved)
        self._moved = []
        self.last = now
        return Collected(
            period_of(self.network, batches, seconds),
            summary(batches, seconds),
            moved,
            speeds_of(batches),
            query_busy_of(batches, seconds),
            self._measures(batches),
        )

    def _measures(self, batches: list[BatchFacts]) -> tuple[BatchMeasure, ...]:
        offer = self.offer()
        return thinned([measure_batch(facts, offer) for facts in batches], MEASURED)


def period_of(network: Network, batches: list[BatchFacts], seconds: float) -> PeriodFacts:
    """Return what batches did in a period of so many seconds."""
    rows = {source.name: float(sum(one.rows_in.get(source.name, 0) for one in batches)) for source in network.sources}
    whole = merged(sample for facts in batches for sample in samples_of(network, facts))
    return PeriodFacts(seconds, rows, (*whole.values(), *_instances(batches)))


def _instances(batches: list[BatchFacts]) -> Iterator[Sample]:
    """Yield a sample per instance, for every operator with the same instances in all batches of a period."""
    # If the shape changed within the period, shares of instances from before the change mean nothing after it.
    found = [{(one.sample.operator, one.instance): one.sample for one in facts.operators} for facts in batches]
    for name in sorted({name for name, number in found[-1] if number}):
        numbers = [sorted(number for each, number in samples if each == name) for samples in found]
        if all(each == numbers[-1] for each in numbers):
            for number in numbers[-1]:
                each = [samples[name, number] for samples in found]
                busy = sum(sample.busy for sample in each)
                pairs = {name: sum(sum(sample.rows_out.values()) for sample in each)}
                yield Sample(own_name(name, number), {}, pairs, busy, each[-1].state_bytes)


def speeds_of(batches: list[BatchFacts]) -> tuple[float, ...]:
    """Return the share of a processor that each node of the last batch had while it worked, (n,); 0 if unknown."""
    nodes = batches[-1].nodes
    # The number of nodes may have changed within the period.
    alike = [facts for facts in batches if facts.nodes == nodes]
    found = []
    for node in range(nodes):
        busy = sum(facts.busy[node] for facts in alike)
        wall = sum(facts.wall[node] for facts in alike)
        # Processor time counts all threads of a process, so it can exceed the time that passed.
        found.append(round(min(busy / wall, 1.0), 4) if wall >= LEAST_SECONDS else 0.0)
    return tuple(found)


def query_busy_of(batches: list[BatchFacts], seconds: float) -> tuple[float, ...]:
    """Return the busy seconds per second that submitted queries took of each node of the last batch, (n,)."""
    nodes = batches[-1].nodes
    queries = [facts.queries for facts in batches if facts.nodes == nodes and facts.queries is not None]
    return tuple(round(sum(one.busy[node] for one in queries) / seconds, 4) for node in range(nodes))


def summary(batches: list[BatchFacts], seconds: float) -> PeriodSummary:
    """Return the figures of a period."""
    times = [facts.seconds.whole for facts in batches]
    routed = [edge for facts in batches for edge in facts.routed]
    sent = {(edge.stream, edge.node) for edge in routed}
    streams = {stream for stream, _node in sent}
    return PeriodSummary(
        seconds=round(seconds, 4),
        batches=float(len(batches)),
        batch_seconds=round(sum(times) / len(times), 4),
        slowest_batch=round(max(times), 4),
        slowest_node=round(max(facts.seconds.nodes for facts in batches), 4),
        rows=float(sum(sum(facts.rows_in.values()) for facts in batches)),
        routed_bytes=float(sum(edge.bytes for edge in routed)),
        replication=round(len(sent) / len(streams), 4) if streams else 0.0,
    )
