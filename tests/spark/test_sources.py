"""One DataFrame that carries several streams is read once, and every row of it is accounted for."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

import drover
from drover import runs
from drover.errors import DroverError
from drover.network.model import Network
from drover.spark.bind import start
from drover.spark.run import run
from drover.spark.sinks import Memory
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.runs import write_files

TIME = pl.Datetime("us", "UTC")
READINGS = pl.DataFrame(
    {
        "ts": pl.Series(range(1_000_000, 9_000_000, 1_000_000)).cast(TIME),
        "site": ["E", "W", "E", "X", None, "W", "E", "W"],
        "heat": [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0],
    }
)


def network() -> Network:
    net = drover.Builder("sites")
    east = net.source("east", {"ts": "timestamp", "heat": "double"}, time="ts")
    west = net.source("west", {"ts": "timestamp", "heat": "double", "site": "string"}, time="ts")
    prices = net.source("prices", {"ts": "timestamp", "price": "bigint"}, time="ts")
    east.filter("hot", "heat > 20").output()
    west.map("named", {"ts": "ts", "name": "concat(site, '!')", "heat": "heat"}).output()
    prices.output()
    return net.build()


def of(site: str) -> pl.DataFrame:
    return READINGS.filter(pl.col("site") == site)


def test_streams_told_apart_by_a_column(spark: SparkSession, tmp_path: Path) -> None:
    prices = pl.DataFrame({"ts": READINGS["ts"], "price": range(8)})
    write_files(tmp_path, {"readings": READINGS, "prices": prices}, 0)
    reader = spark.readStream.schema("ts timestamp, site string, heat double")
    shared = drover.streams(reader.parquet(str(tmp_path / "in" / "readings")), "site", east="E", west="W")
    other = spark.readStream.schema("ts timestamp, price bigint").parquet(str(tmp_path / "in" / "prices"))
    sinks = {name: Memory() for name in network().outputs}
    letters = Memory()
    handle = run(
        network(),
        {**shared, "prices": other},
        sinks,
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
        dead_letters=letters,
    )
    assert handle.awaitTermination(120)
    batch = {"east": of("E").drop("site"), "west": of("W").select("ts", "heat", "site"), "prices": prices}
    for stream, rows in expected_streams(spark, network(), {0: batch}).items():
        assert rows.height > 0
        assert_same_rows(sinks[stream].rows(), rows)
    progress = handle.batches[0]
    assert progress["rowsIn"] == {"east": 3, "west": 3, "prices": 8}
    assert progress["deadLetters"] == {"east, west": 2}
    expected = pl.DataFrame({"reason": [f"site is {site}, which is no stream of east, west" for site in ("X", "NULL")]})
    assert_frame_equal(letters.rows().select("reason"), expected)
    assert '"heat":23.0' in letters.rows()["row"][0]


def test_any_expression_tells_them_apart_and_one_column_may_be_theirs(spark: SparkSession, tmp_path: Path) -> None:
    net = drover.Builder("parity")
    for name in ("even", "odd"):
        net.source(name, {"n": "bigint"}).output()
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().selectExpr("value AS n")
    sinks = {name: Memory() for name in ("even", "odd")}
    sources = drover.streams(frame, "n % 2", {"even": 0, "odd": 1})
    handle = run(net.build(), sources, sinks, checkpoint=str(tmp_path), trigger={"once": True})
    assert handle.awaitTermination(120)
    assert sinks["even"].rows()["n"].to_list() == [0, 2, 4, 6, 8]
    assert sinks["odd"].rows()["n"].to_list() == [1, 3, 5, 7, 9]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        pytest.param({}, "needs one for each source", id="no values"),
        pytest.param({"a": 1, "b": "1"}, "'1' is given for two sources", id="a value twice"),
    ],
)
def test_values_must_tell_sources_apart(spark: SparkSession, values: dict[str, object], says: str) -> None:
    with pytest.raises(DroverError, match=says):
        drover.streams(spark.range(1), "id", values)


@pytest.mark.parametrize(
    ("column", "by"),
    [
        pytest.param("site", "substr(site, 1, 1)", id="by an expression"),
        pytest.param("site", "SITE", id="by a column in other letters"),
        pytest.param("from", "from", id="by a column named like a keyword"),
        pytest.param("site", "concat('{', substr(site, 1, 1), '}')", id="by an expression with braces"),
    ],
)
def test_a_run_file_can_say_it(spark: SparkSession, tmp_path: Path, column: str, by: str) -> None:
    text = f"""\
drover: 1
name: sites
sources:
  east: {{columns: {{ts: timestamp, heat: double}}, time: ts}}
  west: {{columns: {{ts: timestamp, heat: double, {column}: string}}, time: ts}}
outputs: [east, west]
"""
    (tmp_path / "net.yaml").write_text(text, encoding="utf-8")
    value = "{{{}}}" if "{" in by else "{}"
    text = f"""\
run: 1
network: net.yaml
sources:
  east: {{read: json, path: in, by: "{by}", value: "{value.format("E")}"}}
  west: {{shares: east, value: "{value.format("W")}"}}
sinks: {{east: {{write: parquet, path: out/east}}, west: {{write: parquet, path: out/west}}}}
checkpoint: check
"""
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "in").mkdir()
    rows = READINGS.rename({"site": column}).with_columns(pl.col("ts").dt.to_string("iso:strict"))
    malformed = json.dumps({"ts": "2024-05-01T12:00:00Z", column: "W", "heat": "high"})
    (tmp_path / "in" / "rows.json").write_text(f"{rows.write_ndjson()}{malformed}\n", encoding="utf-8")
    handle = start(spark, runs.load(tmp_path / "run.yaml"), once=True)
    assert handle.awaitTermination(120)
    for source, site in (("east", "E"), ("west", "W")):
        (file,) = (tmp_path / "out" / source).glob("*.parquet")
        found = pl.read_parquet(file)
        assert_frame_equal(found, of(site).rename({"site": column}).select(found.columns))
    assert handle.batches[0]["deadLetters"] == {"east, west": 2, "west": 1}
    assert handle.batches[0]["rowsIn"] == {"east": 3, "west": 4}
