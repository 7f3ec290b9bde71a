"""The rows that a run has written so far, against those of the plain computation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from tests.spark.chaos.plain import Files, Rows, plain_results

OUTPUTS: Final = ("windows", "pairs", "seen")


class Difference(NamedTuple):
    """Rows that are missing, and rows that are there too often or should not be there at all."""

    lost: int = 0
    doubled: int = 0


@dataclass(slots=True)
class OutputReader:
    """Reads the files of a run as they come; a file of a committed batch is read once."""

    folder: Path
    rows: dict[str, Rows] = field(default_factory=lambda: {name: Counter() for name in OUTPUTS})
    read: set[Path] = field(default_factory=set)

    def read_up_to(self, batch: int) -> dict[str, Rows]:
        """Return the rows of all batches up to this one, which must be committed."""
        for name in OUTPUTS:
            for path in (self.folder / "out" / name).glob("[0-9]*.parquet"):
                if path not in self.read and int(path.name[:12]) <= batch:
                    self.rows[name].update(pl.read_parquet(path).iter_rows())
                    self.read.add(path)
        return self.rows


def difference_so_far(found: dict[str, Rows], files: Files, before: Files) -> Difference:
    """Compare what a run has written after it has read `files`, of them `before` in earlier batches than the last.

    The last batch closes windows by the files before its own. If no rows were left, another batch has closed more. So
    some windows may be there or not.
    """
    least = plain_results(files, before)
    most = plain_results(files, files)
    lost = sum(sum((least[name] - found[name]).values()) for name in OUTPUTS)
    doubled = sum(sum((found[name] - most[name]).values()) for name in OUTPUTS)
    return Difference(lost, doubled)


def difference_at_end(folder: Path, files: Files) -> Difference:
    """Compare all that a run has written, read anew, after all windows that can be closed are."""
    found = OutputReader(folder).read_up_to(10**12)
    expected = plain_results(files, files)
    lost = sum(sum((expected[name] - found[name]).values()) for name in OUTPUTS)
    doubled = sum(sum((found[name] - expected[name]).values()) for name in OUTPUTS)
    return Difference(lost, doubled)
