"""What a union means: the rows of all inputs, with columns matched by name."""

from __future__ import annotations

from pyspark.sql import SparkSession

import drover
from tests.spark.oracle.scopes import run, scope_of


def test_columns_are_matched_by_name_and_equal_rows_stay(spark: SparkSession) -> None:
    net = drover.Builder("n")
    first = net.source("a", {"ts": "timestamp", "x": "int", "y": "int"}, time="ts")
    second = net.source("b", {"y": "int", "x": "int", "ts": "timestamp"}, time="ts")
    first.union("out", second).output()
    scope = scope_of(spark, net.build(), {"a": [(0, 1, None, 0), (0, 1, None, 0)], "b": [(4, 3, 1, 0)]})
    assert run(scope) == {"out": [(0, 1, None), (0, 1, None), (1, 3, 4)]}
