"""A run reads the columns that it uses, and all of them if anybody may still ask for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import drover
from drover.network.model import Network
from drover.network.operators import Filter
from drover.network.queries import Query
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.sinks import Memory
from drover.spark.source_columns import judges_rows
from drover.spark.unused_rows import read_unused
from tests.spark.runs import write_files

TIME = pl.Datetime("us", "UTC")
COLUMNS = {"ts": "timestamp", "key": "int", "amount": "bigint", "spare": "string"}
DDL = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
ROWS = pl.DataFrame(
    {"ts": [1_000_000, None, 9_000_000], "key": [1, 2, 1], "amount": [5, 6, 7], "spare": ["x", "y", "z"]},
    schema={"ts": TIME, "key": pl.Int32(), "amount": pl.Int64(), "spare": pl.String()},
)


def network() -> Network:
    net = drover.Builder("less")
    net.source("s", COLUMNS, time="ts").aggregate("a", {"n": "sum(amount)"}, size="5 s").output()
    return net.build()


def ran(spark: SparkSession, folder: Path, **options: Any) -> tuple[Handle, Memory]:  # Any: the options of `run`
    if not (folder / "in").exists():
        write_files(folder, {"s": ROWS}, 0)
    out = Memory()
    handle = run(
        network(),
        {"s": spark.readStream.schema(DDL).parquet(str(folder / "in" / "s"))},
        {"a": out},
        checkpoint=str(folder / "checkpoint"),
        trigger={"availableNow": True},
        **options,
    )
    assert handle.awaitTermination(120)
    return handle, out


def read(handle: Handle) -> list[str]:
    return list(handle._driver.reading.layout.shapes["s"])


def test_spark_reads_only_the_columns_in_use(spark: SparkSession, tmp_path: Path) -> None:
    handle, out = ran(spark, tmp_path)
    assert read(handle) == ["ts", "amount"]
    plan = str(handle._query._jsq.explainInternal(False))
    assert "ReadSchema: struct<ts:timestamp,amount:bigint>" in plan
    assert out.rows()["n"].to_list() == [5]


def test_a_dead_letter_in_the_checkpoint_has_what_was_read(spark: SparkSession, tmp_path: Path) -> None:
    ran(spark, tmp_path)
    (row,) = read_unused(str(tmp_path / "checkpoint")).letters["row"]
    assert json.loads(row) == {"ts": None, "amount": 6}


def test_a_dead_letter_for_a_sink_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    letters = Memory()
    handle, out = ran(spark, tmp_path, dead_letters=letters)
    assert read(handle) == list(COLUMNS)
    assert json.loads(letters.rows()["row"][0]) == {"ts": None, "key": 2, "amount": 6, "spare": "y"}
    assert out.rows()["n"].to_list() == [5]


def test_a_late_row_for_a_sink_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    late = Memory()
    handle, _ = ran(spark, tmp_path, late=late)
    write_files(tmp_path, {"s": ROWS.head(1)}, 1)
    ran(spark, tmp_path, late=late)
    assert read(handle) == list(COLUMNS)
    assert json.loads(late.rows()["row"][0])["spare"] == "x"


def test_queries_may_ask_for_any_column_also_those_of_an_earlier_run(spark: SparkSession, tmp_path: Path) -> None:
    handle, _ = ran(spark, tmp_path, queries=Memory())
    assert read(handle) == list(COLUMNS)
    query = Query("q", "me", (Filter(name="f", input="s", where="spare = 'x'"),), "f")
    folder = tmp_path / "again"
    write_files(folder, {"s": ROWS}, 0)
    started = run(
        network(),
        {"s": spark.readStream.schema(DDL).parquet(str(folder / "in" / "s"))},
        {"a": Memory()},
        checkpoint=str(folder / "checkpoint"),
        queries=Memory(),
    )
    started.submit([query])
    started.stop()
    handle, _ = ran(spark, folder)
    assert read(handle) == list(COLUMNS)


@pytest.mark.parametrize(
    ("mode", "judges"),
    [
        pytest.param({"mode": "DROPMALFORMED"}, True, id="drops"),
        pytest.param({"MODE": "failfast"}, True, id="fails"),
        pytest.param({"mode": "PERMISSIVE"}, False, id="a malformed field is NULL"),
        pytest.param({}, False, id="the default"),
    ],
)
def test_a_reader_that_judges_rows_is_recognised(
    spark: SparkSession, tmp_path: Path, mode: dict[str, str], judges: bool
) -> None:
    frame = spark.readStream.schema(DDL).options(**mode).csv(str(tmp_path))
    assert judges_rows(frame.where("key > 1").selectExpr("key + 1 AS key")) is judges


def test_a_reader_that_drops_malformed_rows_judges_all_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = ("1970-01-01 00:00:01,1,5,x", "1970-01-01 00:00:02,no,6,y", "1970-01-01 00:00:20,2,7,z")
    (tmp_path / "in" / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    out = Memory()
    frame = spark.readStream.schema(DDL).option("mode", "DROPMALFORMED").csv(str(tmp_path / "in"))
    handle = run(
        network(), {"s": frame}, {"a": out}, checkpoint=str(tmp_path / "checkpoint"), trigger={"availableNow": True}
    )
    assert handle.awaitTermination(120)
    assert out.rows()["n"].to_list() == [5]
