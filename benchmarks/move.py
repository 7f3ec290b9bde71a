"""The cost of moving an aggregate, by the number of its groups, against stopping a query and starting it again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from benchmarks.compare import Outcome
from benchmarks.feed import Feed
from benchmarks.sides import Batches, DroverSide, SparkSide, say, scratch, spark_session
from drover.network.build import Builder
from drover.network.model import Network

ROWS = 10_000  # per batch, but for the first, which has every group
BEGIN = 1_767_225_600
TYPES = "ts timestamp, key bigint, value bigint"
MEASURE = {"rows": "count(*)"}
WINDOW = "1 hour"  # nothing closes, so that all groups are in the state


def rows(batch: int, groups: int) -> pl.DataFrame:
    rng = np.random.default_rng(batch)
    keys = np.arange(groups) if batch == 0 else rng.integers(0, groups, ROWS)
    times = np.full(len(keys), (BEGIN + batch) * 1_000_000)
    frame = pl.DataFrame({"ts": times, "key": keys, "value": rng.integers(0, 1000, len(keys))})
    return frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))


def network() -> Network:
    builder = Builder("move")
    stream = builder.source("rows", {"ts": "timestamp", "key": "bigint", "value": "bigint"}, time="ts")
    stream.aggregate("mean", {"n": "count(*)", "mean": "avg(value)"}, size=WINDOW, group_by="key").output()
    return builder.build()


def plain(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    del spark
    stream = read("rows").withWatermark("ts", "0 seconds")
    return {"mean": stream.groupBy(F.window("ts", WINDOW), "key").agg(F.count("*"), F.avg("value"))}


def moved(side: DroverSide, batches: range) -> tuple[float, float, int]:
    """Move back and forth; return the median seconds of batches without and with a move, and the bytes of state."""
    stays: list[float] = []
    moves: list[float] = []
    held = 0
    assert side.handle is not None
    for batch in batches:
        if batch % 2:
            side.handle.move("mean", batch // 2 % 2)
        took = side.step(batch)
        held = side.handle.batches[-1]["samples"][0]["state_bytes"]
        (moves if batch % 2 else stays).append(took)
    return statistics.median(stays), statistics.median(moves), held


def restarted(spark: SparkSession, side: SparkSide, batches: range) -> tuple[float, float]:
    """Stop and restart; return the median seconds of a batch, and from the stop to the end of the next batch."""
    stays: list[float] = []
    starts: list[float] = []
    for batch in batches:
        if batch % 2:
            seen = side.batches.seen
            begun = time.monotonic()
            side.stop()
            side.feed.show(side.name, batch)
            side.start(spark)
            side.batches = Batches(side.batches.queries, seen=seen)
            side.batches.wait()
            starts.append(time.monotonic() - begun)
        else:
            stays.append(side.step(batch))
    return statistics.median(stays), statistics.median(starts)


def bench(quick: bool) -> Outcome:
    outcome = Outcome("move")
    warm_up, batches = (2, 6) if quick else (4, 16)
    with spark_session("move") as spark:
        for groups in (10, 1_000) if quick else (10, 1_000, 100_000, 1_000_000):
            with scratch() as folder:
                feed = Feed(folder, {"rows": TYPES})
                for batch in range(batches):
                    feed.write(batch, {"rows": rows(batch, groups)})
                drover = DroverSide("drover", feed, network(), {"mean": MEASURE})
                spark_side = SparkSide("restart", feed, plain, {"mean": MEASURE})
                for side in (drover, spark_side):
                    side.start(spark)
                    for batch in range(warm_up):
                        side.step(batch)
                stay, move, held = moved(drover, range(warm_up, batches))
                batch_seconds, restart = restarted(spark, spark_side, range(warm_up, batches))
                for side in (drover, spark_side):
                    side.stop()
            say(f"{groups} groups: batch {stay:.2f} s, with a move {move:.2f} s, restart {restart:.2f} s")
            outcome.figures |= {
                f"{groups} groups: state, bytes": held,
                f"{groups} groups: seconds of a batch": stay,
                f"{groups} groups: seconds of a batch with a move": move,
                f"{groups} groups: seconds of a batch, Spark": batch_seconds,
                f"{groups} groups: seconds from stop to next batch, Spark": restart,
            }
            outcome.ratios[f"groups_{groups}"] = restart / move
    return outcome
