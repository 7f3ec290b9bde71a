"""What tables mean, row by row in plain Python: slow, and plain to see that it is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import polars as pl
from hypothesis import strategies as st

from drover.flow.tables import Address, TableStore
from drover.network.model import Network
from drover.network.operators import Table, TableRead
from drover.network.types import BINARY, BOOLEAN, DATE, STRING, TIMESTAMP, DataType, polars_type
from tests.strategies.values import BITS, values

Row = Mapping[str, Any]  # Any: cells of every type
AT: Final = datetime(2024, 1, 1, tzinfo=UTC)


def rank(cell: Any) -> tuple[Any, ...]:
    """Return what cells of a column are ordered and compared by: NULL smallest, NaN largest and equal to itself."""
    if cell is None:
        return (0,)
    if isinstance(cell, float):
        return (2,) if math.isnan(cell) else (1, cell)
    return (1, cell.encode()) if isinstance(cell, str) else (1, cell)


def ranks(row: Row, columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(rank(row[column]) for column in columns)


def written(table: Table, time: str, rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return the ranks of the rows that a table has in the end."""
    names = table.schema.names
    order = [time, *(name for name in names if name not in table.key)]
    best: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = ranks(row, table.key)
        if key not in best or ranks(row, order) > ranks(best[key], order):
            best[key] = row
    return sorted(ranks(row, names) for row in best.values())


def enriched(operator: TableRead, table: pl.DataFrame, rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Return the ranks of the rows that a table read gives."""
    by_key = {ranks(row, [pair.right for pair in operator.on]): row for row in table.to_dicts()}
    found = []
    for row in rows.to_dicts():
        key = ranks(row, [pair.left for pair in operator.on])
        match = None if (0,) in key else by_key.get(key)
        if match is not None or not operator.drop_unmatched:
            added = match if match is not None else dict.fromkeys(operator.columns)
            found.append(ranks(row, rows.columns) + ranks(added, operator.columns))
    return sorted(found)


def all_ranks(rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    return sorted(ranks(row, rows.columns) for row in rows.to_dicts())


def dump(table: Table, address: Address) -> pl.DataFrame:
    """Return all rows of a table, those with NULL in their key too."""
    store = TableStore(table, address)
    types = table.schema.types
    chosen = [store.dialect.selected(f'"{name}"', kind, i) for i, (name, kind) in enumerate(types.items())]
    with store.dialect.connect(address) as connection, connection.cursor() as cursor:
        result = store.dialect.query(cursor, f"SELECT {', '.join(chosen)} FROM {store.name}")
    cells = [store.dialect.decode(result, kind, i).alias(name) for i, (name, kind) in enumerate(types.items())]
    return pl.DataFrame(cells)


def frame(rows: Iterable[Row], types: Mapping[str, DataType]) -> pl.DataFrame:
    cells = list(rows)
    return pl.DataFrame(
        [
            pl.Series(name, [row[name] for row in cells], dtype=polars_type(kind), strict=True)
            for name, kind in types.items()
        ]
    )


def table_of(network: Network, name: str) -> Table:
    return next(table for table in network.tables if table.name == name)


def cells(kind: DataType) -> st.SearchStrategy[Any]:
    """Values of a type, awkward ones first."""
    if kind.name == "decimal":
        most = Decimal((0, (9,) * kind.precision, -kind.scale))
        least = Decimal((1, (1,), -kind.scale))
        return st.sampled_from([most, most.copy_negate(), least, Decimal((0, (0,), -kind.scale))]) | values(kind)
    if kind.is_integer:
        return st.sampled_from([0, -BITS[kind], BITS[kind] - 1]) | values(kind)
    if kind.is_float:
        return st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1.5])
    awkward: dict[DataType, list[Any]] = {
        BOOLEAN: [False, True],
        STRING: ["", "NaN", "a", "A", "é", "\uffff", "\U0001f600", "-1", "it's", '"'],
        BINARY: [b"", b"\0", b"\xff", b"NaN"],
        DATE: [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
        TIMESTAMP: [datetime(1600, 1, 1, 0, 0, 0, 1, UTC), AT, datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)],
    }
    found = awkward.get(kind, [cell.replace(tzinfo=None) for cell in awkward[TIMESTAMP]])
    return st.sampled_from(found) | values(kind)
