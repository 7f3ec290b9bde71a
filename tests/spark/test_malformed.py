"""Rows of CSV and JSON files that do not have the types of their columns become dead letters with their text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

from drover.flow.malformed_rows import EVIDENCE, FEWER_CELLS, UNREADABLE, check_rows, reason_of
from drover.network.operators import Named
from drover.network.schema import Column
from drover.network.types import BIGINT, STRING, TIMESTAMP
from drover.runs.model import Input, Option
from drover.spark.bind import _load, _shaped
from drover.spark.malformed import LONGEST, keeps_evidence
from drover.spark.replay import replay

COLUMNS = (Column("ts", TIMESTAMP), Column("id", BIGINT), Column("tag", STRING), Column("n", BIGINT))


def read(spark: SparkSession, path: Path, kind: str, **options: str) -> DataFrame:
    given = Input(replay=kind, path=str(path), options=tuple(Option(*each) for each in options.items()))
    return _load(spark, spark.read, given, COLUMNS)


def marks(frame: DataFrame) -> list[tuple[str | None, str | None]]:
    """Return the texts and reasons, in the order of the file."""
    found = [json.loads(row[EVIDENCE] or "null") for row in frame.coalesce(1).collect()]
    reasons = [None if each is None else reason_of(each) for each in found]
    return [(each["text"] if reason else None, reason) for each, reason in zip(found, reasons, strict=True)]


T = "2024-01-01 00:00:30"
CSV_LINES = {
    f"{T},1,a,9": None,
    f"{T},x,a,9": "id is no bigint",
    f"{T},1,a,9.5": "n is no bigint",
    f"noon,x,a,{2**63}": "ts is no timestamp, id is no bigint, n is no bigint",
    f"{T},,,": None,
    f"{T},1,a,9,more,cells": None,
    f"{T},1,,,,": None,
    f"{T},x,a,9,more": "id is no bigint",
    f"{T},1,a": FEWER_CELLS,
    f"{T},1,": FEWER_CELLS,
    f'{T},1,"a, ""b""",9': None,
    f'{T},x,"a, b",9': "id is no bigint",
    "garbage": f"ts is no timestamp, {FEWER_CELLS}",
}


def test_a_csv_row_is_malformed_if_a_declared_column_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in ["ts,id,tag,n", *CSV_LINES]).encode()))
    found = read(spark, path, "csv", header="true", escape='"')
    assert found.columns == ["ts", "id", "tag", "n", EVIDENCE]
    assert marks(found) == [(line if reason else None, reason) for line, reason in CSV_LINES.items()]


def test_options_say_how_cells_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{T}\t1\t'a\nb'\tNA\n{T}\tNA\t'a\nb'\tx\n{T}\t1\n", encoding="utf-8")
    found = read(spark, path, "csv", Sep=r"\t", quote="'", multiLine="true", nullValue="NA", header="false")
    assert marks(found) == [(None, None), (f"{T}\tNA\t'a\nb'\tx", "n is no bigint"), (f"{T}\t1", FEWER_CELLS)]


JSON_LINES = {
    f'{{"ts": "{T}", "id": 1, "tag": "a", "n": 9}}': None,
    f'{{"ts": "{T}", "id": null, "more": [1]}}': None,
    f'{{"ts": "{T}", "id": "x", "tag": {{"b": 1}}}}': "id is no bigint",
    f'{{"ts": "noon", "id": 1.5, "tag": 3, "n": {2**63}}}': "ts is no timestamp, id is no bigint, n is no bigint",
    '{"ts": "2024-01-01", "id"': UNREADABLE,
    "garbage": UNREADABLE,
    "[2024] garbage": UNREADABLE,
}


def test_a_json_row_is_malformed_if_a_field_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    array = f'[{{"ts": "{T}", "id": 1}}, {{"ts": "{T}", "id": "x"}}]'
    path.write_text("".join(f"{line}\n" for line in [*JSON_LINES, array]), encoding="utf-8")
    *found, first, second = marks(read(spark, path, "json"))
    assert found == [(line if reason else None, reason) for line, reason in JSON_LINES.items()]
    assert (first, second) == ((None, None),) * 2  # Spark does not tell which of the two


def test_evidence_survives_where_select_and_replay(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = ["1,a,9", "x,b,9", "2,c,high", "y,d,1", "3,e,", "4,f,,more", "z,g,9,more"]
    path.write_text("".join(f"{T},{line}\n" for line in lines), encoding="utf-8")
    named = (Named("ts", "ts"), Named("double", "2 * id"), Named("tag", "upper(tag)"))
    given = Input(replay="csv", path=str(path), columns=COLUMNS, select=named, where="n > 5")
    wanted = (COLUMNS[0], Column("double", BIGINT), COLUMNS[2])
    shaped = _shaped(_load(spark, spark.read, given, wanted), given, wanted)
    assert shaped.columns == ["ts", "double", "tag", EVIDENCE]
    assert replay(spark, shaped, time="ts").columns == shaped.columns
    found = check_rows(pl.DataFrame(shaped.toArrow()))
    assert found is not None
    assert found.good["tag"].to_list() == ["A"]  # `where` is false or NULL for the others
    assert dict(zip(found.texts, found.reasons, strict=True)) == {
        f"{T},x,b,9": "id is no bigint",
        f"{T},2,c,high": "n is no bigint",
        f"{T},z,g,9,more": "id is no bigint",
    }


def test_of_a_long_text_the_beginning_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{T},x,{'a' * 20_000},9\n", encoding="utf-8")
    ((text, _),) = marks(read(spark, path, "csv"))
    assert text == f"{T},x,".ljust(LONGEST, "a")


@pytest.mark.parametrize(
    ("kind", "columns", "options"),
    [
        pytest.param("parquet", COLUMNS, {}, id="a format with types"),
        pytest.param("csv", COLUMNS, {"MODE": "PERMISSIVE"}, id="a mode"),
        pytest.param("json", COLUMNS, {"columnNameOfCorruptRecord": "bad"}, id="a name for the text"),
        pytest.param("json", (*COLUMNS, Column("_corrupt_record", STRING)), {}, id="a column for the text"),
    ],
)
def test_whoever_has_said_what_happens_to_them_has_decided(
    spark: SparkSession, kind: str, columns: tuple[Column, ...], options: dict[str, str]
) -> None:
    assert not keeps_evidence(spark, kind, columns, options)
    assert keeps_evidence(spark, "csv", COLUMNS, {"header": "true"})
