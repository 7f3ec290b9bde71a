"""The dialect of PostgreSQL.

| type | stored as |
|---|---|
| boolean | boolean |
| tinyint, smallint | smallint |
| int, bigint | integer, bigint |
| float, double | real, double precision |
| decimal(p,s) | numeric(p,s) |
| string | text COLLATE "C", which sorts by bytes; it cannot store the character U+0000 |
| binary | bytea |
| date | date |
| timestamp | timestamp with time zone |
| timestamp_ntz | timestamp without time zone |

Rule 1: writers may work at the same time. Each statement is atomic, and rows are staged in the order of their keys, so
writers cannot deadlock. Rows with NULL in their key are not covered by a unique index, so writing them locks the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from drover.errors import DroverError
from drover.flow.tables.address import Address
from drover.flow.tables.dialect import STAGE, ExistingTable, StagedRows, literal, quote
from drover.network.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    arrow_type,
    polars_type,
)

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

STORED: Final[Mapping[DataType, str]] = {
    BOOLEAN: "boolean",
    TINYINT: "smallint",
    SMALLINT: "smallint",
    INT: "integer",
    BIGINT: "bigint",
    FLOAT: "real",
    DOUBLE: "double precision",
    STRING: "text",
    BINARY: "bytea",
    DATE: "date",
    TIMESTAMP: "timestamp with time zone",
    TIMESTAMP_NTZ: "timestamp without time zone",
}
ZERO: Final[Mapping[DataType, str]] = {BOOLEAN: "false", STRING: "''", BINARY: r"'\x'::bytea"} | {
    kind: f"'epoch'::{STORED[kind]}" for kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
}
BYTES: Final = 'COLLATE "C"'


class PostgreSQL:
    """The dialect of PostgreSQL."""

    begin: str = "BEGIN"
    lock: str = "LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"
    same: str = "IS NOT DISTINCT FROM"
    measure: str = f"ANALYZE {quote(STAGE)}"  # without statistics, a thousand keys may cost a scan of the whole table
    longest_name: int = 63
    keeps_connections: bool = True

    def has_database(self, address: Address) -> bool:  # noqa: ARG002 - Dialect's signature
        """Return True: connecting to PostgreSQL never creates a database."""
        return True

    def connect(self, address: Address) -> Connection:
        """Connect to the server."""
        try:
            import adbc_driver_postgresql.dbapi as driver  # noqa: PLC0415 - an extra that few install
        except ImportError as error:
            raise DroverError(
                f"a table is at {address.shown}, but the driver for PostgreSQL is not installed. "
                "Run: pip install 'drover[postgresql]', on all machines."
            ) from error
        connection: Connection = driver.connect(address.uri, autocommit=True)
        return connection

    def keep(self, cursor: Cursor) -> None:
        """Do nothing: PostgreSQL always allows several writers."""

    def query(self, cursor: Cursor, statement: str) -> pa.Table:
        """Run a query."""
        cursor.execute(statement)
        return cursor.fetch_arrow_table()

    def name(self, table: str, address: Address) -> str:
        """Return the table's name in SQL, with its schema if that is given."""
        name = quote(address.name or table)
        return name if address.schema is None else f"{quote(address.schema)}.{name}"

    def look(self, cursor: Cursor, table: str, address: Address) -> ExistingTable | None:
        """Read the table's columns and unique indexes from the system catalog."""
        table_id = f"to_regclass({literal(self.name(table, address))})"
        cursor.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, attnum::int FROM pg_attribute "
            f"WHERE attrelid = {table_id} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        columns = cursor.fetchall()
        if not columns:
            return None
        cursor.execute(
            "SELECT i.indexrelid::bigint, a.attname::text FROM pg_index AS i JOIN pg_attribute AS a "
            "ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) "
            f"WHERE i.indrelid = {table_id} AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL "
            "AND i.indimmediate"
        )
        indexes: dict[int, set[str]] = {}
        for index, column in cursor.fetchall():
            indexes.setdefault(index, set()).add(column)
        return ExistingTable(
            {column: declared for column, declared, _, _ in columns},
            frozenset(map(frozenset, indexes.values())),
            frozenset(column for column, _, required, _ in columns if required),
        )

    def column_type(self, kind: DataType) -> str:
        """Return the type in PostgreSQL."""
        return f"{_stored_type(kind)} {BYTES}" if kind == STRING else _stored_type(kind)

    def fits(self, kind: DataType, declared: str) -> bool:
        """Return whether the types are equal; a string also fits varchar, but not char, which pads."""
        return declared == _stored_type(kind) or (kind == STRING and declared.startswith("character varying"))

    def stage(self, rows: pl.DataFrame, kinds: Sequence[DataType]) -> StagedRows:
        """Return the rows in PostgreSQL's types; decimals are sent as text."""
        columns: dict[str, pa.Array] = {}
        values = []
        for index, kind in enumerate(kinds):
            cells = rows.to_series(index)
            value = f's."c{index}"'
            if kind.name == "decimal":
                cells = cells.cast(pl.String)
                value = f"{value}::{_stored_type(kind)}"
            elif kind == TINYINT:
                cells = cells.cast(pl.Int16)
            columns[f"c{index}"] = cells.to_arrow(compat_level=pl.CompatLevel.oldest())
            values.append(value)
        return StagedRows(pa.table(columns), tuple(values))

    def selected(self, column: str, kind: DataType, index: int) -> str:
        """Return the column; decimals are read as text."""
        return f'{column}{"::text" if kind.name == "decimal" else ""} AS "c{index}"'

    def decode(self, result: pa.Table, kind: DataType, index: int) -> pl.Series:
        """Return a column of the result in the type of the network."""
        cells = result[f"c{index}"]
        if kind.name == "decimal":
            cells = cells.cast(arrow_type(kind))
        return pl.Series(cells).cast(polars_type(kind))

    def ranks(self, column: str, kind: DataType) -> list[str]:
        """Return the order of values. In PostgreSQL, too, NaN is the largest number and equals itself."""
        value = f"coalesce({column}, {ZERO.get(kind, '0')})"
        return [f"{column} IS NOT NULL", f"{value} {BYTES}" if kind == STRING else value]


def _stored_type(kind: DataType) -> str:
    return f"numeric({kind.precision},{kind.scale})" if kind.name == "decimal" else STORED[kind]
