"""What a filter means: rows for which the predicate is true, neither false nor NULL."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.oracle.scopes import one_source, run, scope_of


def test_which_rows_pass(spark: SparkSession) -> None:
    network = one_source(
        lambda s: {
            "some": s.filter("some", "v > 1"),
            "others": s.filter("others", "NOT v > 1"),
            "all": s.filter("all", "true"),
            "none": s.filter("none", "CAST(NULL AS BOOLEAN)"),
        }
    )
    rows = [(0, "a", 1), (1, "a", 2), (2, None, None)]
    found = run(scope_of(spark, network, {"s": [(*row, 0) for row in rows]}))
    assert found == {"some": [rows[1]], "others": [rows[0]], "all": rows, "none": []}
