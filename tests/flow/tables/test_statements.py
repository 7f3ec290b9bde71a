"""Statements: names are quoted, and the greater row is kept."""

from __future__ import annotations

from drover.flow.tables import statements
from drover.flow.tables.postgresql import PostgreSQL
from drover.flow.tables.sqlite import SQLite
from drover.network.operators import Table
from drover.network.schema import Column
from drover.network.types import BIGINT, STRING, TIMESTAMP

TABLE = Table("t", (Column("k", BIGINT), Column("ts", TIMESTAMP), Column("v", STRING)), ("k",))
VALUES = ('s."c0"', 's."c1"', 's."c2"')


def test_a_table_has_a_unique_key_that_may_be_null() -> None:
    made = statements.create(TABLE, "main.t", SQLite())
    assert made == 'CREATE TABLE IF NOT EXISTS main.t ("k" INTEGER, "ts" INTEGER, "v" TEXT, UNIQUE ("k"))'


def test_an_upsert_compares_event_time_first() -> None:
    made = statements.upsert(TABLE, "t", VALUES, "ts", PostgreSQL())
    assert 'WHERE s."c0" IS NOT NULL ON CONFLICT ("k") DO UPDATE SET "ts" = excluded."ts", "v" = excluded."v"' in made
    greater = made.partition(" WHERE (")[2]
    assert greater.index('excluded."ts"') < greater.index('excluded."v"')


def test_a_table_of_keys_alone_is_never_updated() -> None:
    keys = Table("t", (Column("k", BIGINT),), ("k",))
    assert statements.upsert(keys, "t", VALUES[:1], "k", SQLite()).endswith('ON CONFLICT ("k") DO NOTHING')
    (only,) = statements.upsert_null_keys(keys, "t", VALUES[:1], "k", SQLite())
    assert only.startswith("INSERT INTO t")


def test_rows_with_null_keys_replace_smaller_ones() -> None:
    delete, insert = statements.upsert_null_keys(TABLE, "t", VALUES, "ts", PostgreSQL())
    assert delete.startswith('DELETE FROM t AS t WHERE (t."k" IS NULL)')
    assert 'IS NOT DISTINCT FROM s."c0"' in delete
    assert insert.endswith('AND t."k" IS NOT DISTINCT FROM s."c0")')
