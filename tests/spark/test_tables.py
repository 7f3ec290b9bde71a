"""Tables of a running network, in SQLite and PostgreSQL, against plain Spark on the same rows."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import drover
from drover import runs
from drover.errors import DroverError, StateError, TableError
from drover.flow.operators.table_write import greatest_rows
from drover.flow.tables import Address, TableStore, prepare_tables
from drover.network.model import Network
from drover.network.types import polars_type, spark_type
from drover.placement.plan import round_robin
from drover.spark import bind
from drover.spark.driver import Driver
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.sinks import Memory
from tests.flow.harness import Harness
from tests.flow.tables.twin import all_ranks, dump, table_of

AT: Final = datetime(2024, 1, 1, tzinfo=UTC)
NAN: Final = float("nan")
KINDS: Final = {
    "ts": "timestamp",
    "k": "double",
    "bo": "boolean",
    "t": "tinyint",
    "i": "int",
    "b": "bigint",
    "f": "float",
    "d": "double",
    "s": "string",
    "bin": "binary",
    "day": "date",
    "wall": "timestamp_ntz",
    "m": "decimal(38,4)",
}
SCHEMA_OF_THE_LOOP: Final = {"ts": pl.Datetime("us", "UTC"), "k": pl.Int32(), "v": pl.Int32()}
POOLS: Final[dict[str, list[Any]]] = {  # Any: cells of every type
    "ts": [AT, AT + timedelta(microseconds=1)],
    "k": [None, NAN, 0.0, -0.0, 1.5, float("-inf")],
    "bo": [None, False, True],
    "t": [None, -128, 127],
    "i": [None, 0, -(2**31)],
    "b": [None, 0, 2**63 - 1, -(2**63)],
    "f": [None, NAN, 0.0, float("inf")],
    "d": [None, NAN, 0.0, -1.5],
    "s": [None, "", "a", "A", "\uffff", "\U0001f600"],
    "bin": [None, b"", b"\0", b"\xff"],
    "day": [None, date(1900, 1, 1), date(2024, 2, 29)],
    "wall": [None, datetime(1969, 12, 31, 23, 59)],  # noqa: DTZ001 - a wall-clock time has no zone
    "m": [None, Decimal("-0.0001"), Decimal("9" * 34 + ".9999"), Decimal("-" + "9" * 34), Decimal(10)],
}


def a_network() -> Network:
    """One table that is written and one that is read, each with every type."""
    net = drover.Builder("n")
    source = net.source("s", KINDS, time="ts")
    source.write_table("w", net.table("kept", dict(sorted(KINDS.items())), key="k"))
    names = net.table("names", {name.upper() + "_": kind for name, kind in KINDS.items()}, key=["K_", "S_"])
    added = [name.upper() + "_" for name in KINDS]
    source.read_table("r", names, on=["k = K_", "s = S_"], columns=added).output()
    source.read_table("known", names, on=["s = S_", "k = K_"], columns="B_", drop_unmatched=True).output()
    return net.build()


def random_rows(network: Network, seed: int, count: int) -> pl.DataFrame:
    """Rows of the source: with few times and values in a column, many rows have one key and time."""
    chance = random.Random(seed)
    columns = network.streams["s"].types
    return pl.DataFrame(
        {name: [chance.choice(POOLS[name]) for _ in range(count)] for name in columns},
        schema={name: polars_type(kind) for name, kind in columns.items()},
    )


def fill(network: Network, address: Address, seed: int) -> pl.DataFrame:
    """Put rows into the table that is read, and return them."""
    table = table_of(network, "names")
    rows = random_rows(network, seed, 20).rename({name: name.upper() + "_" for name in KINDS})
    TableStore(table, address).prepare(written=True)
    TableStore(table, address).upsert(greatest_rows(rows, table, "TS_"), "TS_")
    return dump(table, address)


def frame(spark: SparkSession, rows: pl.DataFrame) -> DataFrame:
    kinds = {name.upper() + "_": kind for name, kind in KINDS.items()} | KINDS
    return spark.createDataFrame(rows.to_arrow(), ", ".join(f"`{name}` {kinds[name]}" for name in rows.columns))


def streamed(spark: SparkSession, folder: Path, network: Network, batches: Iterable[pl.DataFrame]) -> DataFrame:
    """Return a stream of files, each of which is a micro-batch."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(batches):
        rows.write_parquet(folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (number + 1, number + 1))  # Spark takes the oldest first
    schema = ", ".join(f"`{name}` {spark_type(kind)}" for name, kind in network.streams["s"].types.items())
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def start(network: Network, stream: DataFrame, sinks: dict[str, Memory], tmp_path: Path, **options: Any) -> Handle:
    given: dict[str, Any] = {"nodes": 2, "trigger": {"availableNow": True}, **options}
    return run(network, {"s": stream}, dict(sinks), checkpoint=str(tmp_path / "checkpoint"), **given)


