"""Spread joins: hot keys against hashing, a band of values for which Spark has no streaming join, and copies.

The seconds of a node are those of its task, as Spark counts them, both for drover's nodes and for Spark's partitions.
`hashed` is what a user of drover would write without `spread`: a join per range of keys, each on a node of its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from benchmarks.compare import Outcome, same_totals
from benchmarks.feed import Feed
from benchmarks.sides import DroverSide, Side, SparkSide, Totals, say, scratch, spark_session
from benchmarks.tasks import TaskTimes
from drover.diffusion.cost import Demand, overhead
from drover.flow.distribute import ship
from drover.flow.frames import unpack
from drover.flow.schedule import make_schedule
from drover.network.build import Builder
from drover.network.grid import Grid
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin

NODES = 4
KEYS = 20_000
HOT = (0.0, 0.01, 0.1)  # share of the rows of both streams that have the hot key
SPAN = timedelta(seconds=2.5)  # of event time per batch: a window of 10 s holds four
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = {"ts": "timestamp", "key": "bigint", "value": "bigint"}
TYPES = "ts timestamp, key bigint, value bigint"
FEW = "(left.value + right.value) % 1000 = 0"  # of the pairs of equal keys: what is compared is looking for them
BAND = "abs(left.value - right.value) <= 2"
VALUES = 100_000
SELECT = {"key": "left.key", "a": "left.value", "b": "right.value"}
MEASURE = {"pairs": "count(*)", "left_sum": "sum(a)", "right_sum": "sum(b)"}
EVEN = 1.2  # what the slowest node may take, times the mean


def rows(batch: int, side: int, count: int, hot: float) -> pl.DataFrame:
    rng = np.random.default_rng([batch, side])
    span = SPAN // timedelta(microseconds=1)
    times = np.sort(rng.integers(0, span, count)) + int(BEGIN.timestamp() * 1e6) + batch * span
    keys = np.where(rng.random(count) < hot, 0, rng.integers(0, KEYS, count))
    frame = pl.DataFrame({"ts": times, "key": keys, "value": rng.integers(0, VALUES, count)})
    return frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))


def written(folder_feed: Feed, batches: int, count: int, hot: float) -> None:
    for batch in range(batches):
        folder_feed.write(batch, {"left": rows(batch, 0, count, hot), "right": rows(batch, 1, count, hot)})


def diffused() -> Network:
    builder = Builder("diffused")
    left, right = (builder.source(name, COLUMNS, time="ts") for name in ("left", "right"))
    left.join("pairs", right, within="10 s", on="key", where=FEW, select=SELECT, spread=(2, 2)).output()
    return builder.build()


def hashed() -> tuple[Network, Plan]:
    builder = Builder("hashed")
    left, right = (builder.source(name, COLUMNS, time="ts") for name in ("left", "right"))
    places: dict[str, int] = {}
    for node in range(NODES):
        mine = f"key % {NODES} = {node}"
        ours = left.filter(f"left{node}", mine)
        theirs = right.filter(f"right{node}", mine)
        ours.join(f"pairs{node}", theirs, within="10 s", on="key", where=FEW, select=SELECT).output()
        places |= dict.fromkeys((f"left{node}", f"right{node}", f"pairs{node}"), node)
    return builder.build(), Plan(1, NODES, places)


def plain(spark: SparkSession, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    del spark
    left = read("left").withWatermark("ts", "0 seconds").alias("l")
    right = read("right").withWatermark("ts", "0 seconds").alias("r")
    near = "l.key = r.key AND r.ts BETWEEN l.ts - INTERVAL 10 SECONDS AND l.ts + INTERVAL 10 SECONDS"
    pairs = left.join(right, F.expr(f"{near} AND (l.value + r.value) % 1000 = 0"))
    return {"pairs": pairs.select("l.key", F.col("l.value").alias("a"), F.col("r.value").alias("b"))}


def node_seconds(
    spark: SparkSession, sides: Sequence[DroverSide | SparkSide], batches: int
) -> dict[str, list[list[float]]]:
    """Run the batches on all sides in turn; return the seconds of each side's nodes, by batch."""
    for side in sides:
        side.start(spark)
    clocks = {side.name: TaskTimes(spark, side.batches.queries[0], NODES) for side in sides}
    found: dict[str, list[list[float]]] = {side.name: [] for side in sides}
    for batch in range(batches):
        for side in sides:
            side.step(batch)
            found[side.name].append(clocks[side.name].take())
        shown = (f"{name} {max(took[-1]):.3f} s" for name, took in found.items())
        say(f"batch {batch}, slowest node: {', '.join(shown)}")
    return found


