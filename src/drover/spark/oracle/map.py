"""What a map means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from drover.network.operators import Map
from drover.spark.oracle.scope import ARRIVAL, Scope, scalar


def oracle_map(operator: Map, scope: Scope) -> dict[str, DataFrame]:
    """Return the computed columns."""
    schema = scope.schema(operator.input)
    computed = (scalar(named.expression, schema).alias(named.name) for named in operator.full_select(schema))
    return {operator.name: scope.streams[operator.input].select(*computed, f"`{ARRIVAL}`")}