@pytest.mark.parametrize("seed", range(3))
def test_tables_mean_what_they_mean_in_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    network = a_network()
    address = Address(f"sqlite://{tmp_path}/t.db")
    names = fill(network, address, seed)
    batches = [random_rows(network, 10 * seed + number, 30) for number in range(4)]
    tables = {"kept": address, "names": address}
    prepare_tables(network, tables)
    harness = Harness(network, tables)
    for batch in [*batches, batches[0]]:
        harness.run({"s": batch}, round_robin(network, 2))
    inputs = {"s": frame(spark, pl.concat([*batches, batches[0]]))}
    expected = drover.reference(network, inputs, tables={"names": frame(spark, names)})
    assert all_ranks(dump(table_of(network, "kept"), address)) == ranks(expected.tables["kept"])
    for stream in network.outputs:
        assert all_ranks(harness.output(stream)) == ranks(expected.streams[stream])


def ranks(found: DataFrame) -> list[tuple[Any, ...]]:
    return all_ranks(pl.DataFrame(found.toArrow()))


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_running_network_keeps_and_reads_tables(
    spark: SparkSession, tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    network = a_network()
    uri = f"sqlite://{tmp_path}/t.db" if database == "sqlite" else request.getfixturevalue("postgresql")
    given = {"names": Address(uri, "The names")}
    kept = Address(f"sqlite://{tmp_path}/checkpoint/tables.db")  # where it lives if nothing is said
    if database == "postgresql":
        given["kept"] = kept = Address(uri, "kept by Spark")
    names = fill(network, given["names"], 7)
    batches = [random_rows(network, number, 30) for number in range(3)]
    sinks = {name: Memory() for name in network.outputs}
    start(network, streamed(spark, tmp_path / "in", network, batches), sinks, tmp_path, tables=given).awaitTermination()
    expected = drover.reference(network, {"s": frame(spark, pl.concat(batches))}, tables={"names": frame(spark, names)})
    assert all_ranks(dump(table_of(network, "kept"), kept)) == ranks(expected.tables["kept"])
    for stream, sink in sinks.items():
        assert all_ranks(sink.rows()) == ranks(expected.streams[stream])


@pytest.mark.slow
def test_a_table_that_is_lost_stops_the_run_and_the_next_run_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    network = a_network()
    file = tmp_path / "t.db"
    address = Address(f"sqlite://{file}")
    fill(network, address, 7)
    given = {"names": address, "kept": address}
    batches = [random_rows(network, number, 30) for number in range(2)]
    sinks = {name: Memory() for name in network.outputs}
    stream = streamed(spark, tmp_path / "in", network, batches[:1])
    start(network, stream, sinks, tmp_path, tables=given).awaitTermination()
    stream = streamed(spark, tmp_path / "in", network, batches)
    with sqlite3.connect(file) as database:
        database.execute("ALTER TABLE kept RENAME TO away")
    database.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableStore, "prepare", lambda *_args, **_options: None)  # it goes after the start
        handle = start(network, stream, sinks, tmp_path, tables=given)
        with pytest.raises(TableError, match=r"\Atable 'kept' at [^:]*:[^:]*: .*: no such table: main.kept\. Correct"):
            handle.awaitTermination()
    assert set(sinks["r"].batches) == {0}
    with sqlite3.connect(file) as database:
        database.execute("ALTER TABLE away RENAME TO kept")
    database.close()
    start(network, stream, sinks, tmp_path, tables=given).awaitTermination()
    expected = drover.reference(
        network,
        {"s": frame(spark, pl.concat(batches))},
        tables={"names": frame(spark, dump(table_of(network, "names"), address))},
    )
    assert all_ranks(dump(table_of(network, "kept"), address)) == ranks(expected.tables["kept"])
    assert all_ranks(sinks["r"].rows()) == ranks(expected.streams["r"])


@dataclass(slots=True)
class Failing(Memory):
    """Dies of the first batch with the number, with all the batch done but the commit."""

    number: int = 0

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        if batch == self.number:
            self.number = -1
            raise DroverError("the sink has died")
        super(Failing, self).write(rows, batch, spark)


