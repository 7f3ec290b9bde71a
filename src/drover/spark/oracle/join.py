"""What a join of two streams means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.expressions import parse_pair, to_spark
from drover.network.operators import Join
from drover.spark.oracle.scope import Scope, never_late, on_time


def oracle_join(operator: Join, scope: Scope) -> dict[str, DataFrame]:
    """Return every pair that is close in time, equal in its keys and fits the predicate."""
    left, right = (scope.schema(name) for name in operator.inputs)
    t1 = f"left.`{left.time}`"
    t2 = f"right.`{right.time}`"
    apart = F.unix_micros(F.col(t2)) - F.unix_micros(F.col(t1))
    condition = apart.between(-operator.right_window, operator.left_window)
    for pair in operator.on:
        condition = condition & (F.col(f"left.`{pair.left}`") == F.col(f"right.`{pair.right}`"))
    if operator.where is not None:
        condition = condition & F.expr(to_spark(parse_pair(operator.where, left.types, right.types)))
    rows = {
        side: on_time(scope.streams[stream], F.unix_micros(f"`{schema.time}`"), scope.closed(operator)).alias(side)
        for side, stream, schema in (("left", operator.left, left), ("right", operator.right, right))
    }
    pairs = rows["left"].join(rows["right"], condition)
    results = pairs.select(
        F.greatest(F.col(t1), F.col(t2)).alias(left.time or ""),
        *(
            F.expr(to_spark(parse_pair(named.expression, left.types, right.types))).alias(named.name)
            for named in operator.full_select(left, right)
        ),
        never_late(),
    )
    return {operator.name: results}
