"""Table write: the latest row per key, kept in a table of a database.

Rule 1: a write sends one row per key, the greatest. The database keeps it if it beats the row it has, so a batch may be
written twice, and batches may be written in any order.
Rule 2: a batch reads what earlier batches wrote and nothing of its own, also if it runs again after a crash. So a table
that its own network reads is written when the batch is committed; until then the rows are state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.flow.operators.table_rows import declared, without_negative_zero
from drover.flow.tables import Address, TableStore
from drover.network.model import Network
from drover.network.operators import Table, TableWrite

PENDING: Final = "pending"  # the part with the rows of the last batch that had any


class RunTableWrite:
    """Upserts the greatest row of each key, or leaves the rows for `write_pending`."""

    def __init__(self, operator: TableWrite, context: CompileContext) -> None:
        self.operator = operator
        self.table = declared(context.network, operator.into)
        self.time = context.network.streams[operator.input].time or ""
        self.store = TableStore(self.table, context.tables[operator.into])
        self.waits = operator in waiting_writes(context.network)

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Write the rows; there is no output."""
        rows = greatest_rows(inputs[self.operator.input], self.table, self.time)
        if not self.waits:
            self.store.upsert(rows, self.time)
        elif rows.height:
            state.replace(PENDING, rows)
        return {}


def waiting_writes(network: Network) -> tuple[TableWrite, ...]:
    """Return the writes that wait for the commit of their batch: those into tables that the network reads."""
    users = (operator for operator in network.operators if operator.table is not None)
    read = {operator.table for operator in users if not operator.writes_table}
    writes = (operator for operator in network.operators if isinstance(operator, TableWrite))
    return tuple(operator for operator in writes if operator.into in read)


def write_pending(
    network: Network, tables: Mapping[str, Address], pending: Callable[[TableWrite], pl.DataFrame | None]
) -> None:
    """Write the rows that waited for a commit; `pending` returns them. Doing it twice changes nothing."""
    for operator in waiting_writes(network):
        rows = pending(operator)
        if rows is not None:
            time = network.streams[operator.input].time or ""
            TableStore(declared(network, operator.into), tables[operator.into]).upsert(rows, time)


def greatest_rows(rows: pl.DataFrame, table: Table, time: str) -> pl.DataFrame:
    """Return, per key, the row with the latest event time, of equal ones the greatest; in the order of the keys."""
    rows = without_negative_zero(rows.select(table.schema.names))
    # All columns take part in the order, so that the greatest row does not depend on the order of arrival.
    rest = [name for name in table.schema.names if name not in table.key and name != time]
    order = list(dict.fromkeys([*table.key, time, *rest]))
    return rows.sort(order, nulls_last=False).unique(table.key, keep="last", maintain_order=True)
