"""Batches of rows as Parquet files, shown to each side of a comparison one batch at a time.

Rule 1: every side reads the very same files, so that reading costs the same.
Rule 2: each source of a side is one flat folder, because listing many folders costs more than the batch that follows.
Rule 3: the files of a batch appear within microseconds of each other; `Batches` refuses a batch that saw half of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Feed:
    """Files under `folder`; `types` has the columns of each source, for Spark."""

    folder: Path
    types: Mapping[str, str]

    def write(self, batch: int, rows: Mapping[str, pl.DataFrame]) -> None:
        """Write a batch that no side can see yet."""
        for source, frame in rows.items():
            file = self._file(self.folder / "written", batch, source)
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(frame.to_arrow(), file, compression="snappy", use_dictionary=False)  # as few values repeat

    def show(self, side: str, batch: int) -> None:
        """Let one side see a batch."""
        for source in self.types:
            os.link(
                self._file(self.folder / "written", batch, source), self.shown(side, source) / f"{batch:04}.parquet"
            )

    def read(self, spark: SparkSession, side: str, source: str, *, together: bool = False) -> DataFrame:
        """Return one source of a side as a streaming DataFrame; `together`: all files that are there make a batch."""
        reader = spark.readStream.schema(self.types[source])
        if not together:
            reader = reader.option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.shown(side, source)))

    def shown(self, side: str, source: str) -> Path:
        shown = self.folder / "shown" / side / source
        shown.mkdir(parents=True, exist_ok=True)
        return shown

    @staticmethod
    def _file(folder: Path, batch: int, source: str) -> Path:
        return folder / f"{batch:04}" / f"{source}.parquet"
