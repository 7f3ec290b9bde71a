"""What a switch means: each row goes to the first case that is true, or to the rest."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.oracle.scopes import one_source, run, scope_of


def test_each_row_goes_one_way(spark: SparkSession) -> None:
    cases = {"big": "v > 9", "even": "v % 2 = 0"}
    network = one_source(
        lambda s: {**s.switch("w", cases, rest="other"), **{f"b_{k}": v for k, v in s.switch("bare", cases).items()}}
    )
    rows = [(i, "a", value, 0) for i, value in enumerate((1, 2, 20, 30, None))]
    found = run(scope_of(spark, network, {"s": rows}))
    assert {stream: [row[2] for row in each] for stream, each in found.items()} == {
        "w.big": [20, 30],
        "w.even": [2],
        "w.other": [1, None],
        "bare.big": [20, 30],
        "bare.even": [2],
    }
