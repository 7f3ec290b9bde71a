"""How many executors Spark has now, and how many tasks they can run at once.

When Spark loses executors, drover closes nodes until new ones arrive.

Rule 1: a local master cannot lose executors, and gets no more slots than it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def slots(spark: SparkSession) -> Callable[[], int] | None:
    """Return a function that counts Spark's executors, or None if they cannot be lost."""
    context: Any = spark.sparkContext  # Any: Spark's own objects behind it have no types
    if has_fixed_slots(context.master):
        return None
    scala = context._jsc.sc()

    def count() -> int:
        return int(scala.getExecutorMemoryStatus().size()) - 1  # the driver is among them

    return count


def has_fixed_slots(master: str) -> bool:
    """Return whether a master has the same slots from its start to its end."""
    return master.startswith("local[") or master == "local"


def task_slots(spark: SparkSession) -> int:
    """Return how many tasks Spark can run at once now."""
    context: Any = spark.sparkContext  # Any: as above
    scala = context._jsc.sc()
    # Not the default parallelism: that is a setting, and says nothing about slots.
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))
