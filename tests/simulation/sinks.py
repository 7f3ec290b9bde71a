"""A sink that outlives the run, and sees every batch as often as it is delivered."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl
from polars.testing import assert_frame_equal


@dataclass(slots=True)
class RepeatedSink:
    """Refuses other rows for a batch that it has been given before, committed or not."""

    name: str = ""
    batches: dict[tuple[str, int], pl.DataFrame] = field(default_factory=dict)

    def for_table(self, name: str) -> RepeatedSink:
        """Return the sink of one table; it shares the memory of this one."""
        return RepeatedSink(name, self.batches)

    def write(self, rows: pl.DataFrame, batch: int, _spark: object) -> None:
        """Compare the batch with the one delivered before."""
        before = self.batches.setdefault((self.name, batch), rows)
        try:
            assert_frame_equal(rows, before, check_row_order=False)
        except AssertionError as error:
            raise AssertionError(f"{self.name} got batch {batch} again with other rows: {error}") from error
