"""SQL statements that create, read and update a table.

Rule 1: of two rows with the same key, the greater one is kept: by event time, then by the other columns in the table's
order. So the result does not depend on the order in which rows are written, nor on how often.
Rule 2: when rows are written, NULL in a key is a value like any other. When rows are read, it matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drover.flow.tables.dialect import STAGE, Dialect, quote
from drover.network.operators import Table


def create(table: Table, name: str, dialect: Dialect) -> str:
    """Return the statement that creates the table. The key is UNIQUE, not PRIMARY KEY, because it may be NULL."""
    columns = [f"{quote(column.name)} {dialect.column_type(column.type)}" for column in table.columns]
    key = ", ".join(map(quote, table.key))
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)}, UNIQUE ({key}))"


def fetch(table: Table, name: str, columns: Sequence[str], keys: Sequence[str], dialect: Dialect) -> str:
    """Return the query for columns of the rows whose key is staged; `keys` are the staged values in key order."""
    types = table.schema.types
    chosen = [dialect.selected(f"t.{quote(column)}", types[column], i) for i, column in enumerate(columns)]
    match = " AND ".join(f"t.{quote(column)} = {value}" for column, value in zip(table.key, keys, strict=True))
    # SQLite keeps the order of a CROSS JOIN. So it looks up each key, and never scans the whole table.
    return f"SELECT {', '.join(chosen)} FROM {quote(STAGE)} AS s CROSS JOIN {name} AS t WHERE {match}"


def upsert(table: Table, name: str, values: Sequence[str], time: str, dialect: Dialect) -> str:
    """Return the statement that writes the staged rows without NULL in the key; `values` are in the table's order."""
    staged = dict(zip(table.schema.names, values, strict=True))
    whole = " AND ".join(f"{staged[column]} IS NOT NULL" for column in table.key)
    rest = [column for column in table.schema.names if column not in table.key]
    action = "NOTHING"
    if rest:
        changes = ", ".join(f"{quote(column)} = excluded.{quote(column)}" for column in rest)
        greater = _greater(table, time, dialect, {c: f"excluded.{quote(c)}" for c in rest})
        action = f"UPDATE SET {changes} WHERE {greater}"
    key = ", ".join(map(quote, table.key))
    return f"{_insert(table, name, values)} WHERE {whole} ON CONFLICT ({key}) DO {action}"


def upsert_null_keys(table: Table, name: str, values: Sequence[str], time: str, dialect: Dialect) -> Iterator[str]:
    """Yield the statements that write rows with NULL in their key, for one transaction without other writers.

    A unique index does not cover these rows. So the first statement deletes smaller stored rows, and the second inserts
    rows that have no stored row left. Each scans the stored rows with NULL in their key. These are few: with a key of
    one column, there is one.
    """
    staged = dict(zip(table.schema.names, values, strict=True))
    same = " AND ".join(f"t.{quote(column)} {dialect.same} {staged[column]}" for column in table.key)
    stored_null = " OR ".join(f"t.{quote(column)} IS NULL" for column in table.key)
    staged_null = " OR ".join(f"{staged[column]} IS NULL" for column in table.key)
    rest = {column: value for column, value in staged.items() if column not in table.key}
    if rest:
        greater = _greater(table, time, dialect, rest)
        yield (
            f"DELETE FROM {name} AS t WHERE ({stored_null}) AND EXISTS "
            f"(SELECT 1 FROM {quote(STAGE)} AS s WHERE {same} AND {greater})"
        )
    missing = f"NOT EXISTS (SELECT 1 FROM {name} AS t WHERE ({stored_null}) AND {same})"
    yield f"{_insert(table, name, values)} WHERE ({staged_null}) AND {missing}"


def _insert(table: Table, name: str, values: Sequence[str]) -> str:
    columns = ", ".join(map(quote, table.schema.names))
    return f"INSERT INTO {name} AS t ({columns}) SELECT {', '.join(values)} FROM {quote(STAGE)} AS s"


def _greater(table: Table, time: str, dialect: Dialect, new: dict[str, str]) -> str:
    """Return the condition that a new row is greater than the stored one; `new` has its columns without key, in SQL."""
    types = table.schema.types
    order = sorted(new, key=lambda column: column != time)  # event time first, the others in the table's order
    left = [rank for column in order for rank in dialect.ranks(new[column], types[column])]
    right = [rank for column in order for rank in dialect.ranks(f"t.{quote(column)}", types[column])]
    return f"({', '.join(left)}) > ({', '.join(right)})"
