"""Both engines side by side: compute many expressions on a frame and compare every bit.

Rule 1: values are equal if Polars says so (NaN equals NaN, -0.0 equals 0.0) and their types are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from drover.network.expressions import parse, to_polars, to_spark
from drover.network.expressions.literals import quote_name
from drover.network.types import BIGINT, DataType, polars_type, spark_type


@dataclass(frozen=True)
class Mismatch:
    """One value on which the engines disagree."""

    text: str
    sql: str
    row: Mapping[str, object]
    polars: object
    spark: object

    def __str__(self) -> str:
        used = {name: value for name, value in self.row.items() if name in self.text}
        return f"{self.text}\n  on {used}\n  Polars {self.polars!r}, Spark {self.spark!r}\n  {self.sql}"


def spark_frame(spark: SparkSession, frame: pl.DataFrame, columns: Mapping[str, DataType]) -> DataFrame:
    """Return `frame` in Spark; without the schema, Spark would read timestamp_ntz as timestamp."""
    schema = ", ".join(f"{quote_name(name)} {spark_type(data_type)}" for name, data_type in columns.items())
    return spark.createDataFrame(frame.select(*columns).to_arrow(), schema)


def spark_select(
    spark: SparkSession, frame: pl.DataFrame, columns: Mapping[str, DataType], expressions: Sequence[str]
) -> pl.DataFrame:
    """Return the values of SQL `expressions` on `frame`, in its order of rows."""
    numbered = frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row number"))
    table = spark_frame(spark, numbered, {**columns, "row number": BIGINT})
    chosen = table.selectExpr("`row number`", *(f"{sql} AS `{i}`" for i, sql in enumerate(expressions)))
    result = pl.from_arrow(chosen.toArrow())
    assert isinstance(result, pl.DataFrame)
    return result.sort("row number").drop("row number")


def compare(
    spark: SparkSession, frame: pl.DataFrame, columns: Mapping[str, DataType], texts: Sequence[str]
) -> list[Mismatch]:
    """Return where Polars and Spark differ on `texts`."""
    trees = [parse(text, columns) for text in texts]
    sqls = [to_spark(tree) for tree in trees]
    theirs = spark_select(spark, frame, columns, sqls)
    ours = frame.select(
        pl.int_range(pl.len()).alias("_"),
        *(to_polars(tree).alias(str(i)) for i, tree in enumerate(trees)),
    )
    found = []
    for i, (text, tree) in enumerate(zip(texts, trees, strict=True)):
        a = ours[str(i)]
        b = theirs[str(i)]
        assert a.dtype == polars_type(tree.type), f"{text} is {a.dtype} in Polars, not {tree.type}"
        assert b.dtype == polars_type(tree.type), f"{text} is {b.dtype} in Spark, not {tree.type}: {sqls[i]}"
        wrong = (~a.eq_missing(b)).arg_true()
        if len(wrong):
            at = int(wrong[0])
            found.append(Mismatch(text, sqls[i], frame.row(at, named=True), a[at], b[at]))
    return found
