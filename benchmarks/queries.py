"""Thousands of small continuous queries: filter by source and threshold, count and mean over windows.

Plain Spark has two sides. One is a streaming query for each rule, which is what people write, in numbers that Spark can
still run. The other is the expert's single query, which joins the rows with a broadcast table of rules and groups by
rule. drover gets the same rules as submitted queries: of one shape and of many, up to a million.

How long a submission takes is measured without Spark, which has no part in it: from the call until the queries are
durable, and until a batch has begun with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.processor import family_bytes
from benchmarks.sides import Batches, Count, DroverSide, Measure, Side, SparkSide, say, scratch, spark_session
from drover.control.tenants import limits_of
from drover.flow.state.commits import Checkpoint
from drover.network.model import Network
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.requests import MANY
from drover.spark.run import run

ROWS = 20_000  # per batch, which is a second of event time
SITES = 100
WINDOW = 5  # seconds
BEGIN = 1_767_225_600
TYPES = "ts timestamp, site string, value double"
SHAPES = 50
SUBMITTED = 100_000  # queries at a time
LIVE_WITHIN = 5.0  # seconds, for as many
MANY_SHAPES = 500
MILLION = 1_000_000
MEMORY = 6e9  # bytes that driver and workers may use
WEIGHED = 5  # every such batch: reading the memory of a large process takes 0.04 s, and medians must not see that
MEASURE: Measure = {"rows": "count(*)", "counted": "sum(n)", "means": "sum(mean)"}
TRIGGER = 1.0  # seconds that a batch may take


def rows(batch: int) -> pl.DataFrame:
    rng = np.random.default_rng(batch)
    times = np.sort(rng.integers((BEGIN + batch) * 1_000_000, (BEGIN + batch + 1) * 1_000_000, ROWS))
    sites = rng.integers(0, SITES, ROWS)
    frame = pl.DataFrame({"ts": times, "site": sites, "value": rng.random(ROWS) * 100})
    return frame.with_columns(
        pl.col("ts").cast(pl.Datetime("us", "UTC")), pl.format("s{}", pl.col("site")).alias("site")
    )


def rules(count: int) -> pl.DataFrame:
    """A site and a threshold each."""
    rng = np.random.default_rng(count)
    sites = [f"s{number % SITES}" for number in range(count)]
    return pl.DataFrame({"rule": range(count), "site": sites, "least": rng.integers(5_000, 9_900, count) / 100})


def query(rule: int, site: str, least: float, shape: int = 0) -> dict[str, Any]:
    """A rule as a query; from shape 1 on, queries differ in more than constants."""
    where = f"site = '{site}' and value > {least}" + (f" and value < 100 + {shape}" if shape % 2 else "")
    size = f"{WINDOW + shape // 10 % 50} s"
    mean = ("avg(value)", "sum(value)", "max(value)", "min(value)", "avg(value + 1.0)")[shape // 2 % 5]
    return {
        "name": f"q{rule}",
        "operators": {
            "mine": {"kind": "filter", "input": "readings", "where": where},
            "counts": {"kind": "aggregate", "input": "mine", "size": size, "compute": {"n": "count(*)", "mean": mean}},
        },
    }


def queries(count: int, shapes: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the rules as queries, so many at a time that their dicts take little of the memory that is measured."""
    for some in rules(count).iter_slices(SUBMITTED):
        yield [query(rule, site, least, rule % shapes) for rule, site, least in some.iter_rows()]


def network(name: str) -> Network:
    net = drover.Builder(name.replace(" ", "-"))
    columns = {"ts": "timestamp", "site": "string", "value": "double"}
    net.source("readings", columns, time="ts").filter("impossible", "value < 0").output()
    return net.build()


