"""The statements that create, fetch and upsert.

Rule 1: of two rows with one key the greater stays: by event time, then by the other columns in the table's order. So
the outcome is the same in whatever order rows come, and however often.
Rule 2: NULL in a key is a value like others when rows are written, and matches nothing when they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drover.flow.tables.dialect import STAGE, Dialect, quote
from drover.network.operators import Table


def create(table: Table, name: str, dialect: Dialect) -> str:
    """Return the statement that makes the table. UNIQUE and not PRIMARY KEY, because a key may hold NULL."""
    columns = [f"{quote(column.name)} {dialect.column_type(column.type)}" for column in table.columns]
    key = ", ".join(map(quote, table.key))
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)}, UNIQUE ({key}))"


def fetch(table: Table, name: str, columns: Sequence[str], keys: Sequence[str], dialect: Dialect) -> str:
    """Return the query for columns of the rows whose key is staged; `keys` are the staged values, in key order."""
    types = table.schema.types
    chosen = [dialect.selected(f"t.{quote(column)}", types[column], i) for i, column in enumerate(columns)]
    match = " AND ".join(f"t.{quote(column)} = {value}" for column, value in zip(table.key, keys, strict=True))
    # SQLite keeps the order of a CROSS JOIN: it looks up each key, and never walks through the whole table.
    return f"SELECT {', '.join(chosen)} FROM {quote(STAGE)} AS s CROSS JOIN {name} AS t WHERE {match}"


def upsert(table: Table, name: str, values: Sequence[str], time: str, dialect: Dialect) -> str:
    """Return the statement that takes in the staged rows with a whole key; `values` are in the table's order."""
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
    """Yield the statements, of one transaction in which nobody else writes, that take in rows with NULL in their key.

    No unique index finds these, so the smaller rows go first, and then those come in that meet none. Each looks through
    the rows with NULL in their key, which are few: with a key of one column, one.
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
    """Return the condition that a new row, whose columns without the key are given in SQL, beats the stored one."""
    types = table.schema.types
    order = sorted(new, key=lambda column: column != time)  # the event time first, the rest as they are
    left = [rank for column in order for rank in dialect.ranks(new[column], types[column])]
    right = [rank for column in order for rank in dialect.ranks(f"t.{quote(column)}", types[column])]
    return f"({', '.join(left)}) > ({', '.join(right)})"
