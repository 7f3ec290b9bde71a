"""One micro-batch as one Spark job: router, hops, and the results at the driver.

Rule 1: nothing is decided here. The plan and the state go in; results and everything to commit come out. The same input
gives the same output on every replay.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

import polars as pl
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession

from drover.control.engine_choice import EngineChoice
from drover.errors import DroverError, TableError
from drover.flow.frames import Frame, FrameKind, unpack
from drover.flow.spill import fetch
from drover.flow.worker import Assignment, NodeReport
from drover.network.durations import Micros
from drover.spark.tasks import FRAME_TYPE, NodeTask, RouterReport, RouterTask, SourceLayout, frames_of

ERROR_LINE: Final = re.compile(r"^drover\.errors\.(\w+): (.*)$", re.MULTILINE)
ADAPTIVE: Final = "spark.sql.adaptive.enabled"
PICKLED: Final = frozenset({FrameKind.EVENT_TIMES, FrameKind.NODE_REPORT, FrameKind.ROUTER_REPORT})
# How Spark tells that a worker is gone. If it was killed while it was idle, or with its daemon, Java fails as it talks
# to them: the first frame of that error that is not Java's own is Spark's for Python. An interrupted worker says so.
DEATH: Final = re.compile(
    r"Python worker exited unexpectedly|ExecutorLostFailure"
    r"|java\.(?:io|net)\.\w+Exception[^\n]*(?:\n\tat (?:java|jdk)\.[^\n]*)*\n\tat org\.apache\.spark\.api\.python\."
    r"|^KeyboardInterrupt$",
    re.MULTILINE,
)
TASK: Final = re.compile(r"Task (\d+) in stage")  # the number of a node's task is that of the node


class WorkerDiedError(DroverError):
    """A Python worker of Spark has died in a batch; `node` is the node that it ran, if known."""

    def __init__(self, text: str, node: int | None = None) -> None:
        super().__init__(text)
        self.node = node


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a micro-batch returned to the driver."""

    rows: Mapping[str, pl.DataFrame]  # by output
    dead: Mapping[str, pl.DataFrame]  # dead letters, by source
    latest: Mapping[str, Micros]  # event time, by source
    reports: tuple[NodeReport, ...]  # by place
    routed: tuple[RouterReport, ...] = ()
    files: frozenset[str] = frozenset()  # files that large results came in; delete them once the sinks have the rows
    query_results: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # by the table of the queries' shape
    late: pl.DataFrame | None = None  # rows that came too late, for their sink; None if there are none
    engine: str = str(EngineChoice.SHUFFLE)  # what computed it
    pieces: int = 1  # in which nodes worked side by side on a chain of operators

    @property
    def fed(self) -> frozenset[str]:
        """The operators that had rows to read."""
        ran = (one.sample for report in self.reports for one in report.operators)
        return frozenset(sample.operator for sample in ran if any(sample.rows_in.values()))


class BatchEngine(Protocol):
    """Computes micro-batches for the driver.

    An engine may run any task twice, or on any worker. Its result must be that of one attempt of each task.
    """

    def run(
        self, rows: DataFrame, layout: SourceLayout, assignment: Assignment, meanwhile: Callable[[], None]
    ) -> BatchResult:
        """Run one micro-batch. The driver has something to do `meanwhile`, which must end before the batch does."""
        ...

    def close(self) -> None:
        """End what the engine has running between batches."""
        ...


@dataclass(frozen=True, slots=True)
class ShuffleEngine:
    """Computes a micro-batch as one Spark job."""

    def run(
        self, rows: DataFrame, layout: SourceLayout, assignment: Assignment, meanwhile: Callable[[], None]
    ) -> BatchResult:
        """Run one micro-batch."""
        with overlapped(meanwhile):
            return run_batch(rows, layout, assignment)

    def close(self) -> None:
        """Do nothing: between batches, nothing runs."""


@contextmanager
def overlapped(work: Callable[[], None]) -> Iterator[None]:
    """Do some work in another thread while the body runs. The end waits for it, and raises the error that it raised."""
    with ThreadPoolExecutor(1, "drover meanwhile") as pool:
        doing = pool.submit(work)
        yield
        doing.result()