def compare_hot(spark: SparkSession, hot: float, count: int, batches: int, warm_up: int) -> Outcome:
    """Compare the slowest nodes when this fraction of the rows has the hot key."""
    outcome = Outcome("hot")
    kind = f"hot_{hot:.0%}".removesuffix("%")
    with scratch() as folder:
        feed = Feed(folder, {"left": TYPES, "right": TYPES})
        written(feed, batches, count, hot)
        split, plan = hashed()
        spread = DroverSide("diffused", feed, diffused(), {"pairs": MEASURE}, nodes=NODES)
        sides: list[DroverSide | SparkSide] = [
            spread,
            DroverSide("hashed", feed, split, {f"pairs{k}": MEASURE for k in range(NODES)}, nodes=NODES, plan=plan),
            SparkSide("spark", feed, plain, {"pairs": MEASURE}),
        ]
        took = node_seconds(spark, sides, batches)
        totals = same_totals(sides)
        assert spread.handle is not None
        busy = [figures["busy"] for figures in spread.handle.batches[warm_up:batches]]
        received = sum(one["rows_in"] for one in spread.handle.batches[-1]["samples"])
        for side in sides:
            side.stop()
    if received != 2 * 2 * count:  # 2 x 2 sends every row to two cells
        raise RuntimeError(f"instances received {received} rows of {2 * count}, but 2 x 2 makes one copy of each")
    slowest = {name: statistics.median(max(each) for each in nodes[warm_up:]) for name, nodes in took.items()}
    for name, nodes in took.items():
        outcome.figures[f"{kind}: seconds of the slowest node, {name}"] = slowest[name]
        outcome.figures[f"{kind}: slowest over mean node, {name}"] = unevenness(nodes[warm_up:])
    outcome.figures[f"{kind}: slowest over mean node, diffused, busy"] = unevenness(busy)
    outcome.figures[f"{kind}: pairs per batch"] = round(totals["pairs"] / batches)
    outcome.ratios = {f"{kind}_{name}": slowest[name] / slowest["diffused"] for name in ("hashed", "spark")}
    outcome.ratios[f"{kind}_even"] = EVEN / unevenness(busy)
    outcome.targets = {f"{kind}_even": 1.0}
    return outcome


def unevenness(nodes: list[list[float]]) -> float:
    """Return the slowest node's seconds, divided by the mean of all nodes; sums over batches even out chance."""
    sums = np.sum(np.array(nodes), axis=0)
    return float(sums.max() / sums.mean())


def band() -> Network:
    builder = Builder("band")
    left, right = (builder.source(name, COLUMNS, time="ts") for name in ("left", "right"))
    left.join("pairs", right, within="10 s", where=BAND, select=SELECT, spread=2).output()
    return builder.build()


@dataclass
class BatchSide:
    """One Spark batch job per micro-batch, over the files that a window still reaches: Spark has no streaming join
    here.
    """

    name: str
    feed: Feed
    found: Totals = field(default_factory=dict)
    spark: SparkSession | None = None

    def start(self, spark: SparkSession) -> None:
        self.spark = spark

    def _read(self, source: str, first: int, last: int) -> DataFrame:
        assert self.spark is not None
        files = [str(self.feed.folder / "written" / f"{k:04}" / f"{source}.parquet") for k in range(first, last)]
        return self.spark.read.schema(TYPES).parquet(*files)

    def step(self, batch: int) -> float:
        begun = time.monotonic()
        oldest = max(batch - 4, 0)
        near = "abs(l.value - r.value) <= 2 AND abs(unix_micros(l.ts) - unix_micros(r.ts)) <= 10000000"
        new = self._read("left", batch, batch + 1).alias("l")
        pairs = new.join(self._read("right", oldest, batch + 1).alias("r"), F.expr(near))
        if batch > oldest:
            before = self._read("left", oldest, batch).alias("l")
            pairs = pairs.union(before.join(self._read("right", batch, batch + 1).alias("r"), F.expr(near)))
        counted = pairs.agg(
            F.count("*").alias("pairs"), F.sum("l.value").alias("left_sum"), F.sum("r.value").alias("right_sum")
        )
        for name, value in counted.collect()[0].asDict().items():
            self.found[name] = self.found.get(name, 0) + (value or 0)
        return time.monotonic() - begun

    def totals(self) -> Totals:
        return self.found

    def stop(self) -> None: ...


