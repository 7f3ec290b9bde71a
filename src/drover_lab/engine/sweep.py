"""Computes the rows of an experiment on Spark: a function of one row, distributed over the cluster.

Rule 1: results have the order of the rows. Rule 2: workers import the function by name, so it must belong to a module
that is installed on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from pyspark.sql import SparkSession

In = TypeVar("In")
Out = TypeVar("Out")

WAVE: Final = 4  # rows per core and job; progress is reported between jobs


def sweep(spark: SparkSession, measure: Callable[[In], Out], rows: Sequence[In]) -> Iterator[Out]:
    """Yield the result of `measure` for each row; a wave of rows is one Spark job."""
    context = spark.sparkContext
    cores = context.defaultParallelism
    wave = WAVE * cores
    # At most about 50 waves: with more, starting jobs would take longer than computing the rows.
    wave = max(wave, len(rows) // 50)
    for start in range(0, len(rows), wave):
        part = rows[start : start + wave]
        yield from context.parallelize(part, min(cores, len(part))).map(measure).collect()


def sweep_on(spark: SparkSession) -> Callable[[Callable[[In], Out], Sequence[In]], Iterator[Out]]:
    """Return `sweep` bound to a session."""
    return lambda measure, rows: sweep(spark, measure, rows)
