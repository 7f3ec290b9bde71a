"""What oracles share: which rows are late in their batch, and columns from SQL."""

from __future__ import annotations

from pyspark.sql import SparkSession

from drover.network.model import Network
from drover.spark.oracle.scope import ARRIVAL, never_late, on_time, scalar
from tests.flow.oracle import collect
from tests.spark.oracle.scopes import one_source, scope_of


def network() -> Network:
    return one_source(lambda s: s.filter("out", "v > 1"))


def test_a_row_is_late_at_the_watermark_of_its_batch(spark: SparkSession) -> None:
    given = [(0, "a", 1, 0), (5, "a", 2, 1), (6, "a", 3, 1), (6, "a", 4, 2), (0, "a", 5, None), (0, "a", 6, 9)]
    scope = scope_of(spark, network(), {"s": given}, late=[None, 5, 6])
    (operator,) = scope.network.operators
    rows = scope.streams["s"]
    kept = on_time(rows, scalar("unix_micros(ts)", scope.schema("s")), scope.closed(operator)).select("v")
    marked = rows.select(scalar("v + 1", scope.schema("s")).alias("w"), never_late()).where("w < 4")
    found = collect({"kept": kept, "marked": marked}, ["kept", "marked"])
    # Rows of no batch cannot be late, nor those of a batch without a watermark.
    assert sorted(found["kept"]["v"].to_list()) == [1, 3, 5, 6]
    assert sorted(found["marked"]["w"].to_list()) == [2, 3]
    assert found["marked"][ARRIVAL].to_list() == [None, None]
