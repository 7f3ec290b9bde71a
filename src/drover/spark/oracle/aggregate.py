"""What an aggregate over windows means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.expressions import aggregate_to_spark, parse_aggregate
from drover.network.operators import WINDOW_END, WINDOW_START, WINDOW_TIME, Aggregate
from drover.spark.oracle.scope import Scope, never_late, on_time


def oracle_aggregate(operator: Aggregate, scope: Scope) -> dict[str, DataFrame]:
    """Return one row per group and window that the watermark has closed."""
    schema = scope.schema(operator.input)
    time = schema.time or ""
    window = F.window(f"`{time}`", f"{operator.size} microseconds", f"{operator.advance} microseconds")
    rows = scope.streams[operator.input]
    micros = F.unix_micros(f"`{time}`")
    if operator.timeout is not None:
        # A row below the watermark could reopen a window that has already timed out.
        rows = on_time(rows, micros, scope.closed(operator))
    rows = rows.withColumn("drover.window", window)
    rows = rows.withColumn("drover.close", F.unix_micros(F.col("`drover.window`.end")))
    rows = on_time(rows, F.col("`drover.close`"), scope.closed(operator))
    keys = ["`drover.window`", *(f"`{name}`" for name in operator.group_by)]
    if operator.timeout is not None:
        first = F.min(micros).over(Window.partitionBy(*keys))
        rows = rows.withColumn("drover.close", F.least("`drover.close`", first + F.lit(operator.timeout)))
        rows = rows.where(micros < F.col("`drover.close`"))
    computed = [
        F.expr(aggregate_to_spark(parse_aggregate(named.expression, schema.types), time)).alias(named.name)
        for named in operator.compute
    ]
    closed = rows.groupBy(*keys).agg(F.first("`drover.close`").alias("drover.close"), *computed)
    closed = closed.where(F.col("`drover.close`") <= F.lit(scope.watermark(operator)))
    end = F.col("`drover.window`.end")
    results = closed.select(
        F.col("`drover.window`.start").alias(WINDOW_START),
        end.alias(WINDOW_END),
        F.timestamp_micros(F.unix_micros(end) - 1).alias(WINDOW_TIME),
        *(f"`{name}`" for name in operator.group_by),
        *(f"`{named.name}`" for named in operator.compute),
        never_late(),
    )
    return {operator.name: results}
