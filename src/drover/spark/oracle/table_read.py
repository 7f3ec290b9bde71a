"""What reading a table means, in plain Spark."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.operators import TableRead
from drover.spark.oracle.scope import ARRIVAL, Scope


def oracle_table_read(operator: TableRead, scope: Scope) -> dict[str, DataFrame]:
    """Return the rows with the columns of the table's row of the same key."""
    condition = reduce(
        Column.__and__, (F.col(f"s.`{pair.left}`") == F.col(f"t.`{pair.right}`") for pair in operator.on)
    )
    how = "inner" if operator.drop_unmatched else "left"
    table = scope.tables[operator.from_table]
    joined = scope.streams[operator.input].alias("s").join(table.alias("t"), condition, how)
    kept = (*scope.schema(operator.input).names, ARRIVAL)
    added = (f"t.`{name}`" for name in operator.columns)
    return {operator.name: joined.select(*(f"s.`{name}`" for name in kept), *added)}
