"""A Spark session with the settings that drover needs.

Rule 1: every setting has its reason beside it, and the caller can override each one.
Rule 2: in normal use Spark prints nothing on the terminal.
"""

from __future__ import annotations

import contextlib
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
    "spark.sql.session.timeZone": "UTC",  # timestamps print and parse the same on every machine
    "spark.sql.execution.arrow.pyspark.enabled": "true",  # rows cross between Java and Python as Arrow
    "spark.sql.shuffle.partitions": "4",  # a micro-batch is small: each further task costs more than it saves
    # Workers return freed memory to the system: with a join window of 5 million rows, a worker grows by 3.2 times the
    # size of its rows instead of 4. Polars could do this, too, but at a price: see docs/explanation/performance.md.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "1",
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": "1000000",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a node is one core; more threads would spoil its measured busy time
    # With any other limit, Spark adds up the size of a whole Arrow batch at every row: half the time of sending rows to
    # Python. So the number of records limits a batch: 4,000 frames of at most 256 kB are 1 GB.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4000",
    # Spark's logs on a local disk: through Hadoop's other interface, a process is started to set the permissions of
    # every file, and by default there is a second file with a checksum for each. Together they take 75 ms per batch.
    # This way, too, a file is written under another name and renamed; drover's commits have digests of these logs.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # Over TCP, the first rows of a task wait for a delayed acknowledgement: 40 ms per Python stage and batch.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "drover.spark.daemon",  # ends without tracebacks, as over TCP
    "spark.driver.memory": "2g",  # with a local master the driver does the work; Spark's default is 1g
    "spark.ui.enabled": "false",  # saves a port and half a second
    "spark.ui.showConsoleProgress": "false",
}
# No other machine needs to reach a local driver, and without a host name no lookup can fail.
LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def settings(name: str, master: str, config: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole configuration of a session; `config` overrides drover's settings."""
    merged = {"spark.app.name": name, "spark.master": master, **SETTINGS}
    if master.startswith("local"):
        merged |= LOCAL_SETTINGS
    merged |= config or {}
    quiet = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"
    merged[DRIVER_OPTIONS] = (
        f"{quiet} {merged.get(DRIVER_OPTIONS, '')}".strip()
    )  # of two equal options, Java takes the last
    return merged


def session(name: str = "drover", master: str = "local[*]", config: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running Spark session, or start one with drover's settings, overridden by `config`."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # set by spark-submit, which has started Java already
        java.prepare(os.environ)
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need the same packages as the driver
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for key, value in settings(name, master, config).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def stop(spark: SparkSession) -> None:
    """Stop a session; if its Java process has ended, there is nothing left to stop."""
    with contextlib.suppress(ConnectionError):
        spark.stop()
