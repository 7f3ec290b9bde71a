"""Table read: rows extended by columns of a table in a database.

Rule 1: a read fetches the rows for the keys of the batch and caches none, because other programs change tables too.
"""

from __future__ import annotations

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.flow.operators.table_rows import declared, without_negative_zero
from drover.flow.tables import TableStore
from drover.network.operators import TableRead


class RunTableRead:
    """Adds columns of the table's row with the same key."""

    def __init__(self, operator: TableRead, context: CompileContext) -> None:
        self.operator = operator
        table = declared(context.network, operator.from_table)
        self.store = TableStore(table, context.tables[operator.from_table])
        stream_column = {pair.right: pair.left for pair in operator.on}
        self.on = [stream_column[column] for column in table.key]
        self.key = list(table.key)

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows with the table's columns after their own."""
        operator = self.operator
        rows = inputs[operator.input]
        keys = rows.select(pl.col(left).alias(right) for left, right in zip(self.on, self.key, strict=True))
        # Sorted, because neighbouring keys share pages of the database.
        keys = without_negative_zero(keys).drop_nulls().unique().sort(self.key)
        found = self.store.fetch(keys, [*self.key, *(name for name in operator.columns if name not in self.key)])
        # Give the table's columns names that no stream has, so that a key column may be among those added.
        found = found.select(
            *(pl.col(name).alias(f"key.{name}") for name in self.key),
            *(pl.col(name).alias(f"column.{name}") for name in operator.columns),
        )
        how = "inner" if operator.drop_unmatched else "left"
        right_on = [f"key.{name}" for name in self.key]
        joined = rows.join(found, left_on=self.on, right_on=right_on, how=how, maintain_order="left")  # type: ignore[arg-type] # one of two literals
        added = (pl.col(f"column.{name}").alias(name) for name in operator.columns)
        return {operator.name: joined.select(*rows.columns, *added)}
