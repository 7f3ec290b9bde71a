"""Closing windows while no rows arrive.

Spark runs a batch without rows when the watermark has moved and no data follow, so that results need not wait for the
next row. Spark does not see drover's windows, so drover runs such batches itself. Spark's own setting switches both.

Rule 1: windows close only after Spark has looked for rows and found none.
Rule 2: the driver decides whether there is anything to close, and runs the batch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from drover.spark.driver import Driver

SWITCH: Final = "spark.sql.streaming.noDataMicroBatches.enabled"
PAUSE: Final = 0.2  # seconds between two checks of a query that has windows to close


def close_when_idle(spark: SparkSession, query: StreamingQuery, driver: Driver) -> None:
    """Start a thread that closes windows whenever the query waits for rows, unless Spark's setting says not to."""
    if (spark.conf.get(SWITCH, "true") or "").lower() == "true":
        threading.Thread(target=_watch, args=(spark, query, driver), name="drover idle", daemon=True).start()


def _watch(spark: SparkSession, query: StreamingQuery, driver: Driver) -> None:
    while driver.wait_for_windows():
        try:
            # Rows that are on their way may still belong to the windows, so Spark must have found none (rule 1).
            if waits(query.status):
                driver.close_windows(spark)
        except (Py4JError, ConnectionError):  # Java has ended
            return
        except Exception:  # noqa: BLE001 - the driver keeps any error, and `awaitTermination` raises it
            query.stop()
            return
        time.sleep(PAUSE)


def waits(status: Mapping[str, Any]) -> bool:
    """Return whether a query has looked for rows and found none; before its first look it is initializing."""
    return str(status["message"]).startswith("Waiting") and not (status["isDataAvailable"] or status["isTriggerActive"])
