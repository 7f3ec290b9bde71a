"""What a map means: the computed columns, one row for each."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.oracle.scopes import one_source, run, scope_of


def test_computed_columns(spark: SparkSession) -> None:
    network = one_source(
        lambda s: {
            "map": s.map("map", {"x": "v + 1", "ts": "ts"}),
            "extend": s.extend("extend", {"v": "coalesce(v, 0) - 1"}),
            "constant": s.map("constant", {"one": "1"}),
        }
    )
    found = run(scope_of(spark, network, {"s": [(0, "a", 1, 0), (1, None, None, 0), (2, "b", 2**63 - 1, 0)]}))
    assert found == {
        "map": [(2, 0), (None, 1), (None, 2)],
        "extend": [(0, "a", 0), (1, None, -1), (2, "b", 2**63 - 2)],
        "constant": [(1,)] * 3,
    }
