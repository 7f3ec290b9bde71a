"""A table in its database: created, checked, and written by several processes, some of which die."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from drover.errors import TableError
from drover.flow.tables import Address, TableStore, sqlite
from drover.flow.tables.dialect import MOST_ROWS
from drover.network.operators import Table
from drover.network.schema import Column
from drover.network.types import BIGINT, DOUBLE, STRING, TIMESTAMP
from tests.flow.tables.conftest import NewAddress
from tests.flow.tables.twin import dump

KEPT = Table("kept", (Column("k", BIGINT), Column("ts", TIMESTAMP), Column("v", DOUBLE)), ("k",))
AT = datetime(2024, 1, 1, tzinfo=UTC)


def rows(keys: Iterable[int | None], second: int, value: float = 1.0) -> pl.DataFrame:
    schema = {"k": pl.Int64(), "ts": pl.Datetime("us", "UTC"), "v": pl.Float64()}
    return pl.DataFrame([(key, AT + timedelta(seconds=second), value) for key in keys], schema=schema, orient="row")


def writer(address: Address) -> TableStore:
    store = TableStore(KEPT, address)
    store.prepare(written=True)
    return store


def change(address: Address, *statements: str) -> None:
    with TableStore(KEPT, address).dialect.connect(address) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.executescript(statement)


def file_address(tmp_path: Path) -> Address:
    return Address(f"sqlite://{tmp_path}/t.db")


def test_a_table_is_created_once_and_then_found_as_declared(new_address: NewAddress) -> None:
    address = new_address()
    writer(address).upsert(rows([1], 0), "ts")
    writer(address).upsert(rows([1, 2], 1), "ts")
    assert dump(KEPT, address).sort("k").rows() == rows([1, 2], 1).rows()


def test_a_table_that_is_only_read_must_exist(new_address: NewAddress) -> None:
    address = new_address()
    with pytest.raises(TableError) as caught:
        TableStore(KEPT, address).prepare(written=False)
    assert str(caught.value) == (
        f"table 'kept' is not in {address.shown}, and the network only reads it, so every lookup would find nothing. "
        "Create it there, or correct tables: {kept: sqlite:///path/to/file.db} in the run file, or tables= of "
        "drover.run."
    )
    writer(address)
    TableStore(KEPT, address).prepare(written=False)


def test_a_table_that_is_only_read_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="table 'kept' has no address, and the network only reads it"):
        TableStore(KEPT, Address(f"sqlite://{tmp_path}/tables.db", internal=True)).prepare(written=False)
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_is_not_as_declared_is_refused_with_all_differences(new_address: NewAddress) -> None:
    address = new_address()
    other = Table("kept", (Column("k", BIGINT), Column("v", STRING), Column("more", STRING)), ("k", "v"))
    TableStore(other, address).prepare(written=True)
    with pytest.raises(TableError) as caught:
        writer(address)
    said = str(caught.value)
    assert "there is no column ts" in said
    assert re.search(r"column v is (TEXT|text), but must be (REAL|double precision) \(for double\)", said)
    assert "(k) must have a unique index, but the table has (k, v)" in said


def test_further_columns_and_indexes_do_no_harm(new_address: NewAddress) -> None:
    address = new_address()
    wide = Table("kept", (Column("more", STRING), *KEPT.columns), ("k",))
    TableStore(wide, address).prepare(written=True)
    writer(address).upsert(rows([3], 0), "ts")
    assert dump(wide, address)["more"].to_list() == [None]
    assert TableStore(KEPT, address).fetch(pl.DataFrame({"k": [3]}), ["v"])["v"].to_list() == [1.0]


def test_more_keys_than_one_query_takes(new_address: NewAddress) -> None:
    address = new_address()
    store = writer(address)
    many = range(MOST_ROWS + 10)
    store.upsert(
        rows(many, 0).with_columns(v=pl.when(pl.col("k") > MOST_ROWS).then(pl.col("k")).cast(pl.Float64)), "ts"
    )
    found = store.fetch(pl.DataFrame({"k": [*many, -1]}), ["k", "v"])
    assert found.height == len(many)
    assert found["v"].drop_nulls().to_list() == [float(key) for key in many if key > MOST_ROWS]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("k INTEGER PRIMARY KEY", id="a key that numbers rows by itself"),
        pytest.param("k BIGINT NOT NULL UNIQUE", id="a column that is never NULL"),
    ],
)
def test_a_null_key_that_a_table_cannot_hold_is_refused(tmp_path: Path, key: str) -> None:
    address = file_address(tmp_path)
    change(address, f"CREATE TABLE kept ({key}, ts INTEGER, v REAL)")
    store = writer(address)
    store.upsert(rows([1], 0), "ts")
    with pytest.raises(TableError, match="NULL in key column k, which the table does not allow"):
        store.upsert(rows([None, 2], 1), "ts")
    assert dump(KEPT, address)["k"].to_list() == [1]


def test_values_of_another_type_are_refused(tmp_path: Path) -> None:
    address = file_address(tmp_path)
    store = writer(address)
    change(address, "INSERT INTO kept VALUES (1, '2024-01-01', 'much')")
    with pytest.raises(TableError, match="column 'ts' cannot be read: there are values of type string"):
        store.fetch(pl.DataFrame({"k": [1]}), ["k", "ts"])
    with pytest.raises(TableError, match="column 'v' cannot be read"):
        store.fetch(pl.DataFrame({"k": [1]}), ["v"])


def test_names_that_postgresql_would_cut_are_refused(postgresql: str) -> None:
    with pytest.raises(TableError, match="is longer than 63 bytes, the limit of this database"):
        writer(Address(postgresql, "t" * 64))


def test_a_table_in_a_schema_of_postgresql(postgresql: str) -> None:
    address = Address(postgresql, "t", 'My "schema"')
    change(address, 'CREATE SCHEMA "My ""schema"""')
    writer(address).upsert(rows([1, None], 0), "ts")
    assert dump(KEPT, address).height == 2


