"""Latency: small files arrive ten times a second; the clock runs from a file's arrival to its results at the driver.

Sides run one after the other, in rounds, in one session. `filter` keeps a part of the rows and computes a column; the
time of a file is that of its last row. `window` counts rows per second of event time and group; the time of a window
runs from the arrival of the first file that is past its end. Spark's side is a plain `foreachBatch` that collects the
rows as Arrow. Flink's sink is in its own process; its side runs after the rounds, and only if `peers` has fetched
Flink before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.compare import Outcome
from benchmarks.feed import Feed
from benchmarks.flink_home import flink_home, is_there
from benchmarks.flink_side import HEAP, FlinkSide
from benchmarks.sides import say, scratch, spark_session
from drover.network.build import Builder
from drover.network.model import Network
from drover.spark.handle import Handle
from drover.spark.run import run

FILES = 10  # per second
ROWS = 1_000  # per file
GROUPS = 10
BEGIN = 1_767_225_600
TYPES = "ts timestamp, file bigint, key bigint, value double"
COLUMNS = {"ts": "timestamp", "file": "bigint", "key": "bigint", "value": "double"}
MORE = {"spark.master": "local[4]", "spark.sql.streaming.pollingDelay": "10ms"}
TARGET = 1 / 1.2
PATIENCE = 120  # seconds for what is still under way when the last file has arrived
Note = Callable[[Sequence[int]], None]  # the files, or windows, whose rows have just come


def rows(file: int) -> pl.DataFrame:
    """The rows of a tenth of a second of event time."""
    rng = np.random.default_rng(file)
    span = 1000 // FILES
    times = BEGIN * 1000 + file * span + np.sort(rng.integers(0, span, ROWS))
    frame = pl.DataFrame({"ts": times, "key": rng.integers(0, GROUPS, ROWS), "value": rng.random(ROWS)})
    exact = pl.col("ts").cast(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC"))
    return frame.select(exact, pl.lit(file, pl.Int64).alias("file"), "key", "value")


@dataclass
class Arrivals:
    """When files arrived and when their results came, in seconds of one clock."""

    arrived: dict[int, float] = field(default_factory=dict)
    came: dict[int, float] = field(default_factory=dict)  # by file, or by second of event time

    def note(self, found: Sequence[int]) -> None:
        now = time.time()
        self.came.update(dict.fromkeys(found, now))

    def latencies(self, task: str, first: int) -> list[float]:
        """The seconds of all results from file `first` on."""
        if task == "filter":
            if missing := sorted(self.arrived.keys() - self.came.keys()):
                raise RuntimeError(f"no rows came of file {missing[0]} and {len(missing) - 1} others: run it again")
            return [self.came[file] - at for file, at in self.arrived.items() if file >= first]
        ends = {second: (second - BEGIN + 1) * FILES for second in self.came}  # the first file past the window's end
        return [self.came[k] - self.arrived[end] for k, end in ends.items() if end >= first and end in self.arrived]


class LatencySide(Protocol):
    """One way to do the work; results are noted as they come."""

    name: str

    def start(self, spark: SparkSession, feed: Feed, task: str, note: Note) -> None: ...

    def check(self) -> None:
        """Raise the error that has ended the side, if any."""
        ...

    def stop(self) -> None: ...


def network(task: str, name: str) -> Network:
    builder = Builder(f"{task}-{name}")
    source = builder.source("rows", COLUMNS, time="ts")
    if task == "filter":
        kept = source.filter("kept", "value > 0.5")
        kept.map("results", {"file": "file", "double": "value * 2"}).output()
    else:
        source.aggregate("results", {"n": "count(*)"}, size="1 s", group_by=("key",)).output()
    return builder.build()


@dataclass
class DroverLatency:
    """drover on one node."""

    name: str  # of the engine
    handle: Handle | None = None

    def start(self, spark: SparkSession, feed: Feed, task: str, note: Note) -> None:
        @dataclass
        class Noting:
            def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
                del batch, spark
                column = pl.col("file") if task == "filter" else pl.col("window_start").dt.epoch("s")
                note(rows.select(column.unique()).to_series().to_list())

        sources = {"rows": feed.read(spark, self.name, "rows", together=True)}
        checkpoint = str(feed.folder / "checkpoints" / self.name)
        self.handle = run(
            network(task, self.name),
            sources,
            {"results": Noting()},
            checkpoint=checkpoint,
            nodes=1,
            engine=self.name,
            stop_on_failure=True,
        )

    def check(self) -> None:
        assert self.handle is not None
        if (error := self.handle.exception()) is not None:
            raise error

    def stop(self) -> None:
        assert self.handle is not None
        self.handle.stop()


@dataclass
class SparkLatency:
    """Plain `foreachBatch`."""

    name: str = "spark"
    query: StreamingQuery | None = None

    def start(self, spark: SparkSession, feed: Feed, task: str, note: Note) -> None:
        frame = feed.read(spark, self.name, "rows", together=True)
        if task == "filter":
            results = frame.where("value > 0.5").select("file", F.expr("value * 2 AS double"))
        else:
            grouped = frame.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 second"), "key")
            results = grouped.count().select(F.expr("unix_seconds(window.start) AS file"), "key", "count")

        def process(batch_rows: DataFrame, batch: int) -> None:
            del batch
            note(pc.unique(batch_rows.toArrow()["file"]).to_pylist())

        writer = results.writeStream.queryName(f"{self.name} {task}").outputMode("append").foreachBatch(process)
        self.query = writer.option("checkpointLocation", str(feed.folder / "checkpoints" / self.name)).start()

    def check(self) -> None:
        assert self.query is not None
        if (error := self.query.exception()) is not None:
            raise error

    def stop(self) -> None:
        assert self.query is not None
        self.query.stop()


FLINK = {
    "filter": "SELECT CAST(file AS INT), `value` * 2, 0E0 FROM `rows` WHERE `value` > 0.5",
    "window": f"""
