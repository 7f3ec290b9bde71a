"""One table of the network in its database: created or checked at the start, then read and written.

Rule 1: every change is one transaction, so a worker that dies leaves all of it or nothing.
Rule 2: every failure here is a TableError: the cause is the database, not the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from drover.errors import TableError, visible
from drover.flow.tables import statements
from drover.flow.tables.address import POSTGRESQL, SQLITE, Address
from drover.flow.tables.connections import lease
from drover.flow.tables.dialect import MOST_ROWS, STAGE, Dialect, ExistingTable, StagedRows
from drover.flow.tables.postgresql import PostgreSQL
from drover.flow.tables.sqlite import SQLite
from drover.network.operators import Table
from drover.network.types import polars_type

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

DIALECTS: Final[Mapping[str, Dialect]] = {SQLITE: SQLite(), POSTGRESQL: PostgreSQL()}
LONGEST_MESSAGE: Final = 400  # characters of a database's message
# The part of a message in which SQLite and PostgreSQL repeat the statement, at any length.
STATEMENT: Final = re.compile(r"\nquery: .*| query '.*'(?=: )|\nLINE \d+: .*?\^", re.DOTALL)


class TableStore:
    """A table at an address."""

    def __init__(self, table: Table, address: Address) -> None:
        self.table = table
        self.address = address
        self.dialect = DIALECTS[address.database]
        self.name = self.dialect.name(table.name, address)

    def prepare(self, *, written: bool) -> None:
        """Create the table if it is written and missing; refuse it if it is only read, or not as declared."""
        if not written and not self.dialect.has_database(self.address):  # connecting would create it
            raise self._absent()
        with self._connected() as connection, connection.cursor() as cursor:
            if differences := list(self._long_names()):
                raise TableError("; ".join(differences))
            found = self.dialect.look(cursor, self.table.name, self.address)
            if written:
                self.dialect.keep(cursor)
            if found is None and written:
                cursor.executescript(statements.create(self.table, self.name, self.dialect))
            elif found is not None and (differences := list(self._differences(found))):
                raise TableError(f"it is not as the network declares it: {'; '.join(differences)}")
        if found is None and not written:
            raise self._absent()

    def fetch(self, keys: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns of the rows with these keys, which are distinct and have the columns of the table's key."""
        types = self.table.schema.types
        kinds = [types[column] for column in self.table.key]
        parts = [pl.DataFrame(schema={column: polars_type(types[column]) for column in columns})]
        if not keys.height:
            return parts[0]
        with self._connected() as connection:
            for chunk in keys.iter_slices(MOST_ROWS):
                staged = self.dialect.stage(chunk, kinds)
                query = statements.fetch(self.table, self.name, columns, staged.values, self.dialect)
                self._stage(connection, staged)
                with connection.cursor() as cursor:
                    result = self.dialect.query(cursor, query)
                decoded = [self._decode(result, column, i) for i, column in enumerate(columns)]
                parts.append(pl.DataFrame(decoded))
        return pl.concat(parts)

    def upsert(self, rows: pl.DataFrame, time: str) -> None:
        """Insert or update rows, one per key and sorted by key; `time` is the column with their event time."""
        if not rows.height:
            return
        table = self.table
        rows = rows.select(table.schema.names)
        null_keys = rows.select(pl.any_horizontal(pl.col(column).is_null() for column in table.key).any()).item()
        with self._connected() as connection:
            if null_keys:
                self._check_null_keys(connection, rows)
            staged = self.dialect.stage(rows, [column.type for column in table.columns])
            self._stage(connection, staged)
            changes = [self.dialect.begin]
            if null_keys and self.dialect.lock:  # as the first statement, because a later lock could cause a deadlock
                changes.append(self.dialect.lock.format(table=self.name))
            changes.append(statements.upsert(table, self.name, staged.values, time, self.dialect))
            if null_keys:
                changes += statements.upsert_null_keys(table, self.name, staged.values, time, self.dialect)
            with connection.cursor() as cursor:
                for statement in (*changes, "COMMIT"):
                    cursor.executescript(statement)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Open a connection; turn errors into a TableError that names the table and hides passwords."""
        import adbc_driver_manager  # noqa: PLC0415 - only networks with tables need it

        try:
            with lease(self.dialect, self.address) as connection:
                yield connection
        except (adbc_driver_manager.Error, pa.ArrowException, pl.exceptions.PolarsError, OSError, TableError) as error:
            message = " ".join(STATEMENT.sub("", self.address.hide(str(error))).split())
            raise TableError(
                f"table {self.table.name!r} at {self.address.shown}: {visible(message, LONGEST_MESSAGE).rstrip('.')}. "
                "Correct this and start again: the batch will be repeated."
            ) from error

    def _absent(self) -> TableError:
        """Return the error for a table that is only read and does not exist: made here, it would stay empty."""
        name = self.table.name
        example = f"tables: {{{name}: sqlite:///path/to/file.db}} in the run file, or tables= of drover.run"
        where = "has no address" if self.address.internal else f"is not in {self.address.shown}"
        way_out = f"Say where it is: {example}." if self.address.internal else f"Create it there, or correct {example}."
        return TableError(
            f"table {name!r} {where}, and the network only reads it, so every lookup would find nothing. {way_out}"
        )

    def _stage(self, connection: Connection, staged: StagedRows) -> None:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(STAGE, staged.rows, mode="replace", temporary=True)
        if self.dialect.measure:
            with connection.cursor() as cursor:
                cursor.executescript(self.dialect.measure)

    def _decode(self, result: pa.Table, column: str, index: int) -> pl.Series:
        try:
            return self.dialect.decode(result, self.table.schema.types[column], index).alias(column)
        except (pa.ArrowException, pl.exceptions.PolarsError, TableError) as error:
            raise TableError(f"column {column!r} cannot be read: {error}") from error

    def _differences(self, found: ExistingTable) -> Iterator[str]:
        for name, kind in self.table.schema.types.items():
            if name not in found.columns:
                yield f"there is no column {name} {self.dialect.column_type(kind)} (for {kind})"
            elif not self.dialect.fits(kind, found.columns[name]):
                wanted = self.dialect.column_type(kind)
                yield f"column {name} is {found.columns[name] or 'untyped'}, but must be {wanted} (for {kind})"
        if frozenset(self.table.key) not in found.keys:
            indexes = ", ".join(sorted(f"({', '.join(sorted(key))})" for key in found.keys)) or "none"
            yield f"({', '.join(self.table.key)}) must have a unique index, but the table has {indexes}"

    def _long_names(self) -> Iterator[str]:
        for name in (self.address.name or self.table.name, *self.table.schema.names):
            if len(name.encode()) > self.dialect.longest_name:
                yield f"the name {name} is longer than {self.dialect.longest_name} bytes, the limit of this database"

    def _check_null_keys(self, connection: Connection, rows: pl.DataFrame) -> None:
        with connection.cursor() as cursor:
            found = self.dialect.look(cursor, self.table.name, self.address)
        for column in self.table.key:
            if found is not None and column in found.no_nulls and rows[column].null_count():
                raise TableError(
                    f"a row has NULL in key column {column}, which the table does not allow. "
                    f"Filter such rows before the write (`{column} IS NOT NULL`), or make the column nullable"
                )
