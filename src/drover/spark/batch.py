"""One micro-batch as one Spark job: router, hops, and what comes back to the driver.

Rule 1: nothing is decided here: the plan and the state that the batch starts from come in, results and what is to be
committed go out; the same input gives the same output on every replay.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import polars as pl
from pyspark import SparkContext
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError, TableError
from drover.flow.frames import Frame, unpack
from drover.flow.router import DEAD, LATEST
from drover.flow.spill import fetch
from drover.flow.worker import Assignment, Report
from drover.network.durations import Micros
from drover.spark.tasks import FRAME_TYPE, REPORT, ROUTED, Layout, NodeTask, Routed, RouterTask

SAID: Final = re.compile(r"^drover\.errors\.(\w+): (.*)$", re.MULTILINE)
ADAPTIVE: Final = "spark.sql.adaptive.enabled"


@dataclass(frozen=True, slots=True)
class Result:
    """What a micro-batch gave: rows per output, dead letters and latest event times per source, reports per place."""

    rows: Mapping[str, pl.DataFrame]
    dead: Mapping[str, pl.DataFrame]
    latest: Mapping[str, Micros]
    reports: tuple[Report, ...]
    routed: tuple[Routed, ...] = ()
    files: frozenset[str] = frozenset()  # in which large results came; to be deleted when the sinks have them


def run_batch(rows: DataFrame, layout: Layout, assignment: Assignment) -> Result:
    """Run one micro-batch on Spark."""
    schedule = assignment.schedule
    made = rows.mapInArrow(RouterTask(assignment, layout), FRAME_TYPE)
    for hop in range(schedule.hops):
        made = made.repartitionById(schedule.nodes, "node").mapInArrow(NodeTask(assignment, hop), FRAME_TYPE)
    what = (
        f"drover batch {assignment.batch}: {len(layout.shapes)} sources, {schedule.nodes} nodes, {schedule.hops} hops, "
        f"{sum(map(len, schedule.runs.values()))} operators"
    )
    try:
        with _one_job(rows.sparkSession), _described(rows.sparkSession.sparkContext, what):
            collected = made.toArrow()
    except PythonException as error:
        raise _told(error) from error
    frames = [Frame(*row) for row in zip(*(column.to_pylist() for column in collected.columns), strict=True)]
    return gather(*fetch(frames, assignment.root))


def _told(error: PythonException) -> Exception:
    """Return what drover said in a worker, if it was drover: Spark brings it here as the last line of a traceback."""
    said = SAID.findall(str(error))
    if not said:
        return error
    name, text = said[-1]
    return TableError(text) if name == TableError.__name__ else DroverError(text)


@contextmanager
def _one_job(spark: SparkSession) -> Iterator[None]:
    """Switch adaptive execution off for a while: it runs every shuffle as a job of its own, and has nothing to adapt.

    The session is the streaming query's own, and sinks that run after this have it as it was.
    """
    before = spark.conf.get(ADAPTIVE) or "true"
    spark.conf.set(ADAPTIVE, "false")
    try:
        yield
    finally:
        spark.conf.set(ADAPTIVE, before)


@contextmanager
def _described(context: SparkContext, what: str) -> Iterator[None]:
    """Let jobs and stages of this thread be told by these words in Spark's pages, and those after them not."""
    named = {"spark.job.description": what, "callSite.short": what.partition(":")[0], "callSite.long": what}
    for key, value in named.items():
        context.setLocalProperty(key, value)
    try:
        yield
    finally:
        for key in named:
            # It takes None, which its types do not say.
            context.setLocalProperty(key, None)  # type: ignore[arg-type]


def gather(frames: list[Frame], files: frozenset[str]) -> Result:
    """Return what the frames for the driver say; some of them came through `files`."""
    reports = tuple(pickle.loads(frame.payload) for frame in frames if frame.port == REPORT)
    latest: dict[str, Micros] = {}
    for frame in frames:
        if frame.port == LATEST:
            for source, micros in pickle.loads(frame.payload).items():
                latest[source] = max(micros, latest.get(source, micros))
    streams = unpack((frame for frame in frames if frame.port not in (REPORT, LATEST, ROUTED)), rechunk=False)
    return Result(
        {port: rows for port, rows in streams.items() if not port.startswith(DEAD)},
        {port.removeprefix(DEAD): rows for port, rows in streams.items() if port.startswith(DEAD)},
        latest,
        tuple(sorted(reports, key=lambda report: report.place)),
        tuple(pickle.loads(frame.payload) for frame in frames if frame.port == ROUTED),
        files,
    )
