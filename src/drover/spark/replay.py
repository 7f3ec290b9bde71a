"""Replay: the rows of a file or a batch DataFrame as a stream, in order of time, for demos and tests.

Rule 1: an offset is a number of rows in one fixed order: time first, then all other columns. So a batch is a slice, the
same on every attempt, and a restart continues with the next row.
Rule 2: only the driver needs the rows as a file; a batch carries its slice to the executors.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from drover.errors import DroverError
from drover.runs.formats import SOURCE_FORMATS
from drover.spark.csv_header import check_header
from drover.spark.daemon import silence_broken_pipe

silence_broken_pipe(sys.modules["__main__"])

FORMAT: Final = "drover-replay"
ROWS_PER_TASK: Final = 100_000
FORMATS: Final = {suffix: one.name for one in SOURCE_FORMATS.values() for suffix in one.suffixes}
ENDLESS: Final = np.iinfo(np.int64).max  # a row without a time comes last


def replay(
    spark: SparkSession,
    rows: DataFrame | str | Path,
    *,
    time: str,
    speed: float | None = None,
    batches: int = 1,
    start: datetime | None = None,
    schema: str | StructType | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return a streaming DataFrame that replays rows in the order of their column `time`.

    `rows` is a batch DataFrame, or the path of a CSV, JSON, Parquet or ORC file or folder, which may be compressed;
    `schema` and `options` are for its reader. `speed` is a multiple of real time: at 60, an hour passes in a minute.
    Time begins with the first row, or with `start`, if several replays must run in step. Without `speed`, rows come as
    fast as the query takes them, in `batches` of equal size. A query with trigger availableNow takes all rows at once.
    """
    if speed is not None and not speed > 0:
        raise DroverError(f"speed is {speed}, but must be above 0. Give 60 for an hour per minute, None for no wait.")
    if batches < 1:
        raise DroverError(f"batches is {batches}, but there must be at least one. Give 1 or more.")
    frame = rows if isinstance(rows, DataFrame) else _read(spark, str(rows), schema, options or {})
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    if kinds.get(time) != "timestamp":
        raise DroverError(
            f"time is {time!r}, but must be a column of type timestamp; there are "
            f"{', '.join(f'{name} {kind}' for name, kind in kinds.items())}. Name one, or cast it first."
        )
    path = _store(frame, time)
    spark.dataSource.register(Replay)
    reader = spark.readStream.format(FORMAT).schema(frame.schema).option("file", path).option("time", time)
    reader = reader.option("batches", str(batches))
    if speed is not None:
        reader = reader.option("speed", repr(float(speed)))
    if start is not None:
        reader = reader.option("start", repr(start.timestamp()))
    return reader.load()


def _read(spark: SparkSession, path: str, schema: str | StructType | None, options: Mapping[str, str]) -> DataFrame:
    kind = next((FORMATS[suffix] for suffix in Path(path).suffixes if suffix in FORMATS), None)
    if kind is None:
        raise DroverError(
            f"rows is {path!r}, but its name must end in one of {', '.join(FORMATS)}, perhaps with .gz behind it. "
            "Rename it, or pass a DataFrame."
        )
    reader = spark.read.format(kind).options(**options)
    frame = (reader.schema(schema) if schema is not None else reader).load(path)
    if schema is not None:
        check_header(kind, path, options, frame.columns)
    return frame


@cache
def _folder() -> Path:
    """Return the folder of this process's replays, which is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="drover-replay-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _store(frame: DataFrame, time: str) -> str:
    """Write the rows in their order to a file that can be mapped into memory, and return its path."""
    # All columns take part in the order, so that it does not depend on how Spark read the file (rule 1).
    others = [name for name in frame.columns if name != time]
    table = frame.toArrow().sort_by([(name, "ascending") for name in (time, *others)]).combine_chunks()
    descriptor, path = tempfile.mkstemp(suffix=".arrow", dir=_folder())
    with os.fdopen(descriptor, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


class Slice(InputPartition):
    """The rows of one task, as an Arrow IPC stream."""

    def __init__(self, rows: bytes) -> None:
        self.rows = rows


class Replay(DataSource):
    """Spark's view of a replay; only `replay` makes its options."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return FORMAT

    def streamReader(self, schema: StructType) -> Reader:  # noqa: N802, ARG002 - Spark's name and signature
        """Return the reader of a query."""
        return Reader(self.options)


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Tells Spark how many rows are due, and reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.table = pa.ipc.open_file(pa.memory_map(options["file"])).read_all()
        self.micros = _micros(self.table[options["time"]])
        self.speed = float(options["speed"]) if "speed" in options else None
        self.batches = int(options["batches"])
        self.start = float(options["start"]) * 1e6 if "start" in options else None
        self.first: int | None = None  # row that this query began with
        self.origin: tuple[float, float] | None = None  # a time of this clock, and the event time at that moment

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the offset before the first row."""
        return {"row": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Ignore the speed: all rows are available."""
        self.speed = None

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802, ARG002 - as above
        """Return the number of rows that are due."""
        done = start["row"]
        count = len(self.micros)
        if done >= count:
            return start
        if self.speed is None:
            return {"row": next(cut for k in range(1, self.batches + 1) if (cut := count * k // self.batches) > done)}
        if self.first is None:
            self.first = done
        if done == self.first:
            # The first batch of a query takes seconds, until workers have started. It gets one row, and time begins
            # after it.
            return {"row": done + 1}
        if self.origin is None:
            begin = self.start if self.first == 0 and self.start is not None else float(self.micros[self.first])
            self.origin = (clock.monotonic(), begin)
        since, begin = self.origin
        reached = begin + (clock.monotonic() - since) * self.speed * 1e6
        # With a `start` before the first row, no row is due for a while, but an offset must not go back.
        return {"row": max(done, int(np.searchsorted(self.micros, reached, side="right")))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Slice]:
        """Return the rows of a batch, divided into tasks."""
        return [
            Slice(_packed(self.table.slice(first, min(ROWS_PER_TASK, end["row"] - first))))
            for first in range(start["row"], end["row"], ROWS_PER_TASK)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:  # Any: pyarrow ships no types
        """Yield the rows of a task."""
        assert isinstance(partition, Slice)
        yield from pa.ipc.open_stream(partition.rows)

    def stop(self) -> None:
        """End silently: if the query has closed the connection, Spark's runner would print a traceback."""
        if isinstance(sys.exc_info()[1], EOFError):
            sys.excepthook = lambda *_: None

    def __reduce__(self) -> tuple[type[_TaskReader], tuple[()]]:
        """Travel to the executors without the rows: each slice has its own."""
        return (_TaskReader, ())


class _TaskReader(Reader):
    """The part of a reader that a task needs."""

    def __init__(self) -> None:
        pass


def _packed(rows: Any) -> bytes:  # Any: pyarrow ships no types
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _micros(column: Any) -> NDArray[np.int64]:  # Any: pyarrow ships no types
    """Return a sorted column of timestamps as microseconds since 1970, NULL as the end of time."""
    whole = column.combine_chunks().cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return np.asarray(whole.fill_null(ENDLESS).to_numpy(zero_copy_only=False), dtype=np.int64)
