"""What a user-defined operator means, in plain Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.operators import UserDefined
from drover.network.types import spark_type
from drover.spark.functions import UserFunctionCaller
from drover.spark.oracle.scope import ARRIVAL, Scope, never_late, on_time


def oracle_user(operator: UserDefined, scope: Scope) -> dict[str, DataFrame]:
    """Return what the user's function makes of the rows: of each batch, or, if it keeps state, of all in order."""
    input_schema = scope.schema(operator.input)
    call = UserFunctionCaller(operator, input_schema)
    schema = ", ".join(f"`{column.name}` {spark_type(column.type)}" for column in operator.columns)
    frame = scope.streams[operator.input]
    if not operator.keeps_state:

        def each(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
            made = call.batch(table)
            return made.append_column(ARRIVAL, pa.array([key[0].as_py()] * made.num_rows, pa.int32()))

        return {operator.name: frame.groupBy(f"`{ARRIVAL}`").applyInArrow(each, f"{schema}, `{ARRIVAL}` int")}
    # The function gets rows in order of event time, so a row waits until the watermark has passed it.
    micros = F.unix_micros(f"`{input_schema.time}`")
    ready = on_time(frame, micros, scope.closed(operator)).where(micros <= F.lit(scope.watermark(operator)))

    # Not `call.whole` itself: Spark would count `self` as a parameter, and pass the group's key as well.
    def whole(table: pa.Table) -> pa.Table:
        return call.whole(table)

    return {operator.name: ready.groupBy().applyInArrow(whole, schema).withColumn(ARRIVAL, never_late())}
