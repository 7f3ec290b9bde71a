"""Stream-stream inner join: Spark's own, on both of its state stores, against drover's.

Spark counts its pairs where they are made and then drops them, so drover does too. `delivered` is drover bringing all
pairs to the driver. Its sinks need that; Spark does not do it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.sides import ROCKSDB, DroverSide, Side, SparkSide, scratch, spark_session
from benchmarks.tally import tally
from drover.network.build import Builder
from drover.network.model import Network
from drover.placement.plan import Plan

ROWS = 100_000  # per side and batch
KEYS = 100_000
HOT = 0.002  # share of the rows that have the hot key; about a third of all pairs then have it
SPAN = timedelta(seconds=2.5)  # of event time per batch: a window of 10 s holds four
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TOGETHER = Plan(1, 2, {"pairs": 0, "tally": 0})
TYPES = "ts timestamp, key bigint, value bigint"
COUNTED = {name: f"sum({name})" for name in ("pairs", "left_sum", "right_sum")}  # of what `tally` gives
MEASURE = {"pairs": "count(*)", "left_sum": "sum(a)", "right_sum": "sum(b)"}


def rows(batch: int, side: int, hot: float) -> pl.DataFrame:
    rng = np.random.default_rng([batch, side])
    begin = int(BEGIN.timestamp() * 1e6) + batch * (SPAN // timedelta(microseconds=1))
    times = np.sort(rng.integers(0, SPAN // timedelta(microseconds=1), ROWS)) + begin
    keys = np.where(rng.random(ROWS) < hot, 0, rng.integers(0, KEYS, ROWS))
    values = rng.integers(0, 1000, ROWS)
    return pl.DataFrame({"ts": times, "key": keys, "value": values}).with_columns(
        pl.col("ts").cast(pl.Datetime("us", "UTC"))
    )


def network(*, delivered: bool) -> Network:
    builder = Builder("delivered" if delivered else "join")
    columns = {"ts": "timestamp", "key": "bigint", "value": "bigint"}
    left, right = (builder.source(name, columns, time="ts") for name in ("left", "right"))
    select = {"key": "left.key", "a": "left.value", "b": "right.value"}
    pairs = left.join("pairs", right, within="10 s", on="key", select=select)
    (pairs if delivered else pairs.apply("tally", tally)).output()
    return builder.build()


def plain(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    del spark
    left = read("left").withWatermark("ts", "0 seconds").alias("l")
    right = read("right").withWatermark("ts", "0 seconds").alias("r")
    near = "l.key = r.key AND r.ts BETWEEN l.ts - INTERVAL 10 SECONDS AND l.ts + INTERVAL 10 SECONDS"
    pairs = left.join(right, F.expr(near))
    latest = F.greatest("l.ts", "r.ts").alias("ts")
    return {"pairs": pairs.select(latest, "l.key", F.col("l.value").alias("a"), F.col("r.value").alias("b"))}


def compare(spark: SparkSession, kind: str, hot: float, batches: int, warm_up: int) -> Outcome:
    outcome = Outcome(kind)
    with scratch() as folder:
        feed = Feed(folder, {"left": TYPES, "right": TYPES})
        for batch in range(batches):
            feed.write(batch, {"left": rows(batch, 0, hot), "right": rows(batch, 1, hot)})
        measure = {"pairs": MEASURE}
        sides: list[Side] = [
            DroverSide("drover", feed, network(delivered=False), {"tally": COUNTED}, plan=TOGETHER),
            DroverSide("delivered", feed, network(delivered=True), measure),
            SparkSide("default", feed, plain, measure),
            SparkSide("rocksdb", feed, plain, measure, {"spark.sql.streaming.stateStore.providerClass": ROCKSDB}),
        ]
        took, busy = take_turns(spark, sides, range(batches), warm_up)
        totals = same_totals(sides)
        for side in sides:
            side.stop()
    outcome.figures = {f"{kind}: seconds per batch, {name}": value for name, value in took.items()}
    outcome.figures |= {f"{kind}: processor seconds per batch, {name}": value for name, value in busy.items()}
    outcome.figures[f"{kind}: pairs per batch"] = round(totals["pairs"] / batches)
    for name in ("default", "rocksdb"):
        outcome.ratios[f"{kind}_{name}"] = took[name] / took["drover"]
        outcome.ratios[f"{kind}_{name}_processor"] = busy[name] / busy["drover"]
        outcome.ratios[f"{kind}_{name}_delivered"] = took[name] / took["delivered"]
    outcome.targets = {f"{kind}_default": 5.0, f"{kind}_rocksdb": 10.0}
    return outcome


def bench(quick: bool) -> Outcome:
    batches, warm_up = (8, 5) if quick else (26, 13)  # Java compiles for that long
    whole = Outcome("join")
    with spark_session("join") as spark:
        for kind, hot in (("uniform", 0.0), ("hot", HOT)):
            part = compare(spark, kind, hot, batches, warm_up)
            whole.ratios |= part.ratios
            whole.targets |= part.targets
            whole.figures |= part.figures
    return whole