@dataclass
class QueriesSide(DroverSide):
    """drover with submitted queries, whose results are counted."""

    count: int = 0  # queries
    shapes: int = 1
    submitting: float = 0.0  # seconds
    memory: int = 0  # bytes, at most
    answers: Count = field(default_factory=lambda: Count(MEASURE))

    def start(self, spark: SparkSession) -> None:
        sources = {"readings": self.feed.read(spark, self.name, "readings")}
        self.handle = run(
            self.network,
            sources,
            {},
            checkpoint=str(self.feed.folder / "checkpoints" / self.name),
            nodes=self.nodes,
            stop_on_failure=True,
            queries=self.answers,
            engine=self.engine,
        )
        for given in queries(self.count, self.shapes):
            began = time.perf_counter()
            receipt = self.handle.submit(given)
            self.submitting += time.perf_counter() - began
            if receipt.refused:
                raise RuntimeError(f"a query is refused: {receipt.refused[0].faults[0].text}")
        say(f"{self.name}: {self.count} queries submitted in {self.submitting:.1f} s")
        (found,) = (one for one in spark.streams.active if str(one.id) == self.handle.id)
        self.batches = Batches((found,))

    def step(self, batch: int) -> float:
        took = super().step(batch)
        if batch % WEIGHED == WEIGHED - 1:
            self.memory = max(self.memory, family_bytes())
        return took

    def totals(self) -> dict[str, float]:
        return dict(self.answers.found)


