"""The interface of a kind of database: how it stores each column type, and how it compares values.

Rule 1: rows are written and read as Arrow; no Python object is made per row or cell.
Rule 2: every name in a statement is quoted here. The columns of temporary tables are named by drover.
Rule 3: comparisons mean the same as in Spark: NULL is smallest, NaN largest and equal to itself, text and binary
compare by their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import polars as pl
import pyarrow as pa

from drover.flow.tables.address import Address
from drover.network.types import DataType

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

STAGE: Final = "drover stage"  # the temporary table that rows are loaded into first
MOST_ROWS: Final = 65_536  # of one fetch


def quote(name: str) -> str:
    """Return a name quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows for the temporary table `s`, and for each column the SQL expression of its value."""

    rows: pa.Table
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """A table that the database has already."""

    columns: Mapping[str, str]  # declared types, as the database writes them
    keys: frozenset[frozenset[str]]  # sets of columns that identify a row
    no_nulls: frozenset[str]  # columns that cannot store NULL


class Dialect(Protocol):
    """A kind of database."""

    begin: str  # starts a transaction
    lock: str  # keeps other writers out of {table} in a transaction; may be empty
    same: str  # the comparison operator for which NULL equals NULL
    measure: str  # updates the statistics of the temporary table; may be empty
    longest_name: int  # in bytes
    keeps_connections: bool  # whether connecting takes long

    def has_database(self, address: Address) -> bool:
        """Return False if connecting would create a database."""
        ...

    def connect(self, address: Address) -> Connection:
        """Open a connection with autocommit."""
        ...

    def keep(self, cursor: Cursor) -> None:
        """Prepare the database for several writers; called once, before the first write."""
        ...

    def query(self, cursor: Cursor, statement: str) -> pa.Table:
        """Return the rows of a query, at most MOST_ROWS of them."""
        ...

    def name(self, table: str, address: Address) -> str:
        """Return the table's name in SQL."""
        ...

    def look(self, cursor: Cursor, table: str, address: Address) -> ExistingTable | None:
        """Return the table as the database has it, or None if it does not exist."""
        ...

    def column_type(self, kind: DataType) -> str:
        """Return the type of a column in a new table."""
        ...

    def fits(self, kind: DataType, declared: str) -> bool:
        """Return whether a column that the database declares so can store the type."""
        ...

    def stage(self, rows: pl.DataFrame, kinds: Sequence[DataType]) -> StagedRows:
        """Return rows in the form of the temporary table."""
        ...

    def selected(self, column: str, kind: DataType, index: int) -> str:
        """Return the SELECT items that give a column (given in SQL) as column `index` of the result."""
        ...

    def decode(self, result: pa.Table, kind: DataType, index: int) -> pl.Series:
        """Return column `index` of a result in the type of the network."""
        ...

    def ranks(self, column: str, kind: DataType) -> list[str]:
        """Return SQL expressions, never NULL, that order the values of a column (given in SQL); the first decides."""
        ...
