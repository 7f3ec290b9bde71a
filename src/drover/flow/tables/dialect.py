"""What a kind of database must know: how it keeps each column type, and how its values are compared.

Rule 1: rows go in and come out as Arrow; no Python object is made per row or cell.
Rule 2: every name in a statement is quoted here. Columns of temporary tables have names of drover's own.
Rule 3: comparisons mean what they mean in Spark: NULL is smallest, NaN largest and equal to itself, text and binary
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

STAGE: Final = "drover stage"  # the temporary table that rows come through
MOST_ROWS: Final = 65_536  # of one fetch


def quote(name: str) -> str:
    """Return a name as SQL writes it, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows on their way into the database, and the SQL that makes a value of each of their columns (of stage `s`)."""

    rows: pa.Table
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Existing:
    """A table that is in the database already."""

    columns: Mapping[str, str]  # declared types, as the database writes them
    keys: frozenset[frozenset[str]]  # sets of columns that identify a row
    no_nulls: frozenset[str]  # columns that cannot hold NULL, or give it a meaning of their own


class Dialect(Protocol):
    """A kind of database."""

    begin: str  # starts a transaction
    lock: str  # keeps other writers out of {table} in a transaction; may be empty
    same: str  # the operator that compares two values and finds NULL equal to NULL
    measure: str  # tells the planner of the size of the temporary table; may be empty
    longest_name: int  # in bytes
    keeps_connections: bool  # whether connecting takes long

    def connect(self, address: Address) -> Connection:
        """Open a connection in which each statement commits by itself."""
        ...

    def keep(self, cursor: Cursor) -> None:
        """Make the database ready for several writers; once, before the first write."""
        ...

    def query(self, cursor: Cursor, statement: str) -> pa.Table:
        """Return the rows of a query, at most MOST_ROWS of them."""
        ...

    def name(self, table: str, address: Address) -> str:
        """Return the table's name in SQL."""
        ...

    def look(self, cursor: Cursor, table: str, address: Address) -> Existing | None:
        """Return what the database says about the table, or None if there is none."""
        ...

    def column_type(self, kind: DataType) -> str:
        """Return the type of a column as a new table has it."""
        ...

    def fits(self, kind: DataType, declared: str) -> bool:
        """Return whether a column of the database's type can be used for the type."""
        ...

    def stage(self, rows: pl.DataFrame, kinds: Sequence[DataType]) -> Staged:
        """Return rows in the form in which they go into the temporary table."""
        ...

    def selected(self, column: str, kind: DataType, index: int) -> str:
        """Return what a query says to get a column (given in SQL) as column `index` of its result."""
        ...

    def decode(self, result: pa.Table, kind: DataType, index: int) -> pl.Series:
        """Return column `index` of a result with the type it has in the network."""
        ...

    def ranks(self, column: str, kind: DataType) -> list[str]:
        """Return SQL, never NULL, by which values of the column (given in SQL) are ordered, first things first."""
        ...