def separate(count: int) -> Callable[[SparkSession, Callable[[str], DataFrame]], Mapping[str, DataFrame]]:
    """A streaming query for each rule."""

    def make(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
        del spark
        found = {}
        for rule, site, least in rules(count).iter_rows():
            mine = (
                read("readings").withWatermark("ts", "0 seconds").where(F.expr(f"site = '{site}' AND value > {least}"))
            )
            found[f"q{rule}"] = mine.groupBy(F.window("ts", f"{WINDOW} seconds")).agg(*_computed())
        return found

    return make


def joined(count: int) -> Callable[[SparkSession, Callable[[str], DataFrame]], Mapping[str, DataFrame]]:
    """One query for all rules: a broadcast join, grouped by rule."""

    def make(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
        table = F.broadcast(spark.createDataFrame(rules(count).to_arrow()))
        pairs = read("readings").withWatermark("ts", "0 seconds").join(table, "site").where("value > least")
        return {"all": pairs.groupBy(F.window("ts", f"{WINDOW} seconds"), "rule").agg(*_computed())}

    return make


def _computed() -> tuple[Any, Any]:
    return F.count("*").alias("n"), F.avg("value").alias("mean")


def drover_side(feed: Feed, count: int, shapes: int = 1, engine: str = "shuffle") -> QueriesSide:
    name = f"drover {count}" + (f" of {shapes} shapes" if shapes > 1 else "")
    return QueriesSide(name, feed, network(name), {}, count=count, shapes=shapes, engine=engine)


def spark_side(feed: Feed, count: int, *, single: bool) -> SparkSide:
    if single:
        return SparkSide(f"joined {count}", feed, joined(count), {"all": MEASURE})
    return SparkSide(f"separate {count}", feed, separate(count), {f"q{rule}": MEASURE for rule in range(count)})


def run_groups(
    spark: SparkSession, groups: Sequence[Sequence[Side]], batches: int, warm_up: int, outcome: Outcome
) -> dict[str, float]:
    """Run groups of sides one after the other, with the sides of a group in turn; return the median seconds of each."""
    took: dict[str, float] = {}
    for sides in groups:
        seconds, busy = take_turns(spark, sides, range(batches), warm_up)
        took |= seconds
        for side in sides:
            side.stop()
            outcome.figures[f"seconds per batch, {side.name}"] = seconds[side.name]
            outcome.figures[f"processor seconds, {side.name}"] = busy[side.name]
            if isinstance(side, QueriesSide):
                outcome.figures[f"seconds to submit, {side.name}"] = side.submitting
                outcome.figures[f"driver and workers, at most, GB, {side.name}"] = side.memory / 1e9
        if alike := [side for side in sides if "shapes" not in side.name]:
            same_totals(alike)
    return took


def submission(count: int, shapes: int, outcome: Outcome) -> float:
    """Submit queries to a catalog without Spark; return the seconds until a batch begins with them."""
    name = f"{count} queries of {shapes} shapes"
    (given,) = queries(count, shapes)
    with scratch() as folder:
        # The first call compiles kernels, or reads them from the disk.
        warm = QueryCatalog(network("warm"), str(folder / "warm"), limits_of({}))
        warm.open(Checkpoint(), 2)
        warm.submit(given[: 2 * MANY])
        catalog = QueryCatalog(network("submission"), str(folder / "run"), limits_of({}))
        catalog.open(Checkpoint(), 2)
        before = family_bytes()
        began = time.perf_counter()
        receipt = catalog.submit(given)
        durable = time.perf_counter() - began
        catalog.begin(0, 2, again=False)
        live = time.perf_counter() - began
        if len(receipt.accepted) != count:
            raise RuntimeError(f"a query is refused: {receipt.refused[0].faults[0].text}")
        outcome.figures[f"seconds until durable, {name}"] = durable
        outcome.figures[f"seconds until live, {name}"] = live
        outcome.figures[f"bytes of the driver per query, {name}"] = (family_bytes() - before) / count
    return live


def bench(quick: bool) -> Outcome:
    batches, warm_up = (8, 3) if quick else (20, 8)
    many = 10_000 if quick else 100_000
    most = 50_000 if quick else MILLION
    outcome = Outcome("queries")
    live = {shapes: submission(many, shapes, outcome) for shapes in (1, MANY_SHAPES)}
    # Two resident nodes stay in two slots.
    with spark_session("queries", slots=4) as spark, scratch() as folder:
        feed = Feed(folder, {"readings": TYPES})
        for batch in range(batches):
            feed.write(batch, {"readings": rows(batch)})
        few = (10,) if quick else (10, 50)
        groups: list[list[Side]] = [[spark_side(feed, count, single=False)] for count in few]
        groups.append([spark_side(feed, 1_000, single=True)])
        groups.append(
            [drover_side(feed, 10_000), drover_side(feed, 10_000, SHAPES), spark_side(feed, 10_000, single=True)]
        )
        if many > 10_000:
            groups.append([drover_side(feed, many), spark_side(feed, many, single=True)])
        largest = [drover_side(feed, many, MANY_SHAPES, "resident"), drover_side(feed, most, engine="resident")]
        took = run_groups(spark, [*groups, *([side] for side in largest)], batches, warm_up, outcome)
    outcome.figures |= {"rows per batch": ROWS, "sources": SITES, "seconds of a window": WINDOW}
    for count in dict.fromkeys((10_000, many)):
        outcome.ratios[f"joined, {count} each"] = took[f"joined {count}"] / took[f"drover {count}"]
    plain = few[-1] / took[f"separate {few[-1]}"]  # queries per second of a batch
    outcome.ratios["queries per second, separate"] = 10_000 / took["drover 10000"] / plain
    for name in ("drover 10000", f"drover 10000 of {SHAPES} shapes", *(side.name for side in largest)):
        outcome.ratios[f"trigger of 1 s, {name.removeprefix('drover ')}"] = TRIGGER / took[name]
    outcome.targets = {"joined, 10000 each": 1.0, "queries per second, separate": 1000.0}
    outcome.targets |= {name: 1.0 for name in outcome.ratios if name.startswith("trigger")}
    if many > 10_000:
        outcome.targets[f"joined, {many} each"] = 3.0
    for shapes, seconds in live.items():
        outcome.ratios[f"live within 5 s, {many} of {shapes} shapes"] = LIVE_WITHIN / seconds
        outcome.targets[f"live within 5 s, {many} of {shapes} shapes"] = 1.0
    for side in largest:
        outcome.ratios[f"memory of 6 GB, {side.name.removeprefix('drover ')}"] = MEMORY / side.memory
        outcome.targets[f"memory of 6 GB, {side.name.removeprefix('drover ')}"] = 1.0
    return outcome
