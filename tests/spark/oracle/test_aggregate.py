"""What an aggregate over windows means: which windows have closed, and which rows are in them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.oracle.scopes import Row, one_source, run, scope_of

ROWS: list[Row] = [  # the last cell is the batch; a row of batch 1 is late at 10 s
    (0, "a", 1, 0),
    (9.999999, "a", 2, 0),
    (10, "a", 4, 0),
    (12, None, None, 0),
    (9, "a", 100, 1),
    (13, "a", 8, 1),
]


def test_windows(spark: SparkSession) -> None:
    compute = {"n": "count(*)", "total": "sum(v)"}
    network = one_source(
        lambda s: {
            "tumbling": s.aggregate("tumbling", compute, size="10 s", group_by="k"),
            "sliding": s.aggregate("sliding", compute, size="10 s", advance="5 s"),
            "timeout": s.aggregate("timeout", compute, size="10 s", group_by="k", timeout="3 s"),
        }
    )
    found = run(scope_of(spark, network, {"s": ROWS}, watermark=20, late=[None, 10]))
    assert {stream: [(row[0], *row[3:]) for row in rows] for stream, rows in found.items()} == {
        # 9 s came after its window had closed; NULL is a group of its own.
        "tumbling": [(0, "a", 2, 3), (10, None, 1, None), (10, "a", 2, 12)],
        # It is still in the window from 5 s to 15 s, which closes at 15 s.
        "sliding": [(-5, 1, 1), (0, 2, 3), (10, 3, 12), (5, 5, 114)],
        # A window closes 3 s after its first row, without the rows from then on.
        "timeout": [(0, "a", 1, 1), (10, None, 1, None), (10, "a", 1, 4)],
    }
    assert found["tumbling"][0][:3] == (0, 10, 9.999999)


def test_a_watermark_at_the_end_of_a_window_closes_it(spark: SparkSession) -> None:
    network = one_source(lambda s: s.aggregate("out", {"n": "count(*)"}, size="10 s"))
    given = {"s": ROWS[:3]}
    closed = [run(scope_of(spark, network, given, watermark=now)) for now in (9.999999, 10)]
    assert [[row[0] for row in each["out"]] for each in closed] == [[], [0]]
