"""What synthetic load means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.operators import Synthetic
from drover.spark.oracle.scope import ARRIVAL, Scope, scalar


def oracle_synthetic(operator: Synthetic, scope: Scope) -> dict[str, DataFrame]:
    """Return each row as often as the operator's hash says; no time is spent."""
    schema = scope.schema(operator.input)
    copies = scalar(operator.copies(schema.time or ""), schema)
    repeated = scope.streams[operator.input].withColumn("drover.copies", F.array_repeat(F.lit(0), copies))
    names = [f"`{name}`" for name in (*schema.names, ARRIVAL)]
    exploded = repeated.select(*names, F.explode("`drover.copies`").alias("drover.copy"))
    return {operator.name: exploded.select(*names)}
