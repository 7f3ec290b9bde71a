"""One operator as the oracle sees it: small streams as DataFrames, with given watermarks, and one job per question.

Times are seconds since 1970 throughout, so that a case can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import drover
from drover.network.build import Stream
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.types import INT, DataType, polars_type
from drover.spark.oracle import ORACLES
from drover.spark.oracle.scope import ARRIVAL, Scope
from tests.flow.operators.batches import INSTANT, SECOND, cells
from tests.flow.oracle import collect, small_jobs

Row = tuple[Any, ...]  # Any: cells of every type
COLUMNS: Final = {"ts": "timestamp", "k": "string", "v": "bigint"}


def one_source(make: Callable[[Stream], Stream | dict[str, Stream]]) -> Network:
    """Return a network of the source `s` and what `make` adds to it; all that is added is an output."""
    net = drover.Builder("n")
    made = make(net.source("s", COLUMNS, time="ts"))
    for stream in made.values() if isinstance(made, dict) else (made,):
        stream.output()
    return net.build()


def frame(spark: SparkSession, types: Mapping[str, DataType], rows: Iterable[Row]) -> DataFrame:
    """Return rows as a DataFrame; times are seconds."""
    schema = {name: polars_type(kind) for name, kind in types.items()}
    times = [name for name, kind in schema.items() if kind == INSTANT]
    given = pl.DataFrame(list(rows), schema=schema | dict.fromkeys(times, pl.Float64()), orient="row")
    micros = given.with_columns((pl.col(name) * SECOND).round().cast(pl.Int64).cast(INSTANT) for name in times)
    return spark.createDataFrame(micros.to_arrow())


def scope_of(
    spark: SparkSession,
    network: Network,
    streams: Mapping[str, Iterable[Row]],
    *,
    tables: Mapping[str, DataFrame] | None = None,
    watermark: float = 0,
    late: Sequence[float | None] = (),
) -> Scope:
    """Return the scope of an operator; the last cell of each row is the batch in which it arrived, from 0 on.

    `late` has the watermark at which rows are late, per batch.
    """
    given = {}
    for stream, rows in streams.items():
        types = {**network.streams[stream].types, ARRIVAL: INT}
        given[stream] = frame(spark, types, rows)

    def passed(_: Operator) -> list[int]:
        return [-(2**62) if one is None else round(one * SECOND) for one in late]

    return Scope(network, given, tables or {}, lambda _: round(watermark * SECOND), passed)


def run(scope: Scope, *names: str) -> dict[str, list[Row]]:
    """Return the rows of operators' streams, in order, without their ARRIVAL; all of them with one job."""
    made: dict[str, DataFrame] = {}
    for operator in scope.network.operators:
        if not names or operator.name in names:
            made |= ORACLES[operator.kind](operator, scope)
    (session,) = {one.sparkSession for one in made.values()}
    with small_jobs(session):
        found = collect(made, list(made))
    return {
        stream: sorted(cells(rows.drop(ARRIVAL)), key=lambda row: [str(cell) for cell in row])
        for stream, rows in found.items()
    }
