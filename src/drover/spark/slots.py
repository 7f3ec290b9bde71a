"""How many tasks Spark can run at once, and what it offers a run.

Rule 1: a local master has the same slots from its start to its end.
Rule 2: slots on this machine share its cores. Elsewhere, a slot is taken for a core, as Spark itself does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from pyspark.sql import SparkSession

from drover.errors import ExpressionError
from drover.load.slot_offer import SlotOffer
from drover.network.durations import parse_duration


def has_fixed_slots(master: str) -> bool:
    """Return whether a master has the same slots from its start to its end."""
    return master.startswith("local[") or master == "local"


def slot_offer(spark: SparkSession, trigger: Mapping[str, Any] | None) -> Callable[[], SlotOffer]:
    """Return a function that says what Spark offers a run now; `trigger` has the arguments of Spark's own."""
    seconds = trigger_seconds(trigger)
    context: Any = spark.sparkContext  # Any: Spark's own objects behind it have no types
    on_this_machine = context.master.startswith("local")
    most = cores_here() if on_this_machine else None

    def offer() -> SlotOffer:
        there = task_slots(spark)
        return SlotOffer(there, there if most is None else min(there, most), seconds)

    return cache(offer) if has_fixed_slots(context.master) else offer


def cores_here() -> int:
    """Return the cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def trigger_seconds(trigger: Mapping[str, Any] | None) -> float | None:  # Any: as Spark takes it
    """Return the seconds from the start of a batch to the start of the next; None if batches follow without a pause.

    >>> trigger_seconds({"processingTime": "500 milliseconds"})
    0.5
    """
    given = (trigger or {}).get("processingTime")
    if not isinstance(given, str):
        return None
    try:
        return timedelta(microseconds=parse_duration(given)).total_seconds() or None
    except ExpressionError:
        return None  # Spark also takes intervals such as `INTERVAL 1 MONTH`; no batch is too long for these


def task_slots(spark: SparkSession) -> int:
    """Return how many tasks Spark can run at once now."""
    context: Any = spark.sparkContext  # Any: as above
    scala = context._jsc.sc()
    # Not the default parallelism: that is a setting, and says nothing about slots.
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))
