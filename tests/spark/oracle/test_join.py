"""What a join means: every pair that is close in time, equal in its keys and fits the predicate."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

import drover
from tests.spark.oracle.scopes import COLUMNS, Row, run, scope_of


def test_pairs(spark: SparkSession) -> None:
    net = drover.Builder("n")
    left, right = (net.source(name, COLUMNS, time="ts") for name in "ab")
    select = {"x": "left.v", "y": "right.v"}
    left.join("keys", right, within=("10 s", "5 s"), on="k", select=select).output()
    left.join("where", right, within="1 s", where="left.v < right.v", select=select).output()
    rows: Mapping[str, list[Row]] = {
        "a": [(0, "a", 1, 0), (20, "b", 2, 0), (40, None, 3, 0), (19, "b", 4, 1)],
        "b": [(10, "a", 5, 0), (10.000001, "a", 6, 0), (15, "b", 7, 0), (40, None, 8, 0), (40.5, "z", 0, 0)],
    }
    found = run(scope_of(spark, net.build(), rows, late=[None, 19]))
    assert found == {
        # Both windows include their ends, NULL equals no key, and the row of batch 1 is late.
        "keys": [(10, 1, 5), (20, 2, 7)],
        "where": [(40, 3, 8)],
    }
