"""How many executors Spark has now. When it loses some, drover closes nodes until new ones arrive.

Rule 1: a local master cannot lose executors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def slots(spark: SparkSession) -> Callable[[], int] | None:
    """Return a function that counts Spark's executors, or None if they cannot be lost."""
    context: Any = spark.sparkContext  # Any: Spark's own objects behind it have no types
    if context.master.startswith("local[") or context.master == "local":
        return None
    scala = context._jsc.sc()

    def count() -> int:
        return int(scala.getExecutorMemoryStatus().size()) - 1  # the driver is among them

    return count
