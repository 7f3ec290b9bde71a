"""The overhead of drover: a chain of pass-through operators against the same rows through a bare `mapInArrow`.

`bare` keeps rows in the partition they were read in, which no operator with state could do. `shuffled` first brings the
rows to another partition, as any operator with state by key must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.join import TYPES, rows
from benchmarks.sides import Batches, DroverSide, Side, Totals, scratch, spark_session
from drover.network.build import Builder
from drover.network.model import Network

OPERATORS = 5


def network() -> Network:
    builder = Builder("overhead")
    stream = builder.source("rows", {"ts": "timestamp", "key": "bigint", "value": "bigint"}, time="ts")
    for j in range(OPERATORS):
        stream = stream.filter(f"pass{j}", "value >= 0")
    stream.output()
    return builder.build()


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


@dataclass
class ForeachSide:
    """Plain `foreachBatch` with one Python stage, whose rows come to the driver."""

    name: str
    feed: Feed
    before: Callable[[DataFrame], DataFrame]
    found: Totals = field(default_factory=lambda: {"rows": 0, "sum": 0})
    batches: Batches = field(default_factory=lambda: Batches(()))

    def start(self, spark: SparkSession) -> None:
        writer = self.feed.read(spark, self.name, "rows").writeStream.queryName(self.name).foreachBatch(self.process)
        folder = self.feed.folder / "checkpoints" / self.name
        self.batches = Batches((writer.option("checkpointLocation", str(folder)).start(),))

    def process(self, frame: DataFrame, batch: int) -> None:
        del batch
        table = self.before(frame).mapInArrow(same, frame.schema).toArrow()
        self.found["rows"] += table.num_rows
        self.found["sum"] += pa.compute.sum(table["value"]).as_py()

    def step(self, batch: int) -> float:
        self.feed.show(self.name, batch)
        return self.batches.wait()

    def totals(self) -> Totals:
        return self.found

    def stop(self) -> None:
        for query in self.batches.queries:
            query.stop()


def bench(quick: bool) -> Outcome:
    batches, warm_up = (8, 4) if quick else (40, 20)
    outcome = Outcome("overhead")
    with spark_session("overhead") as spark, scratch() as folder:
        feed = Feed(folder, {"rows": TYPES})
        for batch in range(batches):
            feed.write(batch, {"rows": rows(batch, 0, 0.0)})
        measure = {f"pass{OPERATORS - 1}": {"rows": "count(*)", "sum": "sum(value)"}}
        sides: list[Side] = [
            DroverSide("drover", feed, network(), measure, nodes=1),
            ForeachSide("bare", feed, lambda frame: frame),
            ForeachSide("shuffled", feed, lambda frame: frame.repartition(1, "key")),
        ]
        took, busy = take_turns(spark, sides, range(batches), warm_up)
        same_totals(sides)
        for side in sides:
            side.stop()
    outcome.figures = {f"seconds per batch, {name}": value for name, value in took.items()}
    outcome.figures |= {f"processor seconds per batch, {name}": value for name, value in busy.items()}
    for name in ("bare", "shuffled"):
        outcome.ratios[name] = took[name] / took["drover"]
        outcome.ratios[f"{name}_processor"] = busy[name] / busy["drover"]
    outcome.targets = {"bare": 0.8}
    return outcome