def a_loop() -> Network:
    """A table that the network reads, and writes with what it has read."""
    net = drover.Builder("loop")
    kinds = {"ts": "timestamp", "k": "int", "v": "int"}
    source = net.source("s", kinds, time="ts")
    kept = net.table("kept", kinds, key="k")
    source.write_table("w", kept)
    read = source.map("key", {"ts": "ts", "k": "k"}).read_table("r", kept, on="k", columns="v")
    read.output()
    read.map("more", {"ts": "ts", "k": "k", "v": "v + 100"}).write_table("w2", kept)
    return net.build()


def write_and_die(driver: Driver, operators: Collection[str]) -> None:
    if driver.checkpoint.batch == 1:
        raise DroverError("it has died behind the commit")
    WRITE_TABLES(driver, operators)


WRITE_TABLES: Final = Driver._write_tables


@pytest.mark.parametrize("behind", [False, True], ids=["before the commit", "behind the commit"])
def test_a_batch_reads_the_same_after_a_crash(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    network = a_loop()
    batches = [
        pl.DataFrame([(AT + timedelta(seconds=n), 1, n)], schema=SCHEMA_OF_THE_LOOP, orient="row") for n in range(4)
    ]
    stream = streamed(spark, tmp_path / "in", network, batches)
    sink = Failing(number=-1 if behind else 1)
    if behind:
        monkeypatch.setattr(Driver, "_write_tables", write_and_die)
    with pytest.raises(DroverError, match="has died"):
        start(network, stream, {"r": sink}, tmp_path).awaitTermination()
    monkeypatch.undo()
    start(network, stream, {"r": sink}, tmp_path).awaitTermination()
    assert sink.rows()["v"].to_list() == [None, 0, 100, 200]
    kept = dump(table_of(network, "kept"), Address(f"sqlite://{tmp_path}/checkpoint/tables.db"))
    assert kept["v"].to_list() == [300]


def test_a_table_that_is_not_as_declared_is_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    network = a_network()
    stream = streamed(spark, tmp_path / "in", network, [])
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE kept (k TEXT)")
    database.close()
    names = Address(f"sqlite://{tmp_path}/names.db")
    fill(network, names, 7)
    with pytest.raises(DroverError, match=r"column k is TEXT, but must be REAL \(for double\)"):
        start(network, stream, {}, tmp_path, tables={"kept": f"sqlite://{tmp_path}/t.db", "names": names})
    start(network, stream, {}, tmp_path, tables={"names": names}).awaitTermination()  # the checkpoint is free again


PLANT: Final = """\
drover: 1
name: plant
sources:
  readings: {columns: {ts: timestamp, meter: string}, time: ts}
tables:
  meters: {columns: {meter: string, city: string}, key: meter}
  latest: {columns: {meter: string, ts: timestamp}, key: meter}
operators:
  located: {kind: table_read, input: readings, from: meters, on: meter, columns: city}
  keep: {kind: table_write, input: readings, into: latest}
outputs: located
"""
PLANT_RUN: Final = """\
run: 1
network: plant.yaml
sources:
  readings: {replay: json, path: readings.json}
sinks:
  located: {write: parquet, path: out}
checkpoint: checkpoint
"""


def test_a_run_file_says_where_tables_are_and_a_lost_database_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "plant.yaml").write_text(PLANT, encoding="utf-8")
    file = tmp_path / "plant.run.yaml"
    file.write_text(PLANT_RUN, encoding="utf-8")
    (tmp_path / "readings.json").write_text('{"ts": "2024-01-01T00:00:00Z", "meter": "m1"}\n', encoding="utf-8")
    with pytest.raises(TableError, match=r"table 'meters' has no address, and the network only reads it.*in the run"):
        bind.start(spark, runs.load(file), once=True)
    assert not (tmp_path / "checkpoint" / "tables.db").exists()
    with sqlite3.connect(tmp_path / "plant.db") as database:
        database.execute("CREATE TABLE meters (meter TEXT UNIQUE, city TEXT)")
        database.execute("INSERT INTO meters VALUES ('m1', 'Bern')")
    database.close()
    file.write_text(PLANT_RUN + "tables: {meters: 'sqlite:plant.db'}\n", encoding="utf-8")
    bind.start(spark, runs.load(file), once=True).awaitTermination()
    assert pl.read_parquet(tmp_path / "out" / "*.parquet")["city"].to_list() == ["Bern"]
    (tmp_path / "checkpoint" / "tables.db").unlink()
    with pytest.raises(
        StateError, match=r"checkpoint/tables.db: expected the file that the last run relied on, but found none"
    ):
        bind.start(spark, runs.load(file), once=True)
