"""Which of the files that a commit or a witness names a start needs, and what to do if one is gone.

Rule 1: nothing here reads a file; only folders are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyarrow.fs import FileSystem

from drover.flow.planlog import PLANS
from drover.flow.state.digests import Digests
from drover.flow.state.storage import RESTORE, exists, join
from drover.flow.state.witness import WITNESS, Witness
from drover.spark.spark_logs import COMMITTED, OFFSETS, SOURCES, SPARK, entries_of, newest_compacted, number_of

TABLES: Final = "tables.db"  # the tables without an address of their own; SQLite has no checksums
FROM_A_COPY: Final = "Restore it from a copy of the checkpoint"
AGAIN: Final = "a sink may then keep rows of its first attempt"


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The files that the last commit and the witness after it name."""

    fs: FileSystem
    root: str
    spark_batch: int  # the last of Spark's batches in the commit
    noted: Digests  # in the commit
    witness: Witness

    @property
    def names(self) -> list[str]:
        """All named files."""
        return sorted({*self.noted, *self.witness.files})

    def digests(self, name: str) -> set[str]:
        """Return the digests that a file may have."""
        # A file may have changed since the commit. It may be as the commit or as the witness has seen it.
        return {files[name] for files in (self.noted, self.witness.files) if name in files}

    def is_needed(self, name: str) -> bool:
        """Return whether a start fails or errs without the file."""
        folder = name.rpartition("/")[0]
        number = number_of(name)
        if folder == PLANS:  # an entry holds until the next one
            return name == max(other for other in self.names if other.startswith(PLANS))
        if folder == COMMITTED:  # Spark repeats the batch, and drover knows that it is done
            return False
        if number is None or not folder.startswith(SPARK):
            return True
        if folder == OFFSETS:
            return self._needs_offsets(number)
        newer = name not in self.noted
        if newer and not self.witness.begun and not self._has_offsets(self.spark_batch + 1):
            return False  # Spark plans the batch anew
        return folder.startswith(SOURCES) and number >= newest_compacted(entries_of(self.fs, self.root, folder))

    def _needs_offsets(self, number: int) -> bool:
        if number > self.spark_batch:  # of a batch that was begun; otherwise Spark plans it anew
            return self.witness.begun
        # Spark reads the last offsets and those before them.
        return number == self.spark_batch or (
            number == self.spark_batch - 1 and not self._has_offsets(self.spark_batch + 1)
        )

    def _has_offsets(self, number: int) -> bool:
        return exists(self.fs, join(self.root, f"{OFFSETS}/{number}"))

    def way_out(self, name: str) -> str:
        """Return what a person can do if the file is missing or damaged."""
        if name in self.noted:
            return RESTORE
        return " ".join(self._ways_out(name))

    def _ways_out(self, name: str) -> Iterator[str]:
        if name == TABLES:
            yield f"{FROM_A_COPY}, or delete {WITNESS} if you have changed this file yourself."
        elif name.startswith(f"{SPARK}/"):
            offsets = f"{OFFSETS}/{self.spark_batch + 1}"
            # Without these files, Spark does not know that it began the batch.
            yield f"{FROM_A_COPY}, or delete it, {offsets} and {WITNESS}: Spark plans the batch again;"
            yield f"{AGAIN}."
        else:
            yield f"{FROM_A_COPY}, or delete {WITNESS}: the batch starts anew; {AGAIN}."
