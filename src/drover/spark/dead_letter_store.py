"""Dead letters without a sink: kept in the checkpoint, the newest ones, one file per batch.

Rule 1: a file belongs to a batch, so a batch that is repeated leaves the same file. Files after the last commit do not
count yet.
Rule 2: the folder is bounded, by rows and by bytes. The totals in the commit tell how many were discarded.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from drover.errors import StateError
from drover.flow.state.storage import delete, join, open_root, read_whole, sizes, write_whole
from drover.spark.dead_letters import LETTER

FOLDER: Final = "dead_letters"
NAME: Final = re.compile(r"(?P<batch>\d{12,})-(?P<rows>\d+)\.parquet", re.ASCII)
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 16 << 20
WAY_OUT: Final = "Delete this file: it only has rows that the run did not use."


@dataclass(frozen=True, slots=True)
class DeadLetterStore:
    """A sink that keeps the newest dead letters in a checkpoint."""

    checkpoint: str
    most_rows: int = MOST_ROWS
    most_bytes: int = MOST_BYTES

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:  # noqa: ARG002 - Sink's signature
        """Write the letters of a batch, and delete the oldest files beyond the bounds."""
        fs, root = open_root(self.checkpoint)
        folder = join(root, FOLDER)
        newest = self._newest(rows)
        write_whole(fs, join(folder, f"{batch:012}-{newest.height}.parquet"), [_encoded(newest)])
        kept = letters = 0
        for name, size in sorted(sizes(fs, folder).items(), reverse=True):
            if found := NAME.fullmatch(name):
                kept += size
                letters += int(found["rows"])
                # The file of this batch stays: it is within the bounds by itself.
                if (kept > self.most_bytes or letters > self.most_rows) and int(found["batch"]) != batch:
                    delete(fs, join(folder, name))

    def _newest(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the last rows that are within the bounds."""
        last = rows.tail(self.most_rows)
        sizes_back = last["row"].str.len_bytes().fill_null(0).reverse().cum_sum()
        return last.tail(int((sizes_back <= self.most_bytes // 2).sum()))


def read_dead_letters(checkpoint: str, committed: int) -> pl.DataFrame:
    """Return the letters that a checkpoint keeps up to a batch, oldest first, with their batch."""
    fs, root = open_root(checkpoint)
    folder = join(root, FOLDER)
    parts = [pl.DataFrame(schema={"batch": pl.Int64(), **LETTER})]
    for name in sorted(sizes(fs, folder)):
        found = NAME.fullmatch(name)
        if found and int(found["batch"]) <= committed:
            path = join(folder, name)
            try:
                rows = pl.read_parquet(io.BytesIO(read_whole(fs, path)))
                parts.append(rows.select(pl.lit(int(found["batch"]), dtype=pl.Int64).alias("batch"), *LETTER))
            except pl.exceptions.PolarsError as error:
                raise StateError(path, "dead letters of a batch", str(error), WAY_OUT) from error
    return pl.concat(parts)


def _encoded(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_parquet(file)
    return file.getvalue()
