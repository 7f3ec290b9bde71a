"""One operator as Spark batch operations; the parts of the oracle.

Rule 1: what an operator means is written here once more, in Spark's words, independent of the data plane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.durations import Micros
from drover.network.expressions import aggregate_to_spark, parse, parse_aggregate, parse_pair, to_spark
from drover.network.model import Network
from drover.network.operators import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
    Filter,
    Join,
    Map,
    Operator,
    Switch,
    Synthetic,
    Table,
    TableRead,
    Union,
    UserDefined,
)
from drover.network.schema import Schema
from drover.network.types import spark_type
from drover.spark.functions import Caller

# In which micro-batch a row arrived. No column has a space in its name, and a dot would break applyInArrow.
ARRIVAL: Final = "drover batch"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a compiler may look at: the network, its streams so far, the given tables, each operator's watermarks.

    Every stream has the column ARRIVAL beside its own: NULL for rows that cannot be late, because they were made when a
    window closed or a pair was found.
    """

    network: Network
    streams: Mapping[str, DataFrame]
    tables: Mapping[str, DataFrame]
    watermark: Callable[[Operator], Micros]  # after the last row, in microseconds since 1970
    late: Callable[[Operator], Sequence[Micros]]  # per batch: what had closed before it

    def schema(self, stream: str) -> Schema:
        """Return the schema of a stream."""
        return self.network.streams[stream]

    def closed(self, operator: Operator) -> Column:
        """Return how far the operator's watermark had come before a row's batch, in microseconds; NULL if never."""
        batches = F.array(*(F.lit(micros).cast("bigint") for micros in self.late(operator)))
        return F.try_element_at(batches, F.col(f"`{ARRIVAL}`") + 1)


def on_time(rows: DataFrame, micros: Column, closed: Column) -> DataFrame:
    """Return the rows whose `micros` is after what had closed when they arrived."""
    return rows.where(F.coalesce(micros > closed, F.lit(True)))


def never_late() -> Column:
    """Return the ARRIVAL of rows that cannot be late."""
    return F.lit(None).cast("int").alias(ARRIVAL)


def scalar(text: str, schema: Schema) -> Column:
    """Return a SQL expression over the columns of `schema` as a Spark column."""
    return F.expr(to_spark(parse(text, schema.types)))


def compile_filter(operator: Filter, scope: Scope) -> DataFrame:
    """Return the rows for which the predicate is true."""
    return scope.streams[operator.input].where(scalar(operator.where, scope.schema(operator.input)))


def compile_switch(operator: Switch, scope: Scope) -> dict[str, DataFrame]:
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


def compile_map(operator: Map, scope: Scope) -> DataFrame:
    """Return the computed columns."""
    schema = scope.schema(operator.input)
    return scope.streams[operator.input].select(
        *(scalar(named.expression, schema).alias(named.name) for named in operator.full_select(schema)), f"`{ARRIVAL}`"
    )


def compile_union(operator: Union, scope: Scope) -> DataFrame:
    """Return the rows of all inputs, columns by name."""
    return reduce(DataFrame.unionByName, (scope.streams[name] for name in operator.inputs))


def compile_aggregate(operator: Aggregate, scope: Scope) -> DataFrame:
    """Return one row per group and window that the watermark has closed."""
    schema = scope.schema(operator.input)
    time = schema.time or ""
    window = F.window(f"`{time}`", f"{operator.size} microseconds", f"{operator.advance} microseconds")
    rows = scope.streams[operator.input]
    micros = F.unix_micros(f"`{time}`")
    if operator.timeout is not None:  # an earlier row could reopen a window that has timed out
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
    return closed.select(
        F.col("`drover.window`.start").alias(WINDOW_START),
        end.alias(WINDOW_END),
        F.timestamp_micros(F.unix_micros(end) - 1).alias(WINDOW_TIME),
        *(f"`{name}`" for name in operator.group_by),
        *(f"`{named.name}`" for named in operator.compute),
        never_late(),
    )


def compile_join(operator: Join, scope: Scope) -> DataFrame:
    """Return every pair that is close in time, equal in its keys and fits the predicate."""
    left, right = (scope.schema(name) for name in operator.inputs)
    t1, t2 = f"left.`{left.time}`", f"right.`{right.time}`"
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
    return pairs.select(
        F.greatest(F.col(t1), F.col(t2)).alias(left.time or ""),
        *(
            F.expr(to_spark(parse_pair(named.expression, left.types, right.types))).alias(named.name)
            for named in operator.full_select(left, right)
        ),
        never_late(),
    )