SELECT CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) - {BEGIN} AS INT),
  CAST(COUNT(*) AS DOUBLE), 0E0
FROM TABLE(TUMBLE(TABLE `rows`, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, key""",
}


@dataclass
class FlinkLatency:
    """Flink, whose sink notes the time of the last row of each file or window."""

    task: str = ""
    name: str = "flink"
    side: FlinkSide | None = None

    def start(self, spark: SparkSession, feed: Feed, task: str, note: Note) -> None:
        del spark, note
        settings = {**HEAP, "execution.checkpointing.interval": "1 s", "execution.buffer-timeout.interval": "1 ms"}
        self.task = task
        self.side = FlinkSide(
            self.name, feed, flink_home(), FLINK[task], lambda _: {}, lambda _: 0, settings=settings, poll="10 ms"
        )
        self.side.options = ("-Ddrover.times=true",)
        self.side.start(None)

    def collect(self, arrivals: Arrivals) -> None:
        """Take over the times of the other process, whose clock is this machine's, too."""
        assert self.side is not None
        offset = 0 if self.task == "filter" else BEGIN
        for line in self.side.ask("times"):
            _, label, milliseconds = line.split()
            key = int(label) + offset
            at = int(milliseconds) / 1000
            arrivals.came[key] = max(at, arrivals.came.get(key, 0.0))

    def check(self) -> None: ...  # asking for times raises the error

    def stop(self) -> None:
        assert self.side is not None
        self.side.stop()


def feed_files(feed: Feed, side: str, arrivals: Arrivals, count: int) -> None:
    """Let files arrive at their times."""
    begun = time.time()
    for file in range(count):
        time.sleep(max(0.0, begun + file / FILES - time.time()))
        feed.show(side, file)
        arrivals.arrived[file] = time.time()


def play(spark: SparkSession, side: LatencySide, task: str, count: int, warm_up: int) -> list[float]:
    """Run one side on its own for `count` files; return the latencies after the warm-up."""
    arrivals = Arrivals()
    with scratch() as folder:
        feed = Feed(folder, {"rows": TYPES})
        for file in range(count):
            feed.write(file, {"rows": rows(file)})
        side.start(spark, feed, task, arrivals.note)
        try:
            feeder = threading.Thread(target=feed_files, args=(feed, side.name, arrivals, count))
            feeder.start()
            feeder.join()
            _settle(side, arrivals, task, count)
        finally:
            side.stop()
    return arrivals.latencies(task, warm_up)


def _settle(side: LatencySide, arrivals: Arrivals, task: str, count: int) -> None:
    """Wait for the last file, or for the last window that files have closed a second before the end."""
    wanted = count - 1 if task == "filter" else BEGIN + (count - 1) // FILES - 2
    patience = time.monotonic() + PATIENCE
    while wanted not in arrivals.came:
        if time.monotonic() > patience:
            raise RuntimeError(f"{side.name} has not given out {wanted} of {task} within {PATIENCE} s of the last file")
        side.check()
        time.sleep(0.2)
        if isinstance(side, FlinkLatency):
            side.collect(arrivals)


def bench(quick: bool) -> Outcome:
    count, warm_up, rounds = (120, 60, 1) if quick else (350, 150, 3)  # files
    outcome = Outcome("latency")
    found: dict[tuple[str, str], list[float]] = {}
    with spark_session("latency", MORE) as spark:
        for task in ("filter", "window"):
            for turn in range(rounds + 1):  # the first does not count: whoever is first in a new session waits for Java
                sides: list[LatencySide] = [DroverLatency("resident"), DroverLatency("shuffle"), SparkLatency()]
                if is_there():
                    sides.append(FlinkLatency())
                for side in sides:
                    took = play(spark, side, task, count, warm_up)
                    if turn > 0:
                        found.setdefault((task, side.name), []).extend(took)
                    say(f"{task}, round {turn}, {side.name}: {_describe_times(took)}")
    if not is_there():
        say("without Flink, which `python -m benchmarks peers` fetches")
    summarise(found, outcome)
    return outcome


def _describe_times(took: Sequence[float]) -> str:
    p50, p99 = np.percentile(took, [50, 99]) * 1000
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, {len(took)} results"


def summarise(found: Mapping[tuple[str, str], Sequence[float]], outcome: Outcome) -> None:
    """Fill in figures, and Spark's latency over that of each engine."""
    at = {(*key, share): float(np.percentile(took, share)) for key, took in found.items() for share in (50, 99)}
    for (task, side, share), seconds in at.items():
        outcome.figures[f"{task}: p{share} in ms, {side}"] = seconds * 1000
        if side in {"resident", "shuffle"}:
            ratio = f"{task}_p{share}_{side}"
            outcome.ratios[ratio] = at[task, "spark", share] / seconds
            if side == "resident":
                outcome.targets[ratio] = TARGET