def test_a_primary_key_of_postgresql_is_enough_except_for_null(postgresql: str) -> None:
    address = Address(postgresql, "primary")
    change(address, 'CREATE TABLE "primary" (k bigint PRIMARY KEY, ts timestamptz, v double precision)')
    writer(address).upsert(rows([1], 0), "ts")
    with pytest.raises(TableError, match="NULL in key column k"):
        writer(address).upsert(rows([None], 0), "ts")


def test_a_server_that_restarts_between_two_batches_is_found_again(postgresql: str) -> None:
    address = Address(postgresql, "again")
    store = writer(address)
    store.upsert(rows([1], 0), "ts")
    hang_up = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname <> ''"
    change(address, hang_up)
    store.upsert(rows([2], 0), "ts")
    assert dump(KEPT, address).height == 2


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        pytest.param("postgresql://me:hush@127.0.0.1:1/db", "Connection refused", id="no server"),
        pytest.param("postgresql://me@/db?host=/nowhere&password=hush", "No such file", id="no such socket"),
        pytest.param("sqlite:///nowhere/at/all.db", "there is no folder /nowhere/at", id="no such folder"),
    ],
)
def test_a_database_that_cannot_be_reached_is_named_without_its_password(uri: str, said: str) -> None:
    with pytest.raises(TableError, match=said) as caught:
        writer(Address(uri))
    assert str(caught.value).startswith("table 'kept' at ")
    assert "hush" not in str(caught.value)


def test_the_message_of_the_database_is_shown_without_the_statement(new_address: NewAddress) -> None:
    address = new_address()
    store = writer(address)
    change(address, f"DROP TABLE {store.name}")
    with pytest.raises(TableError, match=r"(no such table|does not exist)") as caught:
        store.upsert(rows([1], 0), "ts")
    assert "INSERT" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_locked_database_is_waited_for_and_then_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.2)
    address = file_address(tmp_path)
    store = writer(address)
    with store.dialect.connect(address) as other, other.cursor() as cursor:
        cursor.executescript("BEGIN IMMEDIATE")
        with pytest.raises(TableError, match="database is locked"):
            store.upsert(rows([1], 0), "ts")
        assert store.fetch(pl.DataFrame({"k": [1]}), ["k"]).height == 0  # readers do not wait
        cursor.executescript("ROLLBACK")
    store.upsert(rows([1], 0), "ts")


def test_concurrent_writers_leave_the_greatest_rows(new_address: NewAddress) -> None:
    address = new_address()
    writer(address)
    keys = [*range(500), None]

    def write(second: int) -> None:
        order = keys if second % 2 else keys[::-1]
        TableStore(KEPT, address).upsert(rows(order, second).sort("k"), "ts")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert dump(KEPT, address).sort("k").rows() == rows([None, *range(500)], 11).rows()


def test_a_killed_writer_leaves_nothing_behind(new_address: NewAddress) -> None:
    address = Address(new_address().uri, "kept")
    store = writer(address)
    store.upsert(rows([1, 2], 0), "ts")
    before = dump(KEPT, address).sort("k").rows()
    command = [sys.executable, "-m", "tests.flow.tables.killed", address.uri]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        child.kill()
    assert dump(KEPT, address).sort("k").rows() == before
    store.upsert(rows(range(3), 10), "ts")
    assert dump(KEPT, address).sort("k").rows() == rows(range(3), 10).rows()
