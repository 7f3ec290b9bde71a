from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import MagicMock

import pyarrow as pa
from pyspark.sql import SparkSession

from drover.spark.session import DRIVER_OPTIONS, settings, stop


def test_rows_cross_as_arrow_both_ways(spark: SparkSession) -> None:
    table = pa.table({"a": pa.array([1, 2, 3]), "g": pa.array(["x", "y", "x"])})

    def double(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.set_column(0, "a", pa.array([2 * value for value in batch.column(0).to_pylist()]))

    frame = spark.createDataFrame(table)
    doubled = frame.mapInArrow(double, frame.schema).orderBy("a").toArrow()
    assert doubled.column("a").to_pylist() == [2, 4, 6]


def test_a_group_arrives_whole(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"a": pa.array([1, 2, 3]), "g": pa.array(["x", "y", "x"])}))
    sizes = frame.groupBy("g").applyInArrow(lambda group: pa.table({"rows": pa.array([group.num_rows])}), "rows bigint")
    assert sorted(row.rows for row in sizes.collect()) == [1, 2]


def test_workers_give_polars_one_thread(spark: SparkSession) -> None:
    def report(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl  # noqa: PLC0415 - must be imported in the worker

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"threads": [pl.thread_pool_size()]})

    threads = spark.range(1, numPartitions=1).mapInArrow(report, "threads bigint").toArrow()
    assert threads.column("threads").to_pylist() == [1]


def test_time_is_utc(spark: SparkSession) -> None:
    row = spark.sql("SELECT CAST(TIMESTAMP '1970-01-02 00:00:00' AS BIGINT) AS seconds").collect()[0]
    assert row.seconds == 86400


def test_the_callers_settings_win() -> None:
    merged = settings("mine", "local[1]", {"spark.sql.shuffle.partitions": "7", "spark.driver.host": "here"})
    assert merged["spark.app.name"] == "mine"
    assert merged["spark.sql.shuffle.partitions"] == "7"
    assert merged["spark.driver.host"] == "here"


def test_the_callers_java_options_come_after_ours() -> None:
    ours, theirs = settings("x", "local[1]", {DRIVER_OPTIONS: "-Xss4m"})[DRIVER_OPTIONS].split(" ")
    assert ours.startswith("-Dlog4j2.configurationFile=file:///")
    assert theirs == "-Xss4m"


def test_a_cluster_chooses_its_own_addresses() -> None:
    assert "spark.driver.host" not in settings("x", "spark://master:7077")


def test_a_session_whose_java_has_ended_needs_no_stop() -> None:
    session = MagicMock()
    stop(session)
    session.stop.side_effect = ConnectionRefusedError("nobody there")
    stop(session)
    assert session.stop.call_count == 2
