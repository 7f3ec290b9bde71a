"""What writing a table means: per key the row with the latest event time, and of equal ones the greatest."""

from __future__ import annotations

import polars as pl
from pyspark.sql import SparkSession

import drover
from drover.spark.oracle.table_write import oracle_table_write, upserted
from tests.flow.operators.batches import cells
from tests.spark.oracle.scopes import COLUMNS, Row, frame, scope_of


def test_the_rows_that_a_table_has_in_the_end(spark: SparkSession) -> None:
    net = drover.Builder("n")
    kept = net.table("kept", {"k": "string", "ts": "timestamp", "v": "bigint"}, key="k")
    for name in "ab":
        net.source(name, COLUMNS, time="ts").write_table(f"write_{name}", kept)
    network = net.build()
    given: dict[str, list[Row]] = {
        "a": [(2, "x", 1, 0), (1, "x", 9, 0), (0, "y", 1, 0), (0, None, 3, 0)],
        "b": [(2, "x", 5, 0), (2, "x", None, 0), (9, "z", None, 0)],
    }
    scope = scope_of(spark, network, given)
    for operator in network.operators:
        assert oracle_table_write(operator, scope) == {}  # type: ignore[arg-type] # all of them are writes
    (table,) = network.tables
    initial = frame(spark, table.schema.types, [("y", 5, 7), ("w", 0, 2)])
    found = cells(pl.DataFrame(upserted(table, initial, scope.writes["kept"]).toArrow()))
    assert sorted(found, key=str) == [("w", 0, 2), ("x", 2, 5), ("y", 5, 7), ("z", 9, None), (None, 0, 3)]
