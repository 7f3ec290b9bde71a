"""Routes small batches in the driver's own process, which saves a Python stage of Spark.

Rule 1: a batch is small if Spark's own estimate says so and the batch before it was small. Spark knows the size of
files, but not of every source, and a small file may hold many rows. The driver must not run out of memory.
Rule 2: rows keep the order of their partitions, so the frames are those of a single router.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pyspark.sql import DataFrame

from drover.flow.frames import Frame
from drover.flow.worker import WorkerCache
from drover.spark.batch import BatchResult, collect_arrow
from drover.spark.resident.node_server import Deliveries
from drover.spark.resident.routing import ResidentRouterTask
from drover.spark.resident.wire import RunSecret
from drover.spark.tasks import attempt_word, burn, frames_of

SMALL_BYTES: Final = 1 << 20  # as Spark estimates them; compressed files may hold some ten times as much
SMALL_ROWS: Final = 20_000  # in the batch before; with more, two routers side by side are faster than the driver
FEW_QUERIES: Final = 100_000  # a router holds the constants of all queries; with more, not in the driver as well

Estimate = Callable[[DataFrame], int]


def estimated_bytes(rows: DataFrame) -> int:
    """Return the size of a batch by the statistics of Spark's optimizer; it is enormous if Spark does not know."""
    size: int = rows._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    return size


class DriverRouter:
    """Routes small batches of one run; it knows how many rows the last batch had."""

    def __init__(self, secret: RunSecret, clock: Callable[[], float], estimate: Estimate = estimated_bytes) -> None:
        self._cache = WorkerCache(clock, burn)
        self._deliveries = Deliveries(secret)
        self._estimate = estimate
        self._rows_before: int | None = None  # None before the first batch: it may be a long backlog

    def suits(self, rows: DataFrame, task: ResidentRouterTask) -> bool:
        """Return whether to route a batch here."""
        if self._rows_before is None or self._rows_before > SMALL_ROWS:
            return False
        return _queries(task) <= FEW_QUERIES and self._estimate(rows) <= SMALL_BYTES

    def note(self, result: BatchResult) -> None:
        """Take note of a batch, wherever it was routed."""
        self._rows_before = sum(sum(routed.rows.values()) for routed in result.routed)

    def route(
        self, rows: DataFrame, task: ResidentRouterTask, what: str, wait_for_nodes: Callable[[], object]
    ) -> Iterator[Frame]:
        """Read a batch, put its frames to the nodes once these are ready, and yield the frames for the driver."""
        collected = collect_arrow(rows.sparkSession, rows, what)
        wait_for_nodes()
        for made in task.run(iter(collected), 0, attempt_word(), self._cache, self._deliveries):
            yield from frames_of(made.columns)


def _queries(task: ResidentRouterTask) -> int:
    families = task.router.assignment.families
    return 0 if families is None else sum(table.members for table in families.member_tables.values())
