"""What a filter means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from drover.network.operators import Filter
from drover.spark.oracle.scope import Scope, scalar


def oracle_filter(operator: Filter, scope: Scope) -> dict[str, DataFrame]:
    """Return the rows for which the predicate is true."""
    where = scalar(operator.where, scope.schema(operator.input))
    return {operator.name: scope.streams[operator.input].where(where)}
