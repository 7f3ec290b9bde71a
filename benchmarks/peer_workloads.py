"""The workloads of `peers`: the same rows and the same question for drover, Spark and Flink, each as an expert asks it.

Rule 1: event times are whole milliseconds, the finest that Flink's time attributes have. The last row of a batch has
the last millisecond of its span, so that every side's watermark is known.
Rule 2: drover and Spark give out a window one batch later than Flink. So Flink counts the windows that end before the
last row of the last batch but one: those that the others have given out by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from benchmarks import aggregate, diffusion, join, queries
from benchmarks.feed import Feed
from benchmarks.flink_home import FlinkHome
from benchmarks.flink_side import HEAP, ROCKSDB, FlinkSide
from benchmarks.sides import ROCKSDB as SPARK_ROCKSDB
from benchmarks.sides import DroverSide, Measure, SparkSide, Totals
from drover_lab.generate.aggregates import WINDOWS, AggregateParameters, aggregates

BAND_ROWS = 10_000  # per source and batch
RULES = 10_000
WIDTH = 20  # values in a bucket of the band join
SECOND = 1000
Sums = Mapping[int, Sequence[float]]  # label -> count, sum of a, sum of b
MakeSpark = Callable[[SparkSession, Callable[[str], DataFrame]], Mapping[str, DataFrame]]
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
STORES: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "rocksdb": {PROVIDER: SPARK_ROCKSDB, CHANGELOG: "true"},
}
PARTITIONS = ("2", "4")


@dataclass(frozen=True)
class FlinkJob:
    """A question to Flink: a query of rows (label, a, b), and what their sums are called."""

    query: Callable[[str], str]  # the last window that counts, as SQL -> query
    totals_of: Callable[[Sums], Totals]
    statements: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    delay: int = 0  # milliseconds


@dataclass(frozen=True)
class Workload:
    """One question, and how to ask it on each side."""

    name: str
    rows: int  # per batch, of all sources
    types: Mapping[str, str]
    make: Callable[[int], Mapping[str, pl.DataFrame]]  # batch -> rows by source, with times to the microsecond
    last_time: Callable[[int], int]  # batch -> milliseconds of its last row
    drover: Callable[[str, Feed, str], DroverSide]  # name, files, engine
    spark: Mapping[str, tuple[MakeSpark, Mapping[str, Measure]]]  # by form
    flink: Callable[[Path], Mapping[str, FlinkJob]]  # a folder for files -> by form

    def write(self, feed: Feed, batches: int) -> None:
        for batch in range(batches):
            made = self.make(batch)
            feed.write(batch, {name: to_milliseconds(frame, self.last_time(batch)) for name, frame in made.items()})

    def spark_sides(self, feed: Feed) -> list[SparkSide]:
        found = []
        for (form, (make, measure)), (store, chosen), count in product(self.spark.items(), STORES.items(), PARTITIONS):
            settings = {**chosen, "spark.sql.shuffle.partitions": count}
            name = " ".join(filter(None, ("spark", form, store, count)))
            found.append(SparkSide(name, feed, make, measure, settings))
        return found

    def flink_sides(self, feed: Feed, home: FlinkHome, batches: int) -> list[FlinkSide]:
        closed = datetime.fromtimestamp(self.last_time(batches - 2) / SECOND, UTC)
        bound = f"TIMESTAMP '{closed:%Y-%m-%d %H:%M:%S}.{closed.microsecond // 1000:03}'"
        return [
            FlinkSide(
                " ".join(filter(None, ("flink", form, store))),
                feed,
                home,
                job.query(bound),
                job.totals_of,
                self.last_time,
                job.delay,
                {**chosen, **job.settings},
                job.statements,
            )
            for form, job in self.flink(feed.folder).items()
            for store, chosen in {"heap": HEAP, "rocksdb": ROCKSDB}.items()
        ]


def to_milliseconds(frame: pl.DataFrame, last: int) -> pl.DataFrame:
    """Cut times to milliseconds, and give the last row the last one."""
    times = frame["ts"].dt.epoch("ms").to_numpy().copy()
    times[-1] = last
    return frame.with_columns(ts=pl.Series(times).cast(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC")))


def _every(begin: datetime, span: timedelta) -> Callable[[int], int]:
    return lambda batch: round(begin.timestamp() * SECOND) + (batch + 1) * (span // timedelta(milliseconds=1)) - 1


def _pairs(sums: Sums) -> Totals:
    count, left, right = sums[0]
    return {"pairs": count, "left_sum": left, "right_sum": right}


JOIN_SQL = """
SELECT 0, CAST(l.`value` AS DOUBLE), CAST(r.`value` AS DOUBLE) FROM `left` l, `right` r
WHERE l.key = r.key AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '10' SECOND"""
JOIN = Workload(
    "join",
    2 * join.ROWS,
    {"left": join.TYPES, "right": join.TYPES},
    lambda batch: {"left": join.rows(batch, 0, 0.0), "right": join.rows(batch, 1, 0.0)},
    _every(join.BEGIN, join.SPAN),
    lambda name, feed, engine: DroverSide(
        name, feed, join.network(delivered=False), {"tally": join.COUNTED}, plan=join.TOGETHER, engine=engine
    ),
    {"": (join.plain, {"pairs": join.MEASURE})},
    lambda _: {"": FlinkJob(lambda _: JOIN_SQL, _pairs, delay=10 * SECOND)},
)


def _aggregate_last(batch: int) -> int:
    return (aggregate.BEGIN + aggregate.HISTORY + batch * aggregate.SPAN) * SECOND - 1


def _aggregate_totals(sums: Sums) -> Totals:
    found: Totals = {}
    for k, ((window, _, _), grouping) in enumerate(product(WINDOWS, aggregate.GROUPINGS)):
        named = zip(aggregate.COLUMNS, sums.get(k, (0.0, 0.0, 0.0)), strict=True)
        found |= {aggregate.label(window, grouping, what): value for what, value in named}
    return found


def _interval(text: str) -> str:
    number, unit = text.split()
    return f"INTERVAL '{number}' {'MINUTE' if unit == 'min' else 'SECOND'}"


def _windows(bound: str, sources: Mapping[str, str], time: str, count: str, total: str) -> str:
    """All windows of all groupings; `sources` is the table that each grouping reads."""
    parts = []
    for k, ((_, size, advance), (grouping, keys)) in enumerate(product(WINDOWS, aggregate.GROUPINGS.items())):
        table = f"HOP(TABLE {sources[grouping]}, DESCRIPTOR({time}), {_interval(advance)}, {_interval(size)})"
        if size == advance:
            table = f"TUMBLE(TABLE {sources[grouping]}, DESCRIPTOR({time}), {_interval(size)})"
        parts.append(
            f"SELECT {k}, CAST({count} AS DOUBLE), CAST({total} AS DOUBLE) / {count} FROM TABLE({table}) "
            f"GROUP BY window_start, window_end, {', '.join(keys)} HAVING window_end <= {bound}"
        )
    return "\nUNION ALL\n".join(parts)


PANES = """CREATE TEMPORARY VIEW {name} AS
SELECT window_time AS t, {keys}, {count} AS n, {total} AS total
FROM TABLE(TUMBLE(TABLE {source}, DESCRIPTOR({time}), INTERVAL '1' SECOND))
GROUP BY window_start, window_end, window_time, {keys}"""
AGGREGATE_JOBS = {
    "eight": FlinkJob(
        lambda bound: _windows(bound, dict.fromkeys(aggregate.GROUPINGS, "packets0"), "ts", "COUNT(*)", "SUM(`bytes`)"),
        _aggregate_totals,
    ),
    "panes": FlinkJob(
        lambda bound: _windows(bound, {"pair": "pairs", "source": "sources"}, "t", "SUM(n)", "SUM(total)"),
        _aggregate_totals,
        (
            PANES.format(
                name="pairs", keys="src, dst", count="COUNT(*)", total="SUM(`bytes`)", source="packets0", time="ts"
            ),
            PANES.format(name="sources", keys="src", count="SUM(n)", total="SUM(total)", source="pairs", time="t"),
        ),
    ),
}


def _aggregate_side(name: str, feed: Feed, engine: str) -> DroverSide:
    network = aggregates(AggregateParameters(streams=1))
    plan = aggregate.halves(network)
    return DroverSide(name, feed, network, aggregate.drover_measures(), plan=plan, engine=engine)


AGGREGATE = Workload(
    "aggregate",
    aggregate.ROWS,
    {"packets0": aggregate.TYPES},
    lambda batch: {"packets0": aggregate.rows(batch)},
    _aggregate_last,
    _aggregate_side,
    {"single": (aggregate.single, {"all": aggregate.single_measure()})},
    lambda _: AGGREGATE_JOBS,
)


MET = """CREATE TEMPORARY VIEW met AS
SELECT ts, rule, `value` FROM readings, LATERAL TABLE(rules_of(site, `value`)) AS T(rule)"""


def _rules_job(folder: Path) -> Mapping[str, FlinkJob]:
    path = folder / "rules.csv"
    queries.rules(RULES).write_csv(path, include_header=False)
    statements = (
        "CREATE TEMPORARY FUNCTION rules_of AS 'Rules'",
        MET,
    )
    return {"": FlinkJob(_rules_query, _rules_totals, statements, {"pipeline.global-job-parameters": f"rules:{path}"})}


def _rules_query(bound: str) -> str:
    return (
        "SELECT 0, CAST(COUNT(*) AS DOUBLE), AVG(`value`) "
        f"FROM TABLE(TUMBLE(TABLE met, DESCRIPTOR(ts), INTERVAL '{queries.WINDOW}' SECOND)) "
        f"GROUP BY window_start, window_end, rule HAVING window_end <= {bound}"
    )


def _rules_totals(sums: Sums) -> Totals:
    return dict(zip(queries.MEASURE, sums.get(0, (0.0, 0.0, 0.0)), strict=True))


def _rules_side(name: str, feed: Feed, engine: str) -> DroverSide:
    return queries.QueriesSide(name, feed, queries.network(name), {}, engine=engine, count=RULES)


QUERIES = Workload(
    "queries",
    queries.ROWS,
    {"readings": queries.TYPES},
    lambda batch: {"readings": queries.rows(batch)},
    _every(datetime.fromtimestamp(queries.BEGIN, UTC), timedelta(seconds=1)),
    _rules_side,
    {"": (queries.joined(RULES), {"all": queries.MEASURE})},
    _rules_job,
)


def bucketed(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    """The band join as a stream-stream join on buckets of the value: a left row goes to all that its band meets."""
    del spark
    left = read("left").withWatermark("ts", "0 seconds")
    ends = f"explode(array_distinct(array((value - 2) div {WIDTH}, (value + 2) div {WIDTH})))"
    left = left.withColumn("bucket", F.expr(ends)).alias("l")
    right = read("right").withWatermark("ts", "0 seconds").withColumn("bucket", F.expr(f"value div {WIDTH}")).alias("r")
    near = "r.ts BETWEEN l.ts - INTERVAL 10 SECONDS AND l.ts + INTERVAL 10 SECONDS AND abs(l.value - r.value) <= 2"
    pairs = left.join(right, F.expr(f"l.bucket = r.bucket AND {near}"))
    return {"pairs": pairs.select("l.key", F.col("l.value").alias("a"), F.col("r.value").alias("b"))}


BAND_SQL = f"""
SELECT 0, CAST(l.`value` AS DOUBLE), CAST(r.`value` AS DOUBLE)
FROM (
  SELECT ts, `value`, (`value` - 2) / {WIDTH} AS bucket FROM `left`
  UNION ALL
  SELECT ts, `value`, (`value` + 2) / {WIDTH} AS bucket FROM `left`
  WHERE (`value` + 2) / {WIDTH} <> (`value` - 2) / {WIDTH}
) l, (SELECT ts, `value`, `value` / {WIDTH} AS bucket FROM `right`) r
WHERE l.bucket = r.bucket AND ABS(l.`value` - r.`value`) <= 2
  AND r.ts BETWEEN l.ts - INTERVAL '10' SECOND AND l.ts + INTERVAL '10' SECOND"""
BAND = Workload(
    "band",
    2 * BAND_ROWS,
    {"left": diffusion.TYPES, "right": diffusion.TYPES},
    lambda batch: {name: diffusion.rows(batch, side, BAND_ROWS, 0.0) for side, name in enumerate(("left", "right"))},
    _every(diffusion.BEGIN, diffusion.SPAN),
    lambda name, feed, engine: DroverSide(name, feed, diffusion.band(), {"pairs": diffusion.MEASURE}, engine=engine),
    {"": (bucketed, {"pairs": diffusion.MEASURE})},
    lambda _: {"": FlinkJob(lambda _: BAND_SQL, _pairs, delay=10 * SECOND)},
)

WORKLOADS = (JOIN, AGGREGATE, QUERIES, BAND)
