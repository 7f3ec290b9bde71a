"""What a switch means, in plain Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.operators import Switch
from drover.spark.oracle.scope import Scope, scalar


def oracle_switch(operator: Switch, scope: Scope) -> dict[str, DataFrame]:
    """Return the rows of each branch: those of the first case that is true, and what is left."""
    schema = scope.schema(operator.input)
    streams = {}
    left = F.lit(True)
    for case in operator.cases:
        holds = F.coalesce(scalar(case.expression, schema), F.lit(False))
        streams[f"{operator.name}.{case.name}"] = scope.streams[operator.input].where(left & holds)
        left = left & ~holds
    if operator.rest is not None:
        streams[f"{operator.name}.{operator.rest}"] = scope.streams[operator.input].where(left)
    return streams
