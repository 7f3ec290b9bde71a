"""A Spark session with the settings drover relies on.

Rule 1: every setting has a reason beside it, and every one can be overridden by the caller.
Rule 2: in normal use Spark writes nothing on the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from drover.spark import java

LOG_SETTINGS: Final = Path(__file__).with_name("log4j2.properties")
DRIVER_OPTIONS: Final = "spark.driver.extraJavaOptions"

SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",  # instants print and parse alike on every machine
    "spark.sql.execution.arrow.pyspark.enabled": "true",  # rows cross between Java and Python as Arrow
    "spark.sql.shuffle.partitions": "4",  # a micro-batch is small: each further task costs more than it saves
    # Workers give memory back when it is freed: the worker of a join window of 5 million rows then grows by 3.2 times
    # the size of its rows instead of 4. Polars could do so, too (docs/benchmarks.md says how), but at a price.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "1",
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": "1000000",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a node is one core; more threads would spoil its measured busy time
    # Any other limit makes Spark add up the size of a whole Arrow batch at every row: half the time of sending rows to
    # Python. The number of records bounds a batch instead: 4,000 frames of at most 256 kB are 1 GB.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    # Files of streaming queries on a local disk without a second file for the checksum of each: Hadoop starts a process
    # for the rights of every file, 75 ms per batch with both.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # Over TCP a task's first rows wait for a delayed acknowledgement: 40 ms per Python stage and batch.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "drover.spark.daemon",  # ends without tracebacks, as it did over TCP
    "spark.driver.memory": "2g",  # with a local master the driver does the work; Spark's default is 1g
    "spark.ui.enabled": "false",  # saves a port and half a second
    "spark.ui.showConsoleProgress": "false",
}
# Nothing outside this machine needs to reach a local driver, and no name lookup can then go wrong.
LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def settings(name: str, master: str, config: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole configuration of a session; what `config` says wins."""
    merged = {"spark.app.name": name, "spark.master": master, **SETTINGS}
    if master.startswith("local"):
        merged |= LOCAL_SETTINGS
    merged |= config or {}
    quiet = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"
    merged[DRIVER_OPTIONS] = f"{quiet} {merged.get(DRIVER_OPTIONS, '')}".strip()  # Java takes the last of two
    return merged


def session(name: str = "drover", master: str = "local[*]", config: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running Spark session, or start one with drover's settings and `config` on top of them."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # set by spark-submit, which has started Java already
        java.prepare(os.environ)
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need the very packages the driver has
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for key, value in settings(name, master, config).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
