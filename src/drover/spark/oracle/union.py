"""What a union means, in plain Spark."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from drover.network.operators import Union
from drover.spark.oracle.scope import Scope


def oracle_union(operator: Union, scope: Scope) -> dict[str, DataFrame]:
    """Return the rows of all inputs; columns are matched by name."""
    return {operator.name: reduce(DataFrame.unionByName, (scope.streams[name] for name in operator.inputs))}
