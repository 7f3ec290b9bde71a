"""Dead letters: the rows that the router refused, as one frame per batch.

Rule 1: a sink receives a batch once, so all sources share one frame with the source, the reason and the row as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from drover.flow.router import REASON
from drover.flow.row_json import row_json

LETTER: Final = {"source": pl.String(), "reason": pl.String(), "row": pl.String()}


def dead_letter_rows(dead: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the dead letters of all sources with the columns `source`, `reason` and `row`."""
    parts = [
        rows.select(
            pl.lit(source).alias("source"),
            pl.col(REASON).alias("reason"),
            row_json(rows, (name for name in rows.columns if name != REASON)).alias("row"),
        )
        for source, rows in sorted(dead.items())
    ]
    return pl.concat([pl.DataFrame(schema=LETTER), *parts])
