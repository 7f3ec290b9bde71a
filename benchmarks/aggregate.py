"""Sixteen window aggregates on one stream of packets (figure 6.12 of Xing's dissertation): plain Spark against drover.

Plain Spark has two sides. One is a query per grouping and window, which is what people write. The other is the best
single query that we know. It first aggregates to panes of a second, and then only by the longest sliding window. The
other windows end at the same instants, so they are sums over the last panes of that window, and every sixtieth of its
results is a full minute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.sides import DroverSide, Measure, Side, SparkSide, scratch, spark_session
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from drover_lab.generate.aggregates import WINDOWS, AggregateParameters, aggregates

ROWS = 100_000  # per batch
SOURCES = 500
FAN_OUT = 10  # destinations per source
HISTORY = 60  # seconds of event time in the first batch, to fill the windows
SPAN = 2  # seconds in every other batch
BEGIN = 1_767_225_600 + 40  # the full minute after it ends in the measured part
TYPES = "ts timestamp, src string, dst string, bytes bigint"
GROUPINGS = {"source": ("src",), "pair": ("src", "dst")}
COLUMNS = {"rows": "count(*)", "packets": "sum(packets)", "means": "sum(mean_size)"}


def rows(batch: int) -> pl.DataFrame:
    rng = np.random.default_rng(batch)
    begin, span = (BEGIN, HISTORY) if batch == 0 else (BEGIN + HISTORY + (batch - 1) * SPAN, SPAN)
    times = np.sort(rng.integers(begin * 1_000_000, (begin + span) * 1_000_000, ROWS))
    source = (SOURCES * rng.random(ROWS) ** 2).astype(np.int64)  # some talk more than others
    target = source * FAN_OUT + rng.integers(0, FAN_OUT, ROWS)
    frame = pl.DataFrame({"ts": times, "src": source, "dst": target, "bytes": rng.integers(40, 1500, ROWS)})
    return frame.with_columns(
        pl.col("ts").cast(pl.Datetime("us", "UTC")),
        pl.format("10.0.{}.{}", pl.col("src") // 250, pl.col("src") % 250).alias("src"),
        pl.format("10.1.{}.{}", pl.col("dst") // 250, pl.col("dst") % 250).alias("dst"),
    )


def label(window: str, grouping: str, what: str) -> str:
    return f"{window}_{grouping}_{what}".replace("-", "_")


def measures() -> dict[str, Measure]:
    return {
        f"{window}-{grouping}": {label(window, grouping, what): sql for what, sql in COLUMNS.items()}
        for (window, _, _), grouping in product(WINDOWS, GROUPINGS)
    }


def drover_measures() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for (window, _, _), grouping in product(WINDOWS, GROUPINGS):
        named = {what: (label(window, grouping, what), sql) for what, sql in COLUMNS.items()}
        found[f"packets0-count-{window}-{grouping}"] = dict([named["rows"], named["packets"]])
        found[f"packets0-mean-{window}-{grouping}"] = dict([named["means"]])
    return found


def halves(network: Network) -> Plan:
    """Return the plan with counts on one node and means on the other; dealt in turn, all of one grouping would meet."""
    return Plan(1, 2, {unit: int("mean" in unit) for unit in units_of(network)})


def eight(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    del spark
    packets = read("packets0").withWatermark("ts", "0 seconds")
    compute = (F.count("*").alias("packets"), F.avg("bytes").alias("mean_size"))
    return {
        f"{window}-{grouping}": packets.groupBy(F.window("ts", _span(size), _span(advance)), *keys).agg(*compute)
        for (window, size, advance), (grouping, keys) in product(WINDOWS, GROUPINGS.items())
    }


def _span(text: str) -> str:
    number, unit = text.split()
    return f"{number} {'minute' if unit == 'min' else 'second'}"


def single(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    del spark
    packets = read("packets0").withWatermark("ts", "0 seconds")
    panes = packets.groupBy(F.window("ts", "1 second"), "src", "dst").agg(
        F.count("*").alias("n"), F.sum("bytes").alias("total")
    )
    both = panes.select(
        F.window_time("window").alias("t"), "src", F.explode(F.array("dst", F.lit(None))).alias("dst"), "n", "total"
    )
    slid = both.select(F.window("t", "1 minute", "1 second").alias("w"), "t", "src", "dst", "n", "total")

    def last(seconds: int, column: str) -> Column:
        return F.sum(F.when(F.col("t") >= F.col("w.end") - F.expr(f"INTERVAL {seconds} SECONDS"), F.col(column)))

    compute = [last(size, name).alias(f"{name}{size}") for size in (1, 10, 60) for name in ("n", "total")]
    return {"all": slid.groupBy("w", "src", "dst").agg(*compute)}


def single_measure() -> dict[str, str]:
    """The counts of `measures`, over the rows that `single` gives."""
    found: dict[str, str] = {}
    sizes = {"second": 1, "minute": 60, "last-10-seconds": 10, "last-minute": 60}
    for (window, size), grouping in product(sizes.items(), GROUPINGS):
        mine = f"n{size} IS NOT NULL AND dst IS {'NULL' if grouping == 'source' else 'NOT NULL'}"
        if window == "minute":
            mine += " AND unix_seconds(w.start) % 60 = 0"
        counted = {"rows": "1", "packets": f"n{size}", "means": f"total{size} / n{size}"}
        found |= {
            label(window, grouping, what): f"sum(CASE WHEN {mine} THEN {sql} ELSE 0 END)"
            for what, sql in counted.items()
        }
    return found


def bench(quick: bool) -> Outcome:
    batches, warm_up = (5, 3) if quick else (16, 6)
    outcome = Outcome("aggregate")
    network = aggregates(AggregateParameters(streams=1))
    with spark_session("aggregate") as spark, scratch() as folder:
        feed = Feed(folder, {"packets0": TYPES})
        for batch in range(batches):
            feed.write(batch, {"packets0": rows(batch)})
        sides: list[Side] = [
            DroverSide("drover", feed, network, drover_measures(), plan=halves(network)),
            SparkSide("single", feed, single, {"all": single_measure()}),
            SparkSide("eight", feed, eight, measures()),
        ]
        took, busy = take_turns(spark, sides, range(batches), warm_up)
        totals = same_totals(sides)
        for side in sides:
            side.stop()
    outcome.figures = {f"seconds per batch, {name}": value for name, value in took.items()}
    outcome.figures |= {f"processor seconds per batch, {name}": value for name, value in busy.items()}
    outcome.figures["windows given out, all batches"] = int(sum(v for k, v in totals.items() if k.endswith("_rows")))
    for name in ("eight", "single"):
        outcome.ratios[name] = took[name] / took["drover"]
        outcome.ratios[f"{name}_processor"] = busy[name] / busy["drover"]
    outcome.targets = {"eight": 10.0, "single": 3.0}
    return outcome