def compile_table_read(operator: TableRead, scope: Scope) -> DataFrame:
    """Return the rows with the columns of the table's row of the same key."""
    condition = reduce(
        Column.__and__, (F.col(f"s.`{pair.left}`") == F.col(f"t.`{pair.right}`") for pair in operator.on)
    )
    how = "inner" if operator.drop_unmatched else "left"
    table = scope.tables[operator.from_table]
    joined = scope.streams[operator.input].alias("s").join(table.alias("t"), condition, how)
    kept = (*scope.schema(operator.input).names, ARRIVAL)
    return joined.select(*(f"s.`{name}`" for name in kept), *(f"t.`{name}`" for name in operator.columns))


def upserted(table: Table, initial: DataFrame | None, writes: Sequence[tuple[str, DataFrame]]) -> DataFrame:
    """Return the table's final rows: per key the one with the latest event time, of equal ones the greatest.

    `writes` has, for each stream written into it, the stream's event-time column and its rows.
    """
    columns = [f"`{name}`" for name in table.schema.names]
    (time,) = {time for time, _ in writes}
    parts = [rows.select(*columns) for _, rows in writes]
    if initial is not None:
        parts.append(initial.select(*columns))
    rest = [name for name in table.schema.names if name not in table.key and name != time]
    order = F.struct(*(f"`{name}`" for name in (time, *rest)))
    best = (
        reduce(DataFrame.unionByName, parts)
        .groupBy(*(f"`{name}`" for name in table.key))
        .agg(F.max(order).alias("drover.row"))
    )
    value = {
        name: F.col(f"`{name}`") if name in table.key else F.col(f"`drover.row`.`{name}`")
        for name in table.schema.names
    }
    return best.select(*(column.alias(name) for name, column in value.items()))


def compile_synthetic(operator: Synthetic, scope: Scope) -> DataFrame:
    """Return each row as often as the operator's hash says; its cost is not spent."""
    schema = scope.schema(operator.input)
    copies = scalar(operator.copies(schema.time or ""), schema)
    repeated = scope.streams[operator.input].withColumn("drover.copies", F.array_repeat(F.lit(0), copies))
    names = [f"`{name}`" for name in (*schema.names, ARRIVAL)]
    return repeated.select(*names, F.explode("`drover.copies`").alias("drover.copy")).select(*names)


def compile_user_defined(operator: UserDefined, scope: Scope) -> DataFrame:
    """Return what the user's function makes of the rows: of each batch, or, if it keeps state, of all in order."""
    input_schema = scope.schema(operator.input)
    call = Caller(operator, input_schema)
    schema = ", ".join(f"`{column.name}` {spark_type(column.type)}" for column in operator.columns)
    frame = scope.streams[operator.input]
    if not operator.keeps_state:

        def each(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
            made = call.batch(table)
            return made.append_column(ARRIVAL, pa.array([key[0].as_py()] * made.num_rows, pa.int32()))

        return frame.groupBy(f"`{ARRIVAL}`").applyInArrow(each, f"{schema}, `{ARRIVAL}` int")
    # It gets rows in order of event time, so a row waits until the watermark has passed it.
    micros = F.unix_micros(f"`{input_schema.time}`")
    ready = on_time(frame, micros, scope.closed(operator)).where(micros <= F.lit(scope.watermark(operator)))

    # Not `call.whole` itself: Spark would take its `self` for a wish to see the group's key.
    def whole(table: pa.Table) -> pa.Table:
        return call.whole(table)

    return ready.groupBy().applyInArrow(whole, schema).withColumn(ARRIVAL, never_late())


# A row per kind with one output; switch and table write, which have several and none, are called by name.
COMPILERS: Final[Mapping[str, Callable[[Any, Scope], DataFrame]]] = {  # Any: each takes its own kind of operator
    Filter.kind: compile_filter,
    Map.kind: compile_map,
    Union.kind: compile_union,
    Aggregate.kind: compile_aggregate,
    Join.kind: compile_join,
    TableRead.kind: compile_table_read,
    UserDefined.kind: compile_user_defined,
    Synthetic.kind: compile_synthetic,
}
