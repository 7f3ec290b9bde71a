"""The least that a batch costs: ten filters on a hundred rows, against an empty `foreachBatch` of Spark.

Each filter takes a tenth of the rows. `empty` does nothing with the batch, so Spark does not even read it. `read`
brings its rows to the driver through one Python stage, which is the least that computes something in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.hops import ENGINES, TYPES, rows
from benchmarks.overhead import ForeachSide
from benchmarks.sides import DroverSide, Side, scratch, spark_session
from drover.network.build import Builder
from drover.network.model import Network

ROWS = 100
FILTERS = 10
NODES = 2
MEASURE = {f"filter{j}": {"rows": "count(*)", "sum": "sum(value)"} for j in range(FILTERS)}
EMPTY = "empty foreachBatch"


def network(name: str) -> Network:
    """Return ten filters side by side."""
    builder = Builder(name)
    stream = builder.source("rows", {"ts": "timestamp", "value": "bigint"}, time="ts")
    for j in range(FILTERS):
        stream.filter(f"filter{j}", f"value % {FILTERS} = {j}").output()
    return builder.build()


@dataclass
class EmptySide(ForeachSide):
    """`foreachBatch` with a function that does nothing."""

    def start(self, spark: SparkSession) -> None:
        """Start the query."""
        super().start(spark)
        self.batches.reads = False

    def process(self, frame: DataFrame, batch: int) -> None:
        """Do nothing."""


def bench(quick: bool) -> Outcome:
    """Measure the sides by turns."""
    batches, warm_up = (8, 4) if quick else (60, 20)
    outcome = Outcome("floor")
    with spark_session("floor", slots=2 + NODES) as spark, scratch() as folder:
        feed = Feed(folder, {"rows": TYPES})
        for batch in range(batches):
            feed.write(batch, {"rows": rows(batch, ROWS)})
        sides: list[Side] = [
            *(DroverSide(name, feed, network(name), MEASURE, nodes=NODES, engine=name) for name in ENGINES),
            ForeachSide("read", feed, lambda frame: frame),
        ]
        empty = EmptySide(EMPTY, feed, lambda frame: frame)
        took, busy = take_turns(spark, [*sides, empty], range(batches), warm_up)
        same_totals(sides)
        for side in (*sides, empty):
            side.stop()
    outcome.figures = {f"seconds per batch, {name}": value for name, value in took.items()}
    outcome.figures |= {f"processor seconds per batch, {name}": value for name, value in busy.items()}
    for engine in ENGINES:
        outcome.ratios[f"{engine}_to_empty"] = took[EMPTY] / took[engine]
        outcome.ratios[f"{engine}_to_read"] = took["read"] / took[engine]
    outcome.targets = {"resident_to_empty": 1 / 1.3}
    return outcome
