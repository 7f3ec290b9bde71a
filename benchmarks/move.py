"""The cost of moving an aggregate, by the number of its groups, against stopping a query and starting it again.

The pause of a move is the time of a batch with it, beyond that of a batch without. On resident nodes, state goes from
node to node; with a shuffle per hop, the new worker reads the log, unless it still has the state from an earlier move.
"""

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
from benchmarks.hops import ENGINES
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


def rescaled(side: DroverSide, batches: range) -> tuple[float, float]:
    """Add a node and remove it; return the median seconds of the batches after each. The second one moves the state."""
    ups: list[float] = []
    downs: list[float] = []
    assert side.handle is not None
    side.handle.move("mean", 0)
    for batch in batches:
        match batch % 4:
            case 0:
                side.handle.scale(1)
                downs.append(side.step(batch))
            case 2:
                side.handle.scale(2)
                ups.append(side.step(batch))
            case 3:
                side.handle.move("mean", 1)
                side.step(batch)
            case _:
                side.step(batch)
    return statistics.median(ups), statistics.median(downs)


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
    warm_up, batches, last = (4, 8, 12) if quick else (4, 16, 28)
    with spark_session("move", slots=4) as spark:
        for groups in (10, 1_000) if quick else (10, 1_000, 100_000, 1_000_000, 2_000_000):
            with scratch() as folder:
                feed = Feed(folder, {"rows": TYPES})
                for batch in range(last):
                    feed.write(batch, {"rows": rows(batch, groups)})
                for engine in ENGINES:
                    _measure_drover(spark, feed, engine, groups, (warm_up, batches, last), outcome)
                plain_side = SparkSide("restart", feed, plain, {"mean": MEASURE})
                plain_side.start(spark)
                for batch in range(warm_up):
                    plain_side.step(batch)
                batch_seconds, restart = restarted(spark, plain_side, range(warm_up, batches))
                plain_side.stop()
            outcome.figures |= {
                f"{groups} groups: seconds of a batch, Spark": batch_seconds,
                f"{groups} groups: seconds from stop to next batch, Spark": restart,
            }
            for engine in ENGINES:
                move = outcome.figures[f"{groups} groups: seconds of a batch with a move, {engine}"]
                assert isinstance(move, float)
                outcome.ratios[f"{engine}_groups_{groups}"] = restart / move
    if not quick:
        pause = outcome.figures["2000000 groups: pause of a move, resident"]
        assert isinstance(pause, float)
        outcome.ratios["second_to_pause"] = 1 / max(pause, 0.001)
        outcome.targets = {"second_to_pause": 1.0}
    return outcome


def _measure_drover(
    spark: SparkSession, feed: Feed, engine: str, groups: int, steps: tuple[int, int, int], outcome: Outcome
) -> None:
    warm_up, batches, last = steps
    side = DroverSide(engine, feed, network(), {"mean": MEASURE}, engine=engine)
    side.start(spark)
    for batch in range(warm_up):
        side.step(batch)
    stay, move, held = moved(side, range(warm_up, batches))
    up, down = rescaled(side, range(batches, last))
    side.stop()
    say(
        f"{groups} groups, {engine}: batch {stay:.2f} s, with a move {move:.2f} s, "
        f"after a node more {up:.2f} s, after one less {down:.2f} s"
    )
    outcome.figures |= {
        f"{groups} groups: state, bytes": held,
        f"{groups} groups: seconds of a batch, {engine}": stay,
        f"{groups} groups: seconds of a batch with a move, {engine}": move,
        f"{groups} groups: pause of a move, {engine}": move - stay,
        f"{groups} groups: seconds of a batch after a node more, {engine}": up,
        f"{groups} groups: seconds of a batch after a node less, {engine}": down,
    }