def compare_band(spark: SparkSession, count: int, batches: int, warm_up: int) -> Outcome:
    """Compare rows per second of a join by a band of values."""
    outcome = Outcome("band")
    with scratch() as folder:
        feed = Feed(folder, {"left": TYPES, "right": TYPES})
        written(feed, batches, count, 0.0)
        sides: list[Side] = [
            DroverSide("drover", feed, band(), {"pairs": MEASURE}, nodes=2),
            BatchSide("batch", feed),
        ]
        for side in sides:
            side.start(spark)
        took: dict[str, list[float]] = {side.name: [] for side in sides}
        for batch in range(batches):
            for side in sides:
                took[side.name].append(side.step(batch))
            say(f"batch {batch}: {', '.join(f'{name} {each[-1]:.2f} s' for name, each in took.items())}")
        totals = same_totals(sides)
        for side in sides:
            side.stop()
    seconds = {name: statistics.median(each[warm_up:]) for name, each in took.items()}
    outcome.figures = {f"band: rows per second, {name}": round(2 * count / each) for name, each in seconds.items()}
    outcome.figures["band: pairs per batch"] = round(totals["pairs"] / batches)
    outcome.ratios = {"band_batch": seconds["batch"] / seconds["drover"]}
    outcome.targets = {"band_batch": 1.0}
    return outcome


def copies(grid: Grid, counts: tuple[int, int]) -> int:
    """Return how many copies the router makes of the rows of both sides, with an instance on every node."""
    builder = Builder("copies")
    left, right = (builder.source(name, COLUMNS, time="ts") for name in ("left", "right"))
    left.join("pairs", right, within="10 s", on="key", select=SELECT, spread=grid).output()
    network = builder.build()
    schedule = make_schedule(network, round_robin(network, grid.cells))
    sent = 0
    for side, count in enumerate(counts):
        frames, _ = ship(schedule, ("left", "right")[side], rows(0, side, count, 0.0), 0)
        for node in range(grid.cells):
            sent += sum(frame.height for frame in unpack(one for one in frames if one.node == node).values())
    return sent - sum(counts)


def compare_copies() -> Outcome:
    """Compare the copies with those that the formulas predict, and grids with splitting one stream."""
    outcome = Outcome("copies")
    made = {}
    for left, right in ((10_000, 10_000), (20_000, 5_000)):
        for grid in (Grid(16, 1), Grid(1, 16), Grid(4, 4), Grid(8, 2)):
            found = copies(grid, (left, right))
            said = overhead(grid, Demand(left, right, 10.0, 10.0))
            made[left, grid] = found
            outcome.figures[f"copies of {left} and {right} rows, {grid}"] = found
            outcome.figures[f"copies of {left} and {right} rows, {grid}, formula"] = round(said)
            outcome.ratios[f"copies_{left}_{grid.rows}x{grid.columns}_formula"] = said / found
            outcome.targets[f"copies_{left}_{grid.rows}x{grid.columns}_formula"] = 1.0
        single = min(made[left, Grid(16, 1)], made[left, Grid(1, 16)])
        outcome.ratios[f"copies_{left}_grid"] = single / min(made[left, Grid(4, 4)], made[left, Grid(8, 2)])
    return outcome


def bench(quick: bool) -> Outcome:
    batches, warm_up = (5, 3) if quick else (14, 6)  # windows are full after five, and Java has compiled
    whole = Outcome("diffusion")
    parts = [compare_copies()]
    with spark_session("diffusion") as spark:
        parts += [compare_hot(spark, hot, 5_000 if quick else 20_000, batches, warm_up) for hot in HOT]
        parts.append(compare_band(spark, 2_000 if quick else 10_000, batches, warm_up))
    for part in parts:
        whole.ratios |= part.ratios
        whole.targets |= part.targets
        whole.figures |= part.figures
    return whole
