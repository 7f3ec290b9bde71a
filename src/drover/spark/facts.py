"""The facts of a committed batch: one value, from the driver to the control loop, the meter and `lastProgress`.

Rule 1: everything here is typed; `progress` alone turns it into JSON.
Rule 2: seconds are wall-clock time. Busy seconds are CPU time and what operators waited, and load is counted in these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from drover.flow.frames import Edge, summed_edges
from drover.flow.node import OperatorFacts
from drover.flow.parking import ParkedOperator
from drover.flow.worker import TaskId
from drover.load.sample import Sample
from drover.network.durations import Micros
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.commit_notes import CommitNotes
from drover.spark.row_totals import RowTotals, late_in

if TYPE_CHECKING:  # it imports Spark, for which a request to a stopped run need not wait
    from drover.spark.batch import BatchResult


@dataclass(frozen=True, slots=True)
class BatchSeconds:
    """How long the phases of a batch took."""

    compute: float  # from the start of the batch until all rows are at the driver
    sinks: float
    commit: float
    routing: float = 0.0  # within `compute`: the slowest router task
    nodes: float = 0.0  # within `compute`: the slowest node task of every hop, added up; in pieces, the slowest node

    @property
    def whole(self) -> float:
        """From the start of the batch to its commit."""
        return self.compute + self.sinks + self.commit


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What submitted queries did in a batch."""

    live: int
    parked: int
    families: int
    failed: int  # in this batch
    rows: int  # of results
    replication: float  # nodes that a source row travels to, on average, if some query needs it
    sent: Mapping[str, int]  # bytes from the router to nodes, by source
    busy: tuple[float, ...]  # (n,) busy seconds by node
    memory: int = 0  # bytes that the driver holds of queries: their texts, names, nodes and constants
    refinement: str = ""  # which queries moved since the batch before, and why; empty if none did


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What one batch did."""

    batch: int
    spark_batch: int  # the last of Spark's batches that drover has committed
    plan: int  # number of the plan
    nodes: int
    hops: int
    seconds: BatchSeconds
    rows_in: Mapping[str, int]  # by source
    routed: tuple[Edge, ...] = ()  # what the router sent to nodes
    rows_out: Mapping[str, int] = field(default_factory=dict)  # by output
    dead_letters: Mapping[str, int] = field(default_factory=dict)  # by source
    watermarks: Mapping[str, Micros] = field(default_factory=dict)  # by source
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)
    busy: tuple[float, ...] = ()  # (n,) busy seconds of the tasks of each node
    wall: tuple[float, ...] = ()  # (n,) seconds of the tasks of each node
    loaded: int = 0  # bytes of state that workers had to read
    operators: tuple[OperatorFacts, ...] = ()
    queries: QueryFacts | None = None  # None before the first query was submitted
    late: Mapping[str, int] = field(default_factory=dict)  # rows that came too late, by operator
    totals: RowTotals = field(default_factory=RowTotals)  # rows that were not used, in all batches of the checkpoint
    engine: str = ""  # what computed it
    hop_busy: tuple[tuple[float, ...], ...] = ()  # (hops, n) busy seconds of the task of each node in each hop
    result_bytes: int = 0  # of rows of outputs
    state_bytes: int = 0  # of state that the batch wrote
    pieces: int = 1  # in which nodes worked side by side on a chain of operators
    tasks: Mapping[int, TaskId] = field(default_factory=dict)  # by node that had work: the task that was busiest


def facts_of(
    batch: int, plan: Plan, result: BatchResult, notes: CommitNotes, seconds: BatchSeconds, queries: QueryFacts | None
) -> BatchFacts:
    """Return the facts of a batch from the reports of its tasks and the notes of its commit.

    The driver measures `seconds`, except for routing and nodes: these are in the reports.
    """
    busy = [0.0] * plan.nodes
    wall = [0.0] * plan.nodes
    # A batch waits for the slowest task of each hop, or in pieces, which overlap, for the slowest node.
    slowest: dict[int, float] = {}  # node task, by hop
    hop_busy = [[0.0] * plan.nodes for _ in range(1 + max((each.place.hop for each in result.reports), default=0))]
    for report in result.reports:
        busy[report.place.node] += report.busy
        hop_busy[report.place.hop][report.place.node] += report.busy
        wall[report.place.node] += report.seconds
        slowest[report.place.hop] = max(report.seconds, slowest.get(report.place.hop, 0.0))
    routing = max((routed.seconds for routed in result.routed), default=0.0)
    return BatchFacts(
        batch,
        notes.spark_batch,
        plan.number,
        plan.nodes,
        1 + max(slowest, default=0),
        replace(seconds, routing=routing, nodes=max(wall) if result.pieces > 1 else sum(slowest.values())),
        _rows_in(result),
        summed_edges(edge for routed in result.routed for edge in routed.edges),
        {stream: rows.height for stream, rows in result.rows.items()},
        {source: rows.height for source, rows in result.dead.items()},
        dict(notes.progress.now),
        dict(notes.parked),
        tuple(busy),
        tuple(wall),
        sum(report.loaded for report in result.reports),
        tuple(one for report in result.reports for one in report.operators),
        queries,
        late_in(result),
        notes.totals,
        result.engine,
        tuple(map(tuple, hop_busy)),
        sum(int(rows.estimated_size()) for rows in result.rows.values()),
        sum(segment.length for report in result.reports for segment in report.segments),
        result.pieces,
        _tasks(result),
    )


def _tasks(result: BatchResult) -> dict[int, TaskId]:
    """Return the task in which each node was busiest: with several hops, a node has several, perhaps far apart."""
    by_work = sorted(result.reports, key=lambda report: report.busy)
    return {report.place.node: report.task for report in by_work if report.task is not None}


def _rows_in(result: BatchResult) -> dict[str, int]:
    found: Counter[str] = Counter()
    for routed in result.routed:
        found.update(routed.rows)
    return dict(found)


def samples_of(network: Network, facts: BatchFacts) -> list[Sample]:
    """Return one sample per operator of the network that ran in a batch, in the network's order.

    The instances of a spread join become one sample: rows out, busy time and state add up. Rows in are those of its
    input streams, because several instances read copies of the same rows.
    """
    found: dict[str, list[Sample]] = {}
    streams: Counter[str] = Counter(facts.rows_in)
    for one in facts.operators:
        found.setdefault(one.sample.operator, []).append(one.sample)
        streams.update(one.sample.rows_out)
    samples = []
    for operator in network.operators:
        parts = found.get(operator.name, [])
        if len(parts) == 1:
            samples += parts
        elif parts:
            rows_in = {stream: float(streams[stream]) for stream in operator.inputs}
            rows_out = {stream: float(streams[stream]) for stream in operator.outputs}
            busy = sum(part.busy for part in parts)
            size = sum(part.state_bytes for part in parts)
            samples.append(Sample(operator.name, rows_in, rows_out, busy, size, sum(part.waited for part in parts)))
    return samples
