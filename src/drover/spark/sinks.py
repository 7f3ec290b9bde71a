"""Sinks: where the rows of an output go, batch by batch.

Rule 1: a sink may be given a batch twice, with the same rows, after a crash: writing it twice must leave what writing
it once does. Rule 2: the batch is computed once, whatever the number of sinks.
Rule 3: results of submitted queries come as one table for all queries with the same columns, the name of the query in
the first; a sink that keeps tables apart says how by `for_table`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, Final, Protocol, runtime_checkable

import polars as pl
from pyarrow.parquet import ParquetWriter
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError

FORMATS: Final = ("parquet", "json", "csv")
LARGE: Final = 64 << 20  # bytes of a batch that are not written in one piece
PIECE: Final = 500_000  # rows of one, then
QUERY: Final = "query"  # the first column of results of submitted queries


class Sink(Protocol):
    """Takes the rows of one output stream, batch by batch; batches without rows are left out."""

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Take the rows of a batch."""
        ...


@runtime_checkable
class Tabled(Protocol):
    """A sink that keeps tables apart."""

    def for_table(self, name: str) -> Sink:
        """Return the sink of one table."""
        ...


def for_table(sink: Sink, name: str) -> Sink:
    """Return what takes the rows of one table: the sink itself, if it does not keep them apart."""
    return sink.for_table(name) if isinstance(sink, Tabled) else sink


def write_parquet(rows: pl.DataFrame, file: IO[bytes], large: int = LARGE, piece: int = PIECE) -> None:
    """Write rows as Parquet; many of them piece by piece, because Polars would copy them all before it writes any."""
    if rows.estimated_size() <= large:
        rows.write_parquet(file)
        return
    # As in frames, strings must not bring along the buffers of all rows.
    tables = (each.to_arrow(compat_level=pl.CompatLevel.oldest()) for each in rows.iter_slices(piece))
    first = next(tables)
    with ParquetWriter(file, first.schema, compression="zstd") as writer:
        for table in chain([first], tables):
            writer.write_table(table)


@dataclass(frozen=True, slots=True)
class Files:
    """Writes each batch as one file, `<folder>/<batch>.<format>`: complete or absent, and the same on a replay."""

    folder: str
    format: str = "parquet"

    def __post_init__(self) -> None:
        """Refuse an unknown format."""
        if self.format not in FORMATS:
            raise DroverError(f"format is {self.format!r}, but must be one of {', '.join(FORMATS)}. Choose one.")

    def for_table(self, name: str) -> Files:
        """Return a sink that writes into a folder below."""
        return replace(self, folder=str(Path(self.folder) / name))

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Write the batch under a temporary name, make it durable, and give it its name."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        final = folder / f"{batch:012}.{self.format}"
        aside = folder / f".{final.name}.tmp"
        with aside.open("wb") as file:
            match self.format:
                case "parquet":
                    write_parquet(rows, file)
                case "json":
                    rows.write_ndjson(file)
                case _:
                    rows.write_csv(file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(final)
        # The name, too, must survive a power cut: once the batch is committed, nobody writes the file again.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class Memory:
    """Keeps all rows in the driver's memory, for tests and for a look."""

    batches: dict[int, pl.DataFrame] = field(default_factory=dict)
    tables: dict[str, Memory] = field(default_factory=dict)  # of submitted queries

    def for_table(self, name: str) -> Memory:
        """Return what keeps the rows of one table."""
        return self.tables.setdefault(name, Memory())

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the batch."""
        self.batches[batch] = rows

    def rows(self, query: str | None = None) -> pl.DataFrame:
        """Return all rows so far: of an output, or (without its name) those of one submitted query."""
        if query is None:
            kept = [self.batches[batch] for batch in sorted(self.batches)]
            return pl.concat(kept) if kept else pl.DataFrame()
        # A query that came again under its name may give other columns now, which are in another table.
        table = max(self.tables.values(), key=lambda one: one.last(query), default=self)
        return table.rows().filter(pl.col(QUERY) == query).drop(QUERY) if table.last(query) >= 0 else pl.DataFrame()

    def last(self, query: str) -> int:
        """Return the last batch in which a query gave rows of this table; -1 if it gave none."""
        return max((batch for batch, rows in self.batches.items() if (rows[QUERY] == query).any()), default=-1)


@dataclass(slots=True)
class Tail:
    """Keeps the last rows and counts them all, for a view of what goes on."""

    most: int = 10
    count: int = 0
    batch: int = -1  # the last one that had rows
    last: pl.DataFrame = field(default_factory=pl.DataFrame)

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the end of the batch."""
        self.count += rows.height
        self.batch = batch
        self.last = rows.tail(self.most) if self.last.is_empty() else pl.concat([self.last, rows]).tail(self.most)


@dataclass(frozen=True, slots=True)
class Console:
    """Prints the first rows of each batch."""

    most: int = 20

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Print the batch."""
        with pl.Config(tbl_rows=self.most, tbl_cols=-1, tbl_hide_dataframe_shape=True):
            sys.stdout.write(f"batch {batch}: {rows.height} rows\n{rows}\n")


@dataclass(frozen=True, slots=True)
class Several:
    """Hands each batch to several sinks, in turn."""

    sinks: tuple[Sink, ...]

    def for_table(self, name: str) -> Several:
        """Return the sinks of one table."""
        return Several(tuple(for_table(sink, name) for sink in self.sinks))

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Hand it on."""
        for sink in self.sinks:
            sink.write(rows, batch, spark)


@dataclass(frozen=True, slots=True)
class Function:
    """Hands each batch to a function of the user's, as `foreachBatch` would: a DataFrame and a batch number."""

    function: Callable[[DataFrame, int], object]

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Call the function."""
        self.function(spark.createDataFrame(rows.to_arrow()), batch)
