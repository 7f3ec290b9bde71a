"""Running an example through plain Spark and showing what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from drover.spark.session import session

Rows = Callable[[SparkSession], Mapping[str, DataFrame]]


def show(network: drover.Network, inputs: Rows, tables: Rows | None = None, *, order: str) -> None:
    """Print the first rows of every output and written table."""
    spark = session(f"example {network.name}")
    given = tables(spark) if tables is not None else {}
    result = drover.reference(network, inputs(spark), tables=given, watermark="end")
    for name in network.outputs:
        rows = result.streams[name].orderBy(*(F.expr(part) for part in order.split(", "))).cache()
        print(f"{name}: {rows.count():,} rows")
        rows.show(10, truncate=False)
    for name in sorted(set(result.tables) - set(given)):
        print(f"table {name}: {result.tables[name].count():,} rows")
    spark.stop()
