"""The plain computation, on a few rows by hand and against the oracle on many."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import polars as pl
from pyspark.sql import SparkSession

from tests.flow.oracle import expected_streams
from tests.spark.chaos.plain import plain_results
from tests.spark.runs import chaos_network, ordered_batches

SCHEMA: dict[str, pl.DataType] = {
    "ts": pl.Datetime("us", "UTC"),
    "key": pl.Int32(),
    "tag": pl.String(),
    "amount": pl.Int64(),
    "price": pl.Float64(),
}


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def frame(*rows: tuple[float, int | None, int | None]) -> pl.DataFrame:
    cells = [(at(seconds), key, "x", amount, None) for seconds, key, amount in rows]
    return pl.DataFrame(cells, schema=SCHEMA, orient="row")


def test_rows_by_hand() -> None:
    first = {"a": frame((100, 1, 5), (101, 3, 7)), "b": frame((99, 1, None), (102, 3, 8), (102.5, 1, 9))}
    later = {"a": frame((106, None, 1)), "b": frame((104.5, 1, 2))}
    rows = plain_results([first, later], [first, later])
    # The watermark is 103.5: five rows are older, and windows that end at 99, 101 and 103 are closed.
    assert rows["seen"] == Counter([(number,) for number in range(1, 6)])
    assert rows["pairs"] == Counter([(at(100), 5, None), (at(102), 7, 8)])
    ends = {end: cells for _, end, *cells in rows["windows"]}
    assert ends == {
        at(101): [at(100.999999), 1, 2, 5, None],
        at(103): [at(102.999999), 1, 3, 14, None],
    }


def test_windows_wait_for_the_watermark() -> None:
    first = {"a": frame((100, 1, 5)), "b": frame((100, 1, 5))}
    later = {"a": frame((110, 1, 5)), "b": frame((110, 1, 5))}
    assert not plain_results([first, later], [first])["windows"]
    assert plain_results([first, later], [first, later])["windows"]
    assert not plain_results([], [])["windows"]


def test_the_oracle_agrees(spark: SparkSession) -> None:
    network = chaos_network()
    batches = ordered_batches(network, 40, 6, seed=7)
    plain = plain_results(batches, batches)
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    assert {name: Counter(rows.iter_rows()) for name, rows in expected.items()} == plain
    assert all(plain.values())
