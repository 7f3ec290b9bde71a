"""What a checkpoint tells of rows that its run did not use."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from drover.errors import DroverError
from drover.spark.dead_letters import LETTER
from drover.spark.row_totals import DeadLetterTotals, RowTotals
from drover.spark.unused_rows import UnusedRows, read_unused


def test_letters_that_are_not_kept_are_known_from_the_totals() -> None:
    letters = pl.DataFrame([("a", "no time", "{}")], schema=LETTER, orient="row")
    totals = RowTotals(dead={"a": DeadLetterTotals(3, {"no time": 3}), "b": DeadLetterTotals(1, {"stray": 1})})
    assert UnusedRows(totals, letters).discarded == 3


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DroverError, match="is not the checkpoint of a run"):
        read_unused(str(tmp_path))
