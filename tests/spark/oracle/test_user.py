"""What a user-defined operator means: the function of each batch, or of all rows in order if it keeps state."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark import userfunctions
from tests.spark.oracle.scopes import one_source, run, scope_of


def test_functions_with_and_without_state(spark: SparkSession) -> None:
    network = one_source(
        lambda s: {
            "doubled": s.apply("doubled", userfunctions.doubled),
            "total": s.apply("total", userfunctions.running_total),
        }
    )
    rows = [(3, "a", 30, 0), (1, "a", 10, 0), (9, "a", 90, 0), (2, "a", 5, 1), (2.5, "a", 1, 1)]
    found = run(scope_of(spark, network, {"s": rows}, watermark=3, late=[None, 2]))
    assert found["doubled"] == [(1, 20), (2, 10), (2.5, 2), (3, 60), (9, 180)]
    # In order of event time; 2 s is late, and 9 s waits for the watermark.
    assert found["total"] == [(1, 10), (2.5, 11), (3, 41)]
