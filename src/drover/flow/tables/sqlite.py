"""The dialect of SQLite, the embedded database.

| type | stored as |
|---|---|
| boolean | INTEGER, 0 or 1 |
| tinyint, smallint, int, bigint | INTEGER |
| float, double | REAL, or the TEXT 'NaN', because SQLite would store the number NaN as NULL |
| decimal(p,s) | TEXT with s digits after the point, e.g. '-0.50', because SQLite has no exact numbers of 38 digits |
| string | TEXT |
| binary | BLOB |
| date | INTEGER, days since 1970 |
| timestamp, timestamp_ntz | INTEGER, microseconds since 1970 |

Rule 1: writers take turns (BEGIN IMMEDIATE) and wait for each other up to BUSY_SECONDS. Readers never wait (WAL).
Rule 2: a commit is on disk when it returns. Builds of SQLite differ in their defaults for WAL, so `synchronous` is set.
Otherwise a power cut could lose rows of a batch that drover has committed and does not repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from drover.errors import TableError
from drover.flow.tables.address import Address
from drover.flow.tables.dialect import MOST_ROWS, ExistingTable, StagedRows, literal, quote
from drover.network.types import BINARY, BOOLEAN, DATE, STRING, DataType, arrow_type, polars_type

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

BUSY_SECONDS: Final = 30
INTEGER = "INTEGER"
REAL = "REAL"
TEXT = "TEXT"
BLOB = "BLOB"
ZERO: Final[Mapping[str, str]] = {INTEGER: "0", REAL: "0.0", TEXT: "''", BLOB: "x''"}
IS_ARROW: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    INTEGER: pa.types.is_integer,
    REAL: lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind),
    TEXT: pa.types.is_string,
    BLOB: pa.types.is_binary,
}


def storage(kind: DataType) -> str:
    """Return the storage class of a type in SQLite."""
    if kind == BINARY:
        return BLOB
    if kind == STRING or kind.name == "decimal":
        return TEXT
    return REAL if kind.is_float else INTEGER


def affinity(declared: str) -> str:
    """Return the affinity of a declared type, by the five rules of SQLite's documentation, in their order."""
    word = declared.upper()
    if "INT" in word:
        return INTEGER
    if any(part in word for part in ("CHAR", "CLOB", "TEXT")):
        return TEXT
    if "BLOB" in word or not word:
        return BLOB
    return REAL if any(part in word for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


class SQLite:
    """The dialect of SQLite."""

    begin: str = "BEGIN IMMEDIATE"
    lock: str = ""
    same: str = "IS"
    measure: str = ""
    longest_name: int = 1_000_000
    keeps_connections: bool = False

    def has_database(self, address: Address) -> bool:
        """Return whether the file exists."""
        return Path(address.path).is_file()

    def connect(self, address: Address) -> Connection:
        """Open the file."""
        import adbc_driver_sqlite.dbapi as driver  # noqa: PLC0415 - only networks with tables need it

        folder = Path(address.path).parent
        if not folder.is_dir():  # the message of the driver would be that it cannot allocate memory
            raise TableError(f"there is no folder {folder}")
        connection = driver.connect(address.path, autocommit=True)
        try:
            with connection.cursor() as cursor:
                for setting in (f"busy_timeout = {BUSY_SECONDS * 1000}", "synchronous = FULL", "temp_store = MEMORY"):
                    cursor.executescript(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection

    def keep(self, cursor: Cursor) -> None:
        """Turn on the write-ahead log; the setting is stored in the file."""
        cursor.executescript("PRAGMA journal_mode = WAL")

    def query(self, cursor: Cursor, statement: str) -> pa.Table:
        """Run a query in one batch, because the driver takes the types of a result from its first batch."""
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": MOST_ROWS})
        cursor.execute(statement)
        return cursor.fetch_arrow_table()

    def name(self, table: str, address: Address) -> str:
        """Return the table's name in SQL."""
        return f"main.{quote(address.name or table)}"

    def look(self, cursor: Cursor, table: str, address: Address) -> ExistingTable | None:
        """Read the table's columns and unique indexes."""
        name = literal(address.name or table)
        cursor.execute(f'SELECT name, type, "notnull", pk FROM pragma_table_info({name}, {literal("main")})')
        columns = cursor.fetchall()
        if not columns:
            return None
        cursor.execute(
            f"SELECT l.name, i.name, i.coll FROM pragma_index_list({name}, {literal('main')}) AS l, "
            'pragma_index_xinfo(l.name) AS i WHERE l."unique" AND NOT l.partial AND i."key"'
        )
        indexes: dict[str, set[str]] = {}
        for index, column, collation in cursor.fetchall():
            indexes.setdefault(index, set()).add(str(column) if collation == "BINARY" else f"{column} ({collation})")
        primary = {str(column) for column, _, _, number in columns if number}
        # A primary key of one INTEGER column is the row id: SQLite replaces NULL by the next free number.
        numbered = {c for c, declared, _, n in columns if n and primary == {c} and declared.upper() == INTEGER}
        return ExistingTable(
            {column: declared for column, declared, _, _ in columns},
            frozenset(map(frozenset, [*indexes.values(), *([numbered] if numbered else [])])),
            frozenset(column for column, _, required, _ in columns if required) | numbered,
        )

    def column_type(self, kind: DataType) -> str:
        """Return the type in SQLite."""
        return storage(kind)

    def fits(self, kind: DataType, declared: str) -> bool:
        """Return whether SQLite stores the values unchanged."""
        found = affinity(declared)
        wanted = storage(kind)
        return found == wanted or (found == "NUMERIC" and wanted == INTEGER)  # such as DATE, BOOLEAN, TIMESTAMP

    def stage(self, rows: pl.DataFrame, kinds: Sequence[DataType]) -> StagedRows:
        """Return the rows in SQLite's types. A column with NaN becomes two: the numbers, and a flag for NaN."""
        columns: dict[str, pa.Array] = {}
        values = []
        for index, kind in enumerate(kinds):
            cells = _encoded(rows.to_series(index), kind)
            value = f's."c{index}"'
            if kind.is_float and cells.is_nan().any():
                columns[f"n{index}"] = cells.is_nan().cast(pl.Int64).to_arrow()
                cells = cells.fill_nan(None)
                value = f"CASE WHEN s.\"n{index}\" THEN 'NaN' ELSE {value} END"
            columns[f"c{index}"] = cells.to_arrow(compat_level=pl.CompatLevel.oldest())
            values.append(value)
        return StagedRows(pa.table(columns), tuple(values))

    def selected(self, column: str, kind: DataType, index: int) -> str:
        """Return the column, and for floats a flag for NaN."""
        if not kind.is_float:
            return f'{column} AS "c{index}"'
        return (
            f"CASE WHEN {column} = 'NaN' THEN NULL ELSE {column} END AS \"c{index}\", {column} = 'NaN' AS \"n{index}\""
        )

    def decode(self, result: pa.Table, kind: DataType, index: int) -> pl.Series:
        """Return a column of the result in the type of the network."""
        cells = result[f"c{index}"]
        if cells.null_count == len(cells):  # then the driver returns integers, whatever the type
            series = pl.Series([None] * len(cells), dtype=polars_type(kind))
        elif not IS_ARROW[storage(kind)](cells.type):
            raise TableError(f"there are values of type {cells.type}, but {kind} is stored as {storage(kind)}")
        else:
            series = _decoded(cells, kind)
        if kind.is_float:
            nan = pl.Series(result[f"n{index}"]).cast(pl.Boolean).fill_null(value=False)
            series = pl.select(pl.when(nan).then(pl.lit(float("nan"), series.dtype)).otherwise(series)).to_series()
        return series

    def ranks(self, column: str, kind: DataType) -> list[str]:
        """Return the order of values. SQLite sorts text, such as 'NaN', after all numbers."""
        if kind.name != "decimal":
            return [f"{column} IS NOT NULL", f"coalesce({column}, {ZERO[storage(kind)]})"]
        # Split into three numbers of 13 digits, which fit into 64 bits, each with the sign of the decimal.
        digits = f"substr('{'0' * 39}' || replace(replace(coalesce({column}, '0'), '-', ''), '.', ''), -39)"
        sign = f"CASE WHEN {column} LIKE '-%' THEN -1 ELSE 1 END"
        parts = [f"({sign}) * CAST(substr({digits}, {start}, 13) AS INTEGER)" for start in (1, 14, 27)]
        return [f"{column} IS NOT NULL", *parts]


def _encoded(cells: pl.Series, kind: DataType) -> pl.Series:
    if storage(kind) == INTEGER:
        return cells.cast(pl.Int8 if kind == BOOLEAN else cells.dtype).to_physical().cast(pl.Int64)
    if kind.is_float:
        return cells.cast(pl.Float64)
    return cells.cast(pl.String) if kind.name == "decimal" else cells


def _decoded(cells: pa.ChunkedArray, kind: DataType) -> pl.Series:
    if kind.name == "decimal":
        return pl.Series(cells.cast(arrow_type(kind)))
    series = pl.Series(cells)
    return series.cast(pl.Int32).cast(pl.Date) if kind == DATE else series.cast(polars_type(kind))
