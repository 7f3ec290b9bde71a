"""Sinks: where the rows of an output go, batch by batch.

Rule 1: a sink may be given a batch twice, with the same rows, after a crash: writing it twice must leave what writing
it once does. Rule 2: the batch is computed once, whatever the number of sinks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError

FORMATS: Final = ("parquet", "json", "csv")


class Sink(Protocol):
    """Takes the rows of one output stream, batch by batch; batches without rows are left out."""

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Take the rows of a batch."""
        ...


@dataclass(frozen=True, slots=True)
class Files:
    """Writes each batch as one file, `<folder>/<batch>.<format>`: complete or absent, and the same on a replay."""

    folder: str
    format: str = "parquet"

    def __post_init__(self) -> None:
        """Refuse an unknown format."""
        if self.format not in FORMATS:
            raise DroverError(f"format is {self.format!r}, but must be one of {', '.join(FORMATS)}. Choose one.")

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Write the batch under a temporary name, make it durable, and give it its name."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        final = folder / f"{batch:012}.{self.format}"
        aside = folder / f".{final.name}.tmp"
        with aside.open("wb") as file:
            match self.format:
                case "parquet":
                    rows.write_parquet(file)
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

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Keep the batch."""
        self.batches[batch] = rows

    def rows(self) -> pl.DataFrame:
        """Return all rows so far."""
        return pl.concat([self.batches[batch] for batch in sorted(self.batches)]) if self.batches else pl.DataFrame()


@dataclass(frozen=True, slots=True)
class Console:
    """Prints the first rows of each batch."""

    most: int = 20

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Print the batch."""
        with pl.Config(tbl_rows=self.most, tbl_cols=-1, tbl_hide_dataframe_shape=True):
            sys.stdout.write(f"batch {batch}: {rows.height} rows\n{rows}\n")


@dataclass(frozen=True, slots=True)
class Function:
    """Hands each batch to a function of the user's, as `foreachBatch` would: a DataFrame and a batch number."""

    function: Callable[[DataFrame, int], object]

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Call the function."""
        self.function(spark.createDataFrame(rows.to_arrow()), batch)