def run_batch(rows: DataFrame, layout: SourceLayout, assignment: Assignment) -> BatchResult:
    """Run one micro-batch on Spark."""
    schedule = assignment.schedule
    made = rows.mapInArrow(RouterTask(assignment, layout), FRAME_TYPE)
    for hop in range(schedule.hops):
        # Partition i is node i: unlike a hash, the id places every node in a task of its own.
        made = made.repartitionById(schedule.nodes, "node").mapInArrow(NodeTask(assignment, hop), FRAME_TYPE)
    what = (
        f"drover batch {assignment.batch}: {len(layout.shapes)} sources, {schedule.nodes} nodes, {schedule.hops} hops, "
        f"{sum(map(len, schedule.runs.values()))} operators"
    )
    with _one_job(rows.sparkSession):
        return gather(*fetch(collect_frames(rows.sparkSession, made, what), assignment.root))


def collect_frames(spark: SparkSession, made: DataFrame, what: str) -> Iterator[Frame]:
    """Run a Spark job, which its page calls `what`, and return the frames that it makes."""
    return (frame for batch in collect_arrow(spark, made, what) for frame in frames_of(batch.columns))


def collect_arrow(spark: SparkSession, made: DataFrame, what: str) -> list[pa.RecordBatch]:
    """Run a Spark job, which its page calls `what`, and return its rows; WorkerDiedError if it loses a worker."""
    collect = cast(Any, made)._collect_as_arrow  # `toArrow` also translates the schema, which takes 2 ms
    try:
        with _described(spark.sparkContext, what):
            return cast(list[pa.RecordBatch], collect())
    except PythonException as error:
        raise worker_death(str(error)) or _drovers_error(error) from error
    except (PySparkException, Py4JError) as error:
        if died := worker_death(str(error)):
            raise died from error
        raise


def worker_death(text: str) -> WorkerDiedError | None:
    """Return the death of a worker that an error of Spark tells of; None if it tells of something else."""
    if not DEATH.search(text):
        return None
    task = TASK.search(text)
    return WorkerDiedError(
        "a Python worker of Spark died: it ran out of memory, was killed, or native code in it crashed. "
        "Give workers more memory, or leave out what it ran: drover run FILE --without NAME.",
        None if task is None else int(task[1]),
    )


def _drovers_error(error: PythonException) -> Exception:
    """Return drover's own error from a worker, if it is one: Spark has it as the last line of a traceback."""
    said = ERROR_LINE.findall(str(error))
    if not said:
        return error
    name, text = said[-1]
    return TableError(text) if name == TableError.__name__ else DroverError(text)


@contextmanager
def _one_job(spark: SparkSession) -> Iterator[None]:
    """Switch adaptive execution off: it runs every shuffle as a job of its own, and here it has nothing to adapt.

    The session belongs to the streaming query, and its sinks use it after the batch, so the setting is restored.
    """
    before = spark.conf.get(ADAPTIVE) or "true"
    spark.conf.set(ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(ADAPTIVE, before)


@contextmanager
def _described(context: SparkContext, what: str) -> Iterator[None]:
    """Show this description for the jobs and stages of this thread in Spark's UI; remove it afterwards."""
    named = {"spark.job.description": what, "callSite.short": what.partition(":")[0], "callSite.long": what}
    for key, value in named.items():
        context.setLocalProperty(key, value)
    try:
        yield
    finally:
        for key in named:
            # Spark accepts None here, though its types do not say so.
            context.setLocalProperty(key, None)  # type: ignore[arg-type]


def gather(frames: list[Frame], files: frozenset[str]) -> BatchResult:
    """Return what the frames for the driver carry; some of them came in `files`."""
    unpickled: dict[FrameKind, list[Any]] = {kind: [] for kind in PICKLED}  # Any: what the kind says
    for frame in frames:
        if frame.port.kind in PICKLED:
            unpickled[frame.port.kind].append(pickle.loads(frame.payload))
    latest: dict[str, Micros] = {}
    for times in unpickled[FrameKind.EVENT_TIMES]:
        for source, micros in times.items():
            latest[source] = max(micros, latest.get(source, micros))
    rows: dict[FrameKind, dict[str, pl.DataFrame]] = {kind: {} for kind in FrameKind}
    for port, found in unpack((one for one in frames if one.port.kind not in PICKLED), rechunk=False).items():
        rows[port.kind][port.stream] = found
    return BatchResult(
        rows[FrameKind.ROWS],
        rows[FrameKind.DEAD_LETTERS],
        latest,
        # In a fixed order: nothing may depend on which task ended first.
        tuple(sorted(unpickled[FrameKind.NODE_REPORT], key=lambda report: report.place)),
        tuple(unpickled[FrameKind.ROUTER_REPORT]),
        files,
        rows[FrameKind.QUERY_RESULTS],
        next(iter(rows[FrameKind.LATE_ROWS].values()), None),
    )
