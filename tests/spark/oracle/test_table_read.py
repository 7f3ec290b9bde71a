"""What reading a table means: the columns of the row with the same key, or NULL, or no row."""

from __future__ import annotations

from pyspark.sql import SparkSession

import drover
from tests.spark.oracle.scopes import COLUMNS, frame, run, scope_of


def test_rows_with_and_without_a_match(spark: SparkSession) -> None:
    net = drover.Builder("n")
    source = net.source("s", COLUMNS, time="ts")
    names = net.table("names", {"key": "string", "n": "bigint", "name": "string"}, key=("key", "n"))
    on = ("k = key", "v = n")
    source.read_table("all", names, on=on, columns="name").output()
    source.read_table("known", names, on=on, columns=("name", "key"), drop_unmatched=True).output()
    network = net.build()
    table = frame(spark, network.tables[0].schema.types, [("a", 1, "Ann"), ("a", 2, None), (None, 1, "nobody")])
    rows = [(0, "a", 1), (1, "a", 2), (2, "a", 3), (3, None, 1)]
    scope = scope_of(spark, network, {"s": [(*row, 0) for row in rows]}, tables={"names": table})
    assert run(scope) == {
        "all": [(*rows[0], "Ann"), (*rows[1], None), (*rows[2], None), (*rows[3], None)],
        "known": [(*rows[0], "Ann", "a"), (*rows[1], None, "a")],
    }
