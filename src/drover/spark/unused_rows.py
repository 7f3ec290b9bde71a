"""What a checkpoint tells of rows that its run did not use: totals, and the dead letters that it keeps.

Rule 1: this only reads, and takes no lock, so that one may ask while the run goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.spark.changes import demand_checkpoint
from drover.spark.commit_notes import notes_of
from drover.spark.dead_letter_store import read_dead_letters
from drover.spark.row_totals import RowTotals


@dataclass(frozen=True, slots=True)
class UnusedRows:
    """The totals after the last commit, and the letters that are kept, oldest first."""

    totals: RowTotals
    letters: pl.DataFrame

    @property
    def discarded(self) -> int:
        """Letters that are no longer kept, or went to a sink."""
        return sum(one.rows for one in self.totals.dead.values()) - self.letters.height


def read_unused(checkpoint: str) -> UnusedRows:
    """Return what a checkpoint tells; DroverError if it is none."""
    fs, root = open_root(checkpoint)
    demand_checkpoint(fs, root, checkpoint)
    done = latest(fs, root)
    return UnusedRows(notes_of(done).totals, read_dead_letters(checkpoint, done.batch))
