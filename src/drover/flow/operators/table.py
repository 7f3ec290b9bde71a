"""Table read and table write: rows enriched from, and kept in, a table of a database.

Rule 1: a read fetches the rows of the keys at hand and keeps none for later: tables change behind drover's back.
Rule 2: a write sends one row per key, the greatest; the database keeps it if it beats the one it has. So a batch may be
written twice, and batches in any order.
Rule 3: a batch reads what the batches before it wrote, and nothing of its own, even if it is run again after a crash.
So a table that its own network reads is written when the batch is committed: until then the rows are state.
Rule 4: -0.0 is written as 0.0, its equal; else which of the two stays would depend on who comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from drover.flow.operators.base import Clock, Frames, UnitState
from drover.flow.tables import Address, Store
from drover.network.model import Network
from drover.network.operators import Table, TableRead, TableWrite

PENDING: Final = "pending"  # the part with the rows of the last batch that had any


class RunTableRead:
    """Adds columns of the table's row with the same key."""

    def __init__(self, operator: TableRead, network: Network, address: Address) -> None:
        self.operator = operator
        table = _declared(network, operator.from_table)
        self.store = Store(table, address)
        stream_column = {pair.right: pair.left for pair in operator.on}
        self.on = [stream_column[column] for column in table.key]
        self.key = list(table.key)

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the rows with the table's columns behind theirs."""
        operator = self.operator
        rows = inputs[operator.input]
        keys = rows.select(pl.col(left).alias(right) for left, right in zip(self.on, self.key, strict=True))
        keys = _without_negative_zero(keys).drop_nulls().unique().sort(self.key)  # neighbours share pages
        found = self.store.fetch(keys, [*self.key, *(name for name in operator.columns if name not in self.key)])
        # The table's columns travel under names that no stream has, so that a key may be among those added.
        found = found.select(
            *(pl.col(name).alias(f"key.{name}") for name in self.key),
            *(pl.col(name).alias(f"column.{name}") for name in operator.columns),
        )
        how = "inner" if operator.drop_unmatched else "left"
        right_on = [f"key.{name}" for name in self.key]
        joined = rows.join(found, left_on=self.on, right_on=right_on, how=how, maintain_order="left")  # type: ignore[arg-type] # one of two literals
        added = (pl.col(f"column.{name}").alias(name) for name in operator.columns)
        return {operator.name: joined.select(*rows.columns, *added)}


class RunTableWrite:
    """Upserts the greatest row of each key, or leaves them for `settle`."""

    def __init__(self, operator: TableWrite, network: Network, address: Address) -> None:
        self.operator = operator
        self.table = _declared(network, operator.into)
        self.time = network.streams[operator.input].time or ""
        self.store = Store(self.table, address)
        self.waits = operator in waiting_writes(network)

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Write the rows; there is no output."""
        rows = greatest_rows(inputs[self.operator.input], self.table, self.time)
        if not self.waits:
            self.store.upsert(rows, self.time)
        elif rows.height:
            state.replace(PENDING, rows)
        return {}


def waiting_writes(network: Network) -> tuple[TableWrite, ...]:
    """Return the writes that wait for the commit of their batch: those into tables that the network reads."""
    read = {operator.from_table for operator in network.operators if isinstance(operator, TableRead)}
    writes = (operator for operator in network.operators if isinstance(operator, TableWrite))
    return tuple(operator for operator in writes if operator.into in read)


def settle(
    network: Network, tables: Mapping[str, Address], pending: Callable[[TableWrite], pl.DataFrame | None]
) -> None:
    """Write what waited for a commit; `pending` finds it. Nothing is lost or doubled if it is done again."""
    for operator in waiting_writes(network):
        rows = pending(operator)
        if rows is not None:
            time = network.streams[operator.input].time or ""
            Store(_declared(network, operator.into), tables[operator.into]).upsert(rows, time)


def greatest_rows(rows: pl.DataFrame, table: Table, time: str) -> pl.DataFrame:
    """Return, per key, the row with the latest event time, of equal ones the greatest; in the order of the keys."""
    rows = _without_negative_zero(rows.select(table.schema.names))
    rest = [name for name in table.schema.names if name not in table.key and name != time]
    order = list(dict.fromkeys([*table.key, time, *rest]))
    return rows.sort(order, nulls_last=False).unique(table.key, keep="last", maintain_order=True)


def _declared(network: Network, name: str) -> Table:
    return next(table for table in network.tables if table.name == name)


def _without_negative_zero(rows: pl.DataFrame) -> pl.DataFrame:
    # Adding 0.0 would do too, but Polars leaves it out as being of no effect.
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    return rows.with_columns(
        pl.when(pl.col(name) == 0).then(pl.lit(0, rows.schema[name])).otherwise(pl.col(name)).alias(name)
        for name in floats
    )
