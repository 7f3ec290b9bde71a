"""What writing a table means, in plain Spark: the rows that it has in the end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.operators import Table, TableWrite
from drover.spark.oracle.scope import Scope


def oracle_table_write(operator: TableWrite, scope: Scope) -> dict[str, DataFrame]:
    """Note the rows that are written; there is no output."""
    time = scope.schema(operator.input).time or ""
    scope.writes.setdefault(operator.into, []).append((time, scope.streams[operator.input]))
    return {}


def upserted(table: Table, initial: DataFrame | None, writes: Sequence[tuple[str, DataFrame]]) -> DataFrame:
    """Return the table's final rows: per key the row with the latest event time, and of equal ones the greatest.

    `writes` has, for each stream written into the table, the stream's event-time column and its rows.
    """
    columns = [f"`{name}`" for name in table.schema.names]
    (time,) = {time for time, _ in writes}
    parts = [rows.select(*columns) for _, rows in writes]
    if initial is not None:
        parts.append(initial.select(*columns))
    rest = [name for name in table.schema.names if name not in table.key and name != time]
    order = F.struct(*(f"`{name}`" for name in (time, *rest)))
    best = (
        reduce(DataFrame.unionByName, parts)
        .groupBy(*(f"`{name}`" for name in table.key))
        .agg(F.max(order).alias("drover.row"))
    )
    value = {
        name: F.col(f"`{name}`") if name in table.key else F.col(f"`drover.row`.`{name}`")
        for name in table.schema.names
    }
    return best.select(*(column.alias(name) for name, column in value.items()))
