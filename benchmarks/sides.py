"""The sides of a comparison: streaming queries that process one batch after the other, and how long each batch takes.

Rule 1: the time of a batch is Spark's own `triggerExecution`, from the listing of the source to the commit of the
offsets, for drover and for plain Spark alike. For several queries it is the time from the first start to the last end.
Rule 2: the results of a side are counted while it runs, at almost no cost, and compared with those of the others.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Protocol

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.feed import Feed
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.session import session

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHECK = "check"
SETTINGS = {
    "spark.sql.streaming.pollingDelay": "500ms",  # a query that waits must not take time from one that runs
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # rows never stop coming
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.driver.memory": "6g",  # Spark's state and drover's results live in this one process
}

Totals = dict[str, float]
Measure = Mapping[str, str]  # name -> SQL aggregate over a result


class Side(Protocol):
    """One way to do the work."""

    name: str

    def start(self, spark: SparkSession) -> None: ...

    def step(self, batch: int) -> float:
        """Process a batch and return its seconds."""
        ...

    def totals(self) -> Totals: ...

    def stop(self) -> None: ...


@contextmanager
def spark_session(name: str, more: Mapping[str, str] | None = None, slots: int = 2) -> Iterator[SparkSession]:
    os.environ["POLARS_MAX_THREADS"] = "1"  # as drover's session sets it for workers that are not of this process
    spark = session(name, f"local[{slots}]", {**SETTINGS, **(more or {})})
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="drover-bench-") as place:
        yield Path(place)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


@dataclass
class Batches:
    """The progress of some queries that read the same batches."""

    queries: Sequence[StreamingQuery]
    reads: bool = True  # whether the queries read their rows, so that these can be counted
    seen: dict[str, int] = field(default_factory=dict)  # by query: how many of its batches

    def wait(self) -> float:
        """Wait for the batch that was just shown, and return its seconds.

        A query that looked while files were being shown processes them in two batches, which count as one.
        """
        starts = []
        ends = []
        for query in self.queries:
            query.processAllAvailable()
            first = self.seen.get(str(query.id), 0)
            found = [one for one in _progress_since(query, first) if "addBatch" in one["durationMs"]]
            rows = [sum(counts) for counts in zip(*map(_rows_read, found), strict=True)]
            if not rows or (self.reads and not all(rows)):
                raise RuntimeError(f"query {query.name} saw only a part of batch {first}: run the benchmark again")
            began = [datetime.fromisoformat(one["timestamp"]).timestamp() for one in found]
            starts.append(began[0])
            ends.append(began[-1] + found[-1]["durationMs"]["triggerExecution"] / 1000)
            self.seen[str(query.id)] = found[-1]["batchId"] + 1
        return float(max(ends) - min(starts))


def _progress_since(query: StreamingQuery, batch: int) -> list[StreamingQueryProgress]:
    """Return Spark's reports from a batch on. `recentProgress` would read those of all batches again in every batch."""
    reports = query._jsq.recentProgress()
    found: list[StreamingQueryProgress] = []
    for report in reversed(reports):
        one = StreamingQueryProgress.fromJson(json.loads(report.json()))
        if one["batchId"] < batch:
            break
        found.append(one)
    return found[::-1]


def _rows_read(progress: StreamingQueryProgress) -> list[int]:
    return [source["numInputRows"] for source in progress["sources"]]


@dataclass
class SparkSide:
    """Plain Structured Streaming: one query per result, into Spark's own sink that drops all rows."""

    name: str
    feed: Feed
    make: Callable[[SparkSession, Callable[[str], DataFrame]], Mapping[str, DataFrame]]  # results by name
    measure: Mapping[str, Measure]  # by result
    settings: Mapping[str, str] = field(default_factory=dict)
    batches: Batches = field(default_factory=lambda: Batches(()))

    def start(self, spark: SparkSession) -> None:
        for key, value in self.settings.items():
            spark.conf.set(key, value)
        made = self.make(spark, lambda source: self.feed.read(spark, self.name, source))
        queries = []
        for result, frame in made.items():
            counted = frame.observe(CHECK, *(F.expr(sql).alias(name) for name, sql in self.measure[result].items()))
            folder = self.feed.folder / "checkpoints" / self.name / result
            writer = counted.writeStream.format("noop").queryName(f"{self.name} {result}").outputMode("append")
            queries.append(writer.option("checkpointLocation", str(folder)).start())
        for key in self.settings:
            spark.conf.unset(key)
        self.batches = Batches(queries)

    def step(self, batch: int) -> float:
        self.feed.show(self.name, batch)
        return self.batches.wait()

    def totals(self) -> Totals:
        found: Totals = {}
        for query in self.batches.queries:
            for progress in query.recentProgress:
                observed = progress["observedMetrics"].get(CHECK)
                for name, value in (observed.asDict() if observed is not None else {}).items():
                    found[name] = found.get(name, 0) + (value or 0)
        return found

    def stop(self) -> None:
        for query in self.batches.queries:
            query.stop()


@cache
def _aggregate(sql: str) -> pl.Expr:
    """Return a simple aggregate, read once: SQL over a frame of ten rows would take longer than the rest of a batch."""
    return pl.len() if sql == "count(*)" else pl.sql_expr(sql)


@dataclass
class Count:
    """A sink that counts."""

    measure: Measure
    found: Totals = field(default_factory=dict)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        del batch, spark
        counted = rows.select(_aggregate(sql).alias(name) for name, sql in self.measure.items())
        for name, value in counted.row(0, named=True).items():
            self.found[name] = self.found.get(name, 0) + (value or 0)


@dataclass
class DroverSide:
    """drover, with sinks that count."""

    name: str
    feed: Feed
    network: Network
    measure: Mapping[str, Measure]  # by output
    nodes: int = 2
    plan: str | Plan = "round-robin"
    engine: str = "shuffle"
    sinks: dict[str, Count] = field(default_factory=dict)
    handle: Handle | None = None
    batches: Batches = field(default_factory=lambda: Batches(()))

    def start(self, spark: SparkSession) -> None:
        self.sinks = {output: Count(self.measure[output]) for output in self.network.outputs}
        sources = {source.name: self.feed.read(spark, self.name, source.name) for source in self.network.sources}
        checkpoint = str(self.feed.folder / "checkpoints" / self.name)
        self.handle = run(
            replace(self.network, name=self.name.replace(" ", "-")),  # Spark wants another name for each query
            sources,
            self.sinks,
            checkpoint=checkpoint,
            nodes=self.nodes,
            plan=self.plan,
            on_failure="stop",
            engine=self.engine,
        )
        (query,) = (one for one in spark.streams.active if str(one.id) == self.handle.id)
        self.batches = Batches((query,))

    def step(self, batch: int) -> float:
        self.feed.show(self.name, batch)
        return self.batches.wait()

    def totals(self) -> Totals:
        found: Totals = {}
        for sink in self.sinks.values():
            for name, value in sink.found.items():
                found[name] = found.get(name, 0) + value
        return found

    def stop(self) -> None:
        assert self.handle is not None
        self.handle.stop()
