"""Computing independent rows on Spark: a function of one row, spread over the cluster.

Rule 1: results come in the order of the rows. Rule 2: the function is found by name on every worker, so it belongs to
a module that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from pyspark.sql import SparkSession

In = TypeVar("In")
Out = TypeVar("Out")

WAVE: Final = 4  # rows per core and job: between jobs, whoever waits hears how far it is


def sweep(spark: SparkSession, measure: Callable[[In], Out], rows: Sequence[In]) -> Iterator[Out]:
    """Yield what `measure` makes of each row, wave by wave."""
    context = spark.sparkContext
    cores = context.defaultParallelism
    wave = WAVE * cores
    # Many rows take few waves, or starting jobs would take longer than the rows.
    wave = max(wave, len(rows) // 50)
    for start in range(0, len(rows), wave):
        part = rows[start : start + wave]
        yield from context.parallelize(part, min(cores, len(part))).map(measure).collect()


def sweep_on(spark: SparkSession) -> Callable[[Callable[[In], Out], Sequence[In]], Iterator[Out]]:
    """Return `sweep` on a session."""
    return lambda measure, rows: sweep(spark, measure, rows)
